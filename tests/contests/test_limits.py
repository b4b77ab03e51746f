"""Contests at the edge: what can't be answered is refused or said, and never guessed."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.contests import BradleyTerry, EloRating, PlackettLuce

CIRCLE = [0, 1, 2], [1, 2, 0], [1, 1, 1]


def quietly(fit, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit(*args, **options)


@pytest.mark.parametrize("given", ["covariates", "rater", "nothing"])
def test_a_row_of_weight_0_is_absent(given):
    random = np.random.default_rng(0)
    m = 60
    first = random.integers(3, size=m)
    second = (first + random.integers(1, 3, size=m)) % 3
    outcome = random.choice([0, 0.5, 1], m)
    # an item and a rater that occur in rows of weight 0 alone
    first[:4], weight = 7, np.r_[np.zeros(8), random.integers(1, 3, m - 8)]
    extra = {
        "covariates": {"covariates": random.normal(size=m)},
        "rater": {"rater": np.r_[np.full(4, 9), random.integers(3, size=m - 4)]},
        "nothing": {},
    }[given]
    with_zeros = quietly(BradleyTerry().fit, first, second, outcome, sample_weight=weight, **extra)
    kept = weight > 0
    without = quietly(
        BradleyTerry().fit,
        first[kept],
        second[kept],
        outcome[kept],
        sample_weight=weight[kept],
        **{name: column[kept] for name, column in extra.items()},
    )
    assert with_zeros.items_.tolist() == [0, 1, 2]
    for name in ("strengths_", "effects_", "reliabilities_", "raters_"):
        assert_array_equal(getattr(with_zeros, name), getattr(without, name))
    assert with_zeros.goodness_of_fit().pvalue == without.goodness_of_fit().pvalue


@pytest.mark.parametrize("size", [1e300, 1e308, 6e14])
def test_weights_that_can_not_be_counted(size):
    with pytest.raises(ValueError, match=r"sample_weight adds up to more than 1e\+15.*divide"):
        BradleyTerry().fit(*CIRCLE, sample_weight=[size, size, 1])
    with pytest.raises(ValueError, match="weight"):
        PlackettLuce().fit([["a", "b"], ["b", "a"]], sample_weight=[size, size])
    model = quietly(BradleyTerry().fit, *CIRCLE, sample_weight=[3e14, 3e14, 3e14])
    assert_allclose(model.strengths_, 0, atol=1e-9)


@pytest.mark.parametrize("prior", [0, 1e-300, 1e300, np.inf, -1])
def test_priors_that_are_none(prior):
    for model, data in ((BradleyTerry, CIRCLE), (PlackettLuce, ([["a", "b"], ["b", "a"]],))):
        with pytest.raises(ValueError, match="'prior' parameter"):
            model(prior=prior).fit(*data)


@pytest.mark.parametrize("prior", [1e-6, 1e6])
def test_the_widest_and_the_narrowest_prior(prior):
    model = quietly(BradleyTerry(prior=prior).fit, [0], [1], [1])
    assert model.strengths_[0] > 0
    assert model.rank_interval().tolist() == [[1, 2], [1, 2]]
    assert np.isfinite(model.bootstrap(3)).all()


def test_more_items_than_a_table_holds():
    n = 30_000
    with pytest.raises(ValueError, match=r"30,000 items.* 7 GB.*EloRating"):
        BradleyTerry().fit(np.arange(n), np.roll(np.arange(n), 1), np.ones(n))


def test_an_effect_that_has_no_finite_best():
    first, second = [0, 1, 1, 0] * 5, [1, 0, 0, 1] * 5
    with pytest.warns(UserWarning, match="'z0' can tell who wins without fail"):
        BradleyTerry().fit(
            first, second, [1, 1, 0, 0] * 5, covariates=np.array([3, 2, -1, -0.1] * 5)
        )
    with pytest.warns(UserWarning, match="'order' can tell who wins without fail"):
        model = BradleyTerry(order_effect=True).fit([0, 1, 2], [1, 2, 0], [1, 1, 1])
    low, high = model.effect_interval()[0]
    assert low < -100
    assert high > 100
    # all that was seen was expected: no test has anything to go by
    assert model.goodness_of_fit().pvalue == 1
    with pytest.raises(ValueError, match=r"covariates is beyond 1e\+100 in row 1"):
        BradleyTerry().fit([0, 1], [1, 0], [1, 1], covariates=[0, 1e200])


def test_an_effect_that_has_one(recwarn):
    random = np.random.default_rng(1)
    first = random.integers(3, size=400)
    second = (first + random.integers(1, 3, size=400)) % 3
    # a length in characters: its effect is small, and its error smaller
    length = random.normal(0, 3000, 400)
    won = random.random(400) < 1 / (1 + np.exp(-length / 3000))
    model = BradleyTerry(order_effect=True).fit(first, second, won, covariates=length)
    assert_allclose(model.effects_[1] * 3000, 1, atol=0.3)
    assert not recwarn.list


def test_ties_alone():
    with pytest.raises(ValueError, match=r"every contest is a tie.*ties='half'"):
        BradleyTerry().fit([0, 1], [1, 0], [0.5, 0.5])
    model = BradleyTerry(ties="half").fit([0, 1], [1, 0], [0.5, 0.5])
    assert model.strengths_.tolist() == [0, 0]


def test_seeds_of_samples():
    model = BradleyTerry().fit(*CIRCLE)
    for seed in (-1, "x", 1.5, None):
        with pytest.raises((ValueError, TypeError), match="random_state"):
            model.bootstrap(2, random_state=seed)


def test_ids_of_64_bits():
    """Hashes fill all 64 bits; the model must know its items by the ids it was given."""
    low = 2**63 + 5
    first = np.array([low, low + 1, low + 2, low + 3] * 3, np.uint64)
    second = np.array([low + 1, low + 2, low + 3, low] * 3, np.uint64)
    outcome = [1, 0, 1, 1] * 3
    model = quietly(BradleyTerry().fit, first, second, outcome)
    small = quietly(BradleyTerry().fit, first - np.uint64(low), second - np.uint64(low), outcome)
    assert model.items_.tolist() == [low, low + 1, low + 2, low + 3]
    assert_array_equal(model.strengths_, small.strengths_)
    assert model.prefer(low + 2, low + 3) == small.prefer(2, 3)


@pytest.mark.parametrize("extra", [{}, {"covariates": [1.0, 2.0, 0.0]}])
def test_rows_are_counted_as_they_were_given(extra):
    """Rows of weight 0 are left out, but not of the numbers of rows in messages."""
    with pytest.raises(ValueError, match="row 2: 5 meets itself"):
        BradleyTerry().fit([0, 1, 5], [1, 0, 5], [1, 0, 1], sample_weight=[0, 1, 1], **extra)


def test_weights_of_rankings_are_called_by_their_name():
    for weight in ([-1, 2], [1e300, 1], [0, 0], [1], ["a", "b"]):
        with pytest.raises(ValueError, match="sample_weight"):
            PlackettLuce().fit([["a", "b"], ["b", "a"]], sample_weight=weight)


def test_elo_of_ratings_that_are_far_apart():
    model = EloRating(k=1e5, scale=1e-3).fit(["a"] * 3, ["b"] * 3, [1, 1, 1])
    assert (model.prefer("a", "b"), model.prefer("b", "a")) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("changed", "message"), [({"prior": 1e-300}, "prior"), ({"level": -3}, "level")]
)
def test_options_changed_after_the_fit_are_checked(changed, message):
    model = PlackettLuce().fit([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
    with pytest.raises(ValueError, match=message):
        model.set_params(**changed).table()
    elo = EloRating().fit(*CIRCLE).set_params(scale=(0, 5))
    with pytest.raises(ValueError, match="scale"):
        elo.prefer(0, 1)
