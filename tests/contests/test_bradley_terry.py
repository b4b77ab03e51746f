"""Strengths from contests, against a general optimiser and literal sums."""

import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rankwise import load, save
from rankwise.contests import BradleyTerry
from rankwise.contests._intervals import draw_counts, draw_errors
from rankwise.preference import quicksort
from tests.reference import (
    best_strengths,
    contest_log_posterior,
    contest_probabilities,
)

NAMES = np.array(["ann", "bob", "cid", "dot"])
TRUTH = np.array([0.8, 0.2, -0.3, -0.7])


def contests(m, *, seed=0, n=4, truth=TRUTH, order=0.0, tie_share=0.25, beta=None):
    """Draw contests: codes, what the first one got, and covariates."""
    random = np.random.default_rng(seed)
    first = random.integers(n, size=m)
    second = (first + random.integers(1, n, size=m)) % n
    z = random.normal(size=(m, 0 if beta is None else len(beta)))
    eta = truth[first] - truth[second] + order + (0 if beta is None else z @ beta)
    outcome = (random.random(m) < 1 / (1 + np.exp(-eta))).astype(float)
    outcome[random.random(m) < tie_share] = 0.5
    return first, second, outcome, z


def rows_of(first, second, outcome, weight, z):
    words = {1.0: "first", 0.0: "second", 0.5: "tie"}
    soft = set(outcome) - set(words)
    said = [p if soft else words[p] for p in outcome]
    return list(zip(first, second, said, weight, z, strict=True))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
def test_the_fit_is_that_of_a_general_optimiser(ties):
    for order, beta, weighted, prior in product(
        (False, True), (None, [0.5, -0.3]), (False, True), (5.0, 0.5, None)
    ):
        first, second, outcome, z = contests(60, order=0.4 * order, beta=beta)
        weight = np.random.default_rng(1).integers(1, 4, 60) if weighted else np.ones(60)
        model = BradleyTerry(ties=ties, order_effect=order, prior=prior).fit(
            NAMES[first],
            NAMES[second],
            outcome,
            sample_weight=weight if weighted else None,
            covariates=z if beta else None,
        )
        full = np.column_stack([np.ones(60), z]) if order else z
        rows = rows_of(first, second, outcome, weight, full)
        expected = best_strengths(rows, 4, ties, prior)
        found = np.concatenate([model.strengths_, model.effects_])
        assert_allclose(found, expected[: len(found)], atol=2e-5)
        if ties != "half":
            assert_allclose(model.tie_strength_, np.exp(expected[-1]), rtol=2e-5)
            found = np.append(found, np.log(model.tie_strength_))
        assert_allclose(model.objective_, contest_log_posterior(found, rows, 4, ties, prior))
        assert model.order_effect_ == (model.effects_[0] if order else 0)


def leverage(row, params, ties, inverse):
    """Expected curvature of a row times the variance of its advantage."""
    x = np.zeros(len(params))
    x[row[0]], x[row[1]], x[4:6] = 1, -1, row[4]
    tie = None if ties == "half" else np.exp(params[-1])
    eta, h = x @ params, 1e-4
    below, here, above = (np.array(contest_probabilities(ties, eta + t, tie)) for t in (-h, 0, h))
    some = here > 0
    bend = (2 * np.log(here[some]) - np.log(below[some]) - np.log(above[some])) / h**2
    return here[some] @ bend * (x @ inverse @ x)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
def test_information_and_spread_are_those_of_the_rows(ties):
    first, second, outcome, z = contests(50, seed=2, beta=[0.4], order=0.3)
    model = BradleyTerry(ties=ties, order_effect=True).fit(first, second, outcome, covariates=z)
    rows = rows_of(first, second, outcome, np.ones(50), np.column_stack([np.ones(50), z]))
    params = np.concatenate([model.strengths_, model.effects_])
    if ties != "half":
        params = np.append(params, np.log(model.tie_strength_))
    steps = 1e-4 * np.eye(len(params))

    def slopes(at, some):
        # one tie that weighs nothing: the parameter of ties is there for each row
        some = [*some, (0, 1, "tie", 0.0, some[0][4])]
        up = [contest_log_posterior(at + s, some, 4, ties, None) for s in steps]
        down = [contest_log_posterior(at - s, some, 4, ties, None) for s in steps]
        return (np.array(up) - np.array(down)) / 2e-4

    prior = np.diag(np.append(np.full(4, 1 / 25), np.zeros(len(params) - 4)))
    by_row = np.array([slopes(params, [row]) for row in rows])
    assert_allclose(by_row.sum(axis=0), prior @ params, atol=1e-5)
    curvature = [(slopes(params - s, rows) - slopes(params + s, rows)) / 2e-4 for s in steps]
    information = np.array(curvature) + prior
    inverse = np.linalg.inv(information)
    kept = [1 - leverage(row, params, ties, inverse) for row in rows]
    by_row /= np.array(kept)[:, None]
    spread = by_row.T @ by_row + prior
    centre = np.eye(len(params))
    centre[:4, :4] -= 0.25
    for kind, middle in (("model", information), ("sandwich", spread)):
        literal = centre @ inverse @ middle @ inverse @ centre
        assert_allclose(model.covariance(kind), literal[:4, :4], rtol=1e-3, atol=1e-5)
    assert_allclose(model.covariance().sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
@pytest.mark.parametrize("order_effect", [False, True])
def test_order_of_rows_names_and_repetition_change_nothing(ties, order_effect):
    first, second, outcome, _ = contests(80, seed=3)
    make = BradleyTerry(ties=ties, order_effect=order_effect)
    model = clone(make).fit(first, second, outcome)
    again = np.random.default_rng(0).permutation(80)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    often = np.repeat(np.arange(80), weight)
    names = np.array(["zoe", "yan", "xi", "wes"])
    other = clone(make).fit(first[again], second[again], outcome[again])
    assert_allclose(other.strengths_, model.strengths_, atol=1e-12)
    other = clone(make).fit(names[first], names[second], outcome)
    assert other.items_.tolist() == ["wes", "xi", "yan", "zoe"]
    assert_allclose(other.strengths_[::-1], model.strengths_, atol=1e-12)
    heavy = clone(make).fit(first, second, outcome, sample_weight=weight)
    long = clone(make).fit(first[often], second[often], outcome[often])
    assert_allclose(heavy.strengths_, long.strengths_, atol=1e-10)
    assert_allclose(heavy.covariance(), long.covariance(), atol=1e-10)
    assert_array_equal(heavy.rank_interval(), long.rank_interval())
    if not order_effect:
        turned = clone(make).fit(second, first, 1 - outcome)
        assert_allclose(turned.strengths_, model.strengths_, atol=1e-12)


def test_words_numbers_and_probabilities():
    first, second, outcome, _ = contests(80, seed=4)
    words = np.array(["second", "tie", "first"])[(2 * outcome).astype(int)]
    expected = BradleyTerry().fit(first, second, outcome).strengths_
    for said in (words, words.tolist(), (outcome * 2).astype(object) / 2):
        assert_array_equal(BradleyTerry().fit(first, second, said).strengths_, expected)
    # a probability is p of a win and 1 - p of a loss, 1/2 included
    p = np.where(outcome == 0.5, 0.5, 0.1 + 0.8 * outcome)
    soft = BradleyTerry().fit(first, second, p)
    split = BradleyTerry().fit_pairs(
        np.concatenate([first, second]),
        np.concatenate([second, first]),
        sample_weight=np.concatenate([p, 1 - p]),
    )
    assert_allclose(soft.strengths_, split.strengths_, atol=1e-9)
    assert soft.tie_strength_ == 0.0
    # they vary less than wins and losses would
    assert (np.diag(soft.covariance()) < np.diag(split.covariance())).all()


def test_without_an_outcome_the_first_one_won():
    first, second, outcome, _ = contests(80, seed=4)
    winner, loser = np.where(outcome > 0.5, [first, second], [second, first])
    weight = np.arange(len(first)) % 3
    expected = BradleyTerry().fit(winner, loser, np.ones(len(winner)), sample_weight=weight)
    found = BradleyTerry().fit(winner, loser, sample_weight=weight)
    assert_array_equal(found.strengths_, expected.strengths_)
    assert BradleyTerry().fit(winner, loser, rater=weight).n_contests_ == len(winner)


def test_a_second_fit_has_its_own_covariance():
    first, second, outcome, _ = contests(80, seed=4)
    model = BradleyTerry().fit(first, second, outcome)
    before = model.covariance()
    other = model.fit(first[:40], second[:40], outcome[:40]).covariance()
    assert np.trace(other) > 1.2 * np.trace(before)


def test_probabilities_are_those_of_the_model():
    first, second, outcome, _ = contests(300, seed=5, order=0.5)
    for ties in ("davidson", "rao-kupper", "half"):
        model = BradleyTerry(ties=ties, order_effect=True).fit(first, second, outcome)
        p = model.predict_proba([0, 1], [1, 0])
        assert_allclose(p.sum(axis=1), 1)
        eta = model.strengths_[0] - model.strengths_[1] + model.order_effect_
        if ties == "davidson":
            assert_allclose(p[0, 0] / p[0, 1], np.exp(eta))
            assert_allclose(p[0, 2] ** 2 / (p[0, 0] * p[0, 1]), model.tie_strength_**2)
        elif ties == "rao-kupper":
            assert_allclose(p[0, 0], 1 / (1 + model.tie_strength_ * np.exp(-eta)))
        else:
            assert_allclose(p[0], [1 / (1 + np.exp(-eta)), 1 / (1 + np.exp(eta)), 0])
        assert_allclose(model.prefer(0, 1) + model.prefer(1, 0), 1)
        assert_allclose(model.prefer([0, 1], [1, 0]), [model.prefer(0, 1), model.prefer(1, 0)])
        low, high = model.effect_interval()[0]
        assert low < model.order_effect_ < high


def test_items_that_never_lost_or_never_met():
    first, second = ["a", "b", "c", "a", "d", "e"], ["b", "c", "b", "c", "e", "d"]
    outcome = [1, 1, 1, 1, 1, 1]
    with pytest.warns(UserWarning, match="2 unconnected groups.*'d', 'e'.*'a' never lost"):
        model = BradleyTerry().fit(first, second, outcome)
    assert np.isfinite(model.interval()).all()
    assert model.strengths_[0] == model.strengths_.max()
    with pytest.raises(ValueError, match=r"'a' never lost.*prior=5\.0"):
        BradleyTerry(prior=None).fit(first, second, outcome)
    with pytest.raises(ValueError, match="unconnected"):
        BradleyTerry(prior=None).fit([1, 2, 3, 4], [2, 1, 4, 3], [1, 1, 1, 1])
    # two groups that are connected, but one has won every contest with the other
    with pytest.raises(ValueError, match="won or lost every contest"):
        BradleyTerry(prior=None).fit([1, 2, 3, 4, 1], [2, 1, 4, 3, 3], [1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="every contest is a tie"):
        BradleyTerry().fit([1, 2], [2, 3], [0.5, 0.5])


def test_places_are_sure_for_all_pairs_at_once():
    first, second, outcome, _ = contests(2000, seed=6)
    model = BradleyTerry(n_draws=500).fit(first, second, outcome)
    covariance, expected = model.covariance(), model.covariance("model")
    expected *= min(1, np.trace(covariance) / np.trace(expected))
    draws = draw_errors(covariance, model.n_draws, model.random_state)
    errors, least = (
        np.sqrt(np.diag(each)[:, None] + np.diag(each)[None, :] - 2 * each)
        for each in (covariance, expected)
    )
    pairs = [(i, j) for i in range(4) for j in range(i)]
    largest = [max(abs(d[i] - d[j]) / errors[i, j] for i, j in pairs) for d in draws]
    for level in (0.5, 0.95):
        upper = level + 2 * np.sqrt(level * (1 - level) / 500)
        limit = np.quantile(largest, upper, method="higher") * np.maximum(errors, least)
        s = model.strengths_
        for i in range(4):
            sure = [s[j] - s[i] > limit[i, j] for j in range(4)]
            below = [s[i] - s[j] > limit[i, j] for j in range(4)]
            assert tuple(model.rank_interval(level)[i]) == (1 + sum(sure), 4 - sum(below))
    assert_allclose(np.cov(draws.T - draws.mean(axis=1)), covariance, atol=3e-3)
    assert model.p_best_.sum() == pytest.approx(1)
    assert model.p_best_.argmax() == 0
    narrow, wide = model.interval(0.5), model.interval(0.99)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()


def test_circles_are_a_bad_model():
    first, second = np.repeat([0, 1, 2], 100), np.repeat([1, 2, 0], 100)
    outcome = np.tile([1, 1, 1, 1, 0], 60)
    with pytest.warns(UserWarning, match="badly.*unexplained"):
        model = BradleyTerry().fit(first, second, outcome)
    fit = model.goodness_of_fit()
    assert fit.is_bad
    assert fit.unexplained > 0.9
    assert_allclose(np.abs(fit.residuals.observed - 0.5), 0.3)
    assert_allclose(fit.statistic, (fit.residuals.z**2).sum())


def test_a_right_model_fits():
    """The p-values of right models are nearly uniform, also where pairs met but once."""
    truth = np.linspace(-1, 1, 12)
    for m, ties in ((3000, "davidson"), (300, "davidson"), (300, "half")):
        found = []
        for seed in range(60):
            first, second, outcome, _ = contests(
                m, seed=seed, n=12, truth=truth, tie_share=0.3 * (m == 3000)
            )
            model = BradleyTerry(ties=ties).fit(first, second, outcome)
            fit = model.goodness_of_fit()
            found.append(fit.pvalue)
            assert not fit.is_bad
        assert 0.35 < np.mean(found) < 0.65
        assert np.mean(np.array(found) < 0.1) < 0.25
    expected, got, n = model.calibration(5)
    assert n.sum() == pytest.approx(model.n_contests_)
    assert np.abs(expected - got).max() < 0.25


@pytest.mark.parametrize(("n", "times", "spread"), [(40, 1, 0), (40, 1, 1), (20, 2, 0), (10, 9, 1)])
def test_the_statistic_is_on_average_what_it_should_be(n, times, spread):
    """Pairs that met but once can't contradict a model, nor may chance among equals."""
    left, right = (np.repeat(column, times) for column in np.triu_indices(n, 1))
    random, ratios, sure = np.random.default_rng(0), [], 0
    for _ in range(30):
        s = spread * random.normal(size=n)
        won = random.random(len(left)) < 1 / (1 + np.exp(s[right] - s[left]))
        with warnings.catch_warnings():
            # one may never have lost
            warnings.filterwarnings("ignore", message=".*rests on the prior")
            fit = BradleyTerry().fit(left, right, won).goodness_of_fit()
        ratios.append(fit.statistic / fit.dof)
        sure += fit.pvalue < 0.05
        assert not fit.is_bad
    assert np.mean(ratios) == pytest.approx(1, abs=0.06)
    assert sure <= 5


def test_raters():
    random = np.random.default_rng(0)
    first, second, outcome, _ = contests(3000, seed=7, tie_share=0.1, truth=2 * TRUTH)
    rater = random.integers(10, size=3000)
    coin = rater >= 8
    outcome[coin] = random.integers(0, 2, coin.sum())
    names = np.array([f"r{i}" for i in range(10)])[rater]
    plain = BradleyTerry().fit(first, second, outcome)
    model = BradleyTerry().fit(first, second, outcome, rater=names)
    assert model.random_raters_.tolist() == ["r8", "r9"]
    assert np.bincount(rater) @ model.reliabilities_ == pytest.approx(3000)
    for one, most in ((model, 0.15), (plain, 0.3)):
        assert np.abs(one.strengths_ / one.strengths_.std() - TRUTH / TRUTH.std()).max() < most
    assert model.strengths_.std() > plain.strengths_.std()
    low, high = model.reliability_interval().T
    assert (low < model.reliabilities_).all()
    assert (high > model.reliabilities_).all()


def test_a_log_of_a_sort():
    items = ["pear", "fig", "apple", "kiwi"]
    log = []
    for seed in range(20):
        noise = np.random.default_rng(seed)

        def prefer(u, v, noise=noise):
            return float(noise.random() < (0.8 if u < v else 0.2))

        log += quicksort(items, prefer, random_state=seed).log
    model = BradleyTerry().fit_log(items, log)
    assert model.items_.tolist() == items
    assert model.ranking().order[0] == "apple"
    sorted_again = quicksort(items, model.prefer, random_state=0)
    assert list(sorted_again.order) == list(model.ranking().order)
    with pytest.raises(ValueError, match="log holds"):
        model.fit_log(items, [(0, 9, 1.0)])
    with pytest.raises(ValueError, match="empty"):
        model.fit_log(items, [])
    with pytest.raises(ValueError, match="duplicated"):
        model.fit_log(["a", "a", "b"], [(0, 2, 1.0)])
    broken = sparse.csr_array([[1.0, 2.0], [3.0, 4.0]])
    broken.indices = broken.indices[:1]
    with pytest.raises(ValueError, match="items is a sparse matrix whose"):
        model.fit_log(broken, [(0, 1, 1.0)])


BAD = {
    "meets itself": (["a", "b"], ["b", "b"], [1, 0], {}),
    "row 1: it must be": (["a", "b"], ["b", "a"], ["first", "left"], {}),
    "outcome is 2.0 in row 0": (["a"], ["b"], [2.0], {}),
    "outcome has the shape": (["a", "b"], ["b", "a"], [1.0], {}),
    "expected at least one contest": ([], [], [], {}),
    "first has 2 rows": (["a", "b"], ["b"], [1, 1], {}),
    "missing in row 1": (["a", None], ["b", "a"], [1, 0], {}),
    r"sample_weight\[1\] is -1.0": (["a", "b"], ["b", "a"], [1, 1], {"sample_weight": [1, -1]}),
    "zero for every": (["a", "b"], ["b", "a"], [1, 1], {"sample_weight": [0, 0]}),
    "not finite": (["a", "b"], ["b", "a"], [1, 1], {"covariates": [[1.0], [np.nan]]}),
    "can't tell the effects apart": (
        ["a", "b", "a"],
        ["b", "a", "b"],
        [1, 1, 0],
        {"covariates": np.ones((3, 2))},
    ),
    "rater has 1 rows": (["a", "b"], ["b", "a"], [1, 1], {"rater": ["x"]}),
    "expected a list of ids": ("ab", ["b", "a"], [1, 1], {}),
}


@pytest.mark.parametrize("words", BAD)
def test_a_refused_fit_leaves_the_model_as_it_was(words):
    first, second, outcome, _ = contests(50)
    model = BradleyTerry().fit(first, second, outcome)
    before = dict(vars(model))
    *columns, options = BAD[words]
    with pytest.raises(ValueError, match=words):
        model.fit(*columns, **options)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_refusals_of_questions():
    first, second, outcome, _ = contests(50)
    model = BradleyTerry().fit(first, second, outcome)
    with pytest.raises(ValueError, match="holds 9, which"):
        model.prefer(9, 0)
    with pytest.raises(ValueError, match="two items or two lists"):
        model.prefer([0, 1], 0)
    with pytest.raises(ValueError, match="level=2"):
        model.interval(2)
    with pytest.raises(ValueError, match="kind='odd' must be"):
        model.covariance("odd")
    with pytest.raises(ValueError, match="'ties' parameter"):
        BradleyTerry(ties="odd").fit(first, second, outcome)
    with_z = BradleyTerry().fit(first, second, outcome, covariates=np.arange(50) % 7)
    with pytest.raises(ValueError, match="learned with"):
        with_z.predict_proba([0], [1])
    with pytest.raises(ValueError, match="bootstrap is for"):
        with_z.bootstrap(10)


def test_nothing_is_written_to_what_is_given():
    first, second, outcome, z = contests(50, beta=[1.0])
    weight = np.ones(50)
    for array in (first, second, outcome, z, weight):
        array.flags.writeable = False
    model = BradleyTerry().fit(first, second, outcome, sample_weight=weight)
    BradleyTerry().fit(first, second, outcome, covariates=z, rater=first % 2)
    model.predict_proba(first, second)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
def test_saved_and_loaded(tmp_path, ties):
    first, second, outcome, z = contests(90, beta=[0.3])
    for options in ({}, {"covariates": z}, {"rater": first % 3}, {"sample_weight": outcome + 1}):
        model = BradleyTerry(ties=ties, order_effect=True).fit(
            NAMES[first], NAMES[second], outcome, **options
        )
        save(model, tmp_path / "m")
        other = load(tmp_path / "m")
        assert other.get_params() == model.get_params()
        assert other.items_.tolist() == model.items_.tolist()
        assert_array_equal(other.interval(), model.interval())
        assert_array_equal(other.rank_interval(), model.rank_interval())
        assert_array_equal(other.effect_interval(), model.effect_interval())
        assert other.random_raters_.tolist() == model.random_raters_.tolist()
        assert other.prefer("ann", "bob") == model.prefer("ann", "bob")
        assert other.goodness_of_fit().pvalue == model.goodness_of_fit().pvalue


def test_samples_of_the_contests():
    first, second, outcome, _ = contests(4000, seed=8)
    model = BradleyTerry().fit(first, second, outcome)
    samples = model.bootstrap(400, random_state=1)
    assert_allclose(samples.sum(axis=1), 0, atol=1e-9)
    assert_allclose(samples.mean(axis=0), model.strengths_, atol=0.02)
    assert_allclose(samples.std(axis=0), np.sqrt(np.diag(model.covariance())), rtol=0.15)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
@pytest.mark.parametrize("order_effect", [False, True])
@pytest.mark.parametrize("prior", [5.0, 0.5, None])
@pytest.mark.parametrize("m", [60, 4000])
def test_a_sample_is_fitted_as_if_it_were_all(ties, order_effect, prior, m):
    first, second, outcome, _ = contests(m, seed=3)
    model = BradleyTerry(ties=ties, order_effect=order_effect, prior=prior)
    model.fit(first, second, outcome)
    left, right, counts = model._cells[:3]
    errors = np.sqrt(np.diag(model.covariance("model")))
    drawn = draw_counts(counts, 12, 7)
    for strengths, sample in zip(model.bootstrap(12, random_state=7), drawn, strict=True):
        assert sample.sum() == m
        rows = [np.tile(left, 3), np.tile(right, 3), np.repeat([1.0, 0.0, 0.5], len(left))]
        literal = BradleyTerry(ties=ties, order_effect=order_effect, prior=prior or 100.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            literal.fit(*rows, sample_weight=sample[:, :3].T.ravel())
        assert_allclose(strengths, literal.strengths_, atol=2e-3 * errors.min())


def test_samples_in_which_refits_fail():
    # A ladder whose ends are too far apart for a ratio, and weights below one.
    n = 300
    low = np.arange(n - 1)
    rows = np.r_[low, low + 1], np.r_[low + 1, low], np.r_[np.ones(n - 1), np.zeros(n - 1)]
    model = BradleyTerry(prior=None)
    model.fit(
        *rows[:2],
        np.r_[np.ones(n - 1), np.ones(n - 1)],
        sample_weight=np.r_[np.full(n - 1, 150), np.ones(n - 1)],
    )
    assert np.ptp(model.strengths_) > 710
    assert np.isfinite(model.bootstrap(3)).all()
    few = BradleyTerry().fit([0, 1], [1, 0], [1, 1], sample_weight=[0.1, 0.1])
    assert np.isfinite(few.bootstrap(5)).all()


def test_a_table_and_its_csv(tmp_path):
    first, second, outcome, _ = contests(200, seed=9)
    model = BradleyTerry().fit(NAMES[first], NAMES[second], outcome)
    table = model.table()
    assert (np.diff(table["strength"]) <= 0).all()
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert ((table["best_rank"] <= table["rank"]) & (table["rank"] <= table["worst_rank"])).all()
    model.to_csv(tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0].startswith("item,strength,low,high,rank,")
    assert len(lines) == 5
    assert lines[1].startswith("ann,")


def test_peers_agree():
    """Numbers of choix and evalica, written by freeze_peers.py."""
    frozen = json.loads((Path(__file__).parent / "data" / "peers.json").read_text())
    first, second, outcome = (np.array(frozen[k]) for k in ("first", "second", "outcome"))
    half = BradleyTerry(ties="half", prior=None).fit(first, second, outcome)
    assert_allclose(half.strengths_, frozen["evalica, ties half"], atol=1e-4)
    decided = outcome != 0.5
    plain = BradleyTerry(prior=None).fit(first[decided], second[decided], outcome[decided])
    theirs = np.array(frozen["choix, decided"])
    assert_allclose(plain.strengths_, theirs - theirs.mean(), atol=1e-4)
    # its penalty is alpha times the squared strengths
    shrunk = BradleyTerry(prior=(2 * 0.5) ** -0.5).fit(
        first[decided], second[decided], outcome[decided]
    )
    assert_allclose(shrunk.strengths_, frozen["choix, decided, alpha"], atol=1e-4)


@pytest.mark.parametrize("attribute", ["strengths_", "effects_"])
def test_replaced_attributes_of_another_shape_raise(attribute):
    model = BradleyTerry(order_effect=True).fit([0, 1, 2, 0], [1, 2, 0, 2], [1, 1, 1, 0])
    setattr(model, attribute, np.zeros(2))
    match = r"expected one for each of 3 items and 1 effects; fit the model again"
    with pytest.raises(ValueError, match=match):
        model.predict_proba([0], [2])
    with pytest.raises(ValueError, match=match):
        model.prefer(0, 2)
    with pytest.raises(ValueError, match=match if attribute == "strengths_" else "bootstrap is"):
        model.bootstrap(2)
    with pytest.raises(ValueError, match=match):
        _ = model.p_best_
