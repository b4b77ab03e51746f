"""Properties of all models of contests, on tiny random logs."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from rankwise.contests import BradleyTerry, EloRating, PlackettLuce, next_pairs
from tests.contests.tiny_contests import draw_contests, draw_rankings, quietly
from tests.reference import contest_log_posterior

READ = ("items_", "strengths_", "effects_", "raters_", "reliabilities_", "tie_strength_")


def answers(fit, *args, **options):
    """Return all that a fit says, or the message of its error."""
    try:
        model = quietly(fit, *args, **options)
    except ValueError as error:
        return [str(error)]
    return [
        *(getattr(model, name) for name in READ if hasattr(model, name)),
        model.covariance(),
        model.covariance("model"),
        model.rank_interval(),
        model.p_best_,
        model.objective_,
    ]


def assert_same(one, other):
    assert len(one) == len(other), (one, other)
    for mine, yours in zip(one, other, strict=True):
        assert_array_equal(mine, yours)


@pytest.mark.parametrize("seed", range(25))
def test_contests_of_weight_0_are_absent(seed):
    random = np.random.default_rng([1, seed])
    options, (first, second, outcome), extra = draw_contests(random)
    m = len(first)
    extra.setdefault("sample_weight", np.ones(m))
    # a tie or a probability, an item and a rater that occur nowhere else, and values of no use
    rows = [(7, 0, 0.3, 0.0, 9), (1, 1, 2.0, np.nan, 8), (np.nan, 2, np.nan, np.inf, np.nan)]
    places = np.sort(random.integers(m + 1, size=3))

    def more(column, values):
        return np.insert(np.asarray(column, float), places, values, axis=0)

    values = list(zip(*rows, strict=True))
    added = {"sample_weight": more(extra["sample_weight"], 0.0)}
    if "covariates" in extra:
        width = extra["covariates"].shape[1]
        added["covariates"] = more(extra["covariates"], np.repeat([values[3]], width, axis=0).T)
    if "rater" in extra:
        added["rater"] = more(extra["rater"], values[4])
        extra["rater"] = extra["rater"].astype(float)
    columns = [
        more(column, value) for column, value in zip((first, second, outcome), values, strict=False)
    ]
    floats = [np.asarray(column, float) for column in (first, second, outcome)]
    model = BradleyTerry(**options)
    assert_same(answers(model.fit, *columns, **added), answers(model.fit, *floats, **extra))


@pytest.mark.parametrize("seed", range(20))
def test_rankings_of_weight_0_are_absent(seed):
    random = np.random.default_rng([2, seed])
    options, rankings, weight = draw_rankings(random)
    added = [["new", "newer"], [0, 0], *rankings, [(1, 0), 2]]
    assert_same(
        answers(PlackettLuce(**options).fit, added, sample_weight=[0, 0, *weight, 0]),
        answers(PlackettLuce(**options).fit, rankings, sample_weight=weight),
    )


def test_a_row_of_weight_0_does_not_turn_ties_into_probabilities():
    columns = list("abcab"), list("bcacc"), [1, 1, 1, 0.5, 0.3]
    model = quietly(BradleyTerry().fit, *columns, sample_weight=[1, 1, 1, 1, 0])
    assert model.tie_strength_ > 0
    literal = quietly(BradleyTerry().fit, *(column[:4] for column in columns))
    assert_array_equal(model.strengths_, literal.strengths_)
    with pytest.raises(ValueError, match=r"outcome is 7\.0 in row 3"):
        BradleyTerry().fit(*columns[:2], [1, 1, 1, 7, 0.3], sample_weight=[1, 0, 0, 1, 0])
    with pytest.raises(ValueError, match="rater is missing in row 3"):
        BradleyTerry().fit(*columns, sample_weight=[1, 0, 0, 1, 0], rater=[1, None, 1, None, 2])


def readings(model):
    """Yield all numbers that a fitted model gives."""
    yield from (model.strengths_, model.interval(), model.interval(kind="model"), model.p_best_)
    yield from (model.rank_interval(), model.rank_interval(kind="model"))
    yield from (column for name, column in model.table().items() if name != "item")
    yield model.prefer(model.items_[:1], model.items_[1:2])
    assert len(next_pairs(model, 2)) == 2
    if isinstance(model, BradleyTerry):
        yield from (model.effects_, model.effect_interval(), model.reliability_interval())
        yield from (*model.goodness_of_fit()[:4], *model.calibration())
        if not len(model.raters_) and len(model.effects_) <= model.order_effect:
            yield model.bootstrap(20)


def check_answers(seeds, stream):
    """Fit tiny logs: all that is said is finite, no interval is a point, and errors name a fix."""
    n_fitted = 0
    for seed in seeds:
        random = np.random.default_rng([stream, seed])
        fits = []
        options, columns, extra = draw_contests(random)
        fits.append((BradleyTerry(**options), columns, extra))
        options, rankings, weight = draw_rankings(random)
        fits.append((PlackettLuce(**options), (rankings,), {"sample_weight": weight}))
        for model, args, more in fits:
            try:
                quietly(model.fit, *args, **more)
            except ValueError as error:
                words = str(error)
                assert any(fix in words for fix in ("set prior", "leave it out", "add ", "give "))
                continue
            n_fitted += 1
            for numbers in readings(model):
                assert np.isfinite(np.asarray(numbers, float)).all(), (seed, model)
            low, high = model.interval().T
            assert (low < high).all(), (seed, model)
    assert n_fitted > len(seeds) // 2


def test_tiny_logs_are_answered_or_refused():
    check_answers(range(12), 3)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_tiny_logs_are_answered_or_refused(part):
    check_answers(range(100, 200), 10 + part)


def test_the_reported_case_has_no_maximum():
    with pytest.raises(ValueError, match=r"no finite estimate.*prior=5.0, leave these out or add"):
        BradleyTerry(prior=None).fit(list("aaa"), list("bbb"), [1, 1, 0.5])
    with pytest.raises(ValueError, match=r"strengths of .* and the effects of 'order' grow"):
        BradleyTerry(prior=None, order_effect=True).fit(list("abb"), list("baa"), [1, 1, 0.5])


def runs_off(rows, n, ties):
    """Whether advantages go on growing as a penalty of all parameters vanishes."""
    d, tied = len(rows[0][4]), ties != "half"
    first, second, _, _, z = map(np.array, zip(*rows, strict=True))
    # no exponential overflows within these
    bounds = [(-300, 300)] * (n + d) + [(1e-9 if ties == "rao-kupper" else -300, 300)] * tied
    params, sizes = np.array([0.0] * (n + d) + [0.5] * tied), []
    for penalty in (1e-3, 1e-5, 1e-7):

        def cost(at, penalty=penalty):
            return penalty * at @ at - contest_log_posterior(at, rows, n, ties, None)

        options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000, "maxfun": 100_000}
        params = minimize(cost, params, method="L-BFGS-B", bounds=bounds, options=options).x
        sizes.append(np.abs(params[first] - params[second] + z @ params[n : n + d]).max())
    return sizes[2] - sizes[1] > 1.5


def check_existence(seeds, stream):
    words = {1.0: "first", 0.0: "second", 0.5: "tie"}
    n_refused = n_fitted = 0
    for seed in seeds:
        random = np.random.default_rng([stream, seed])
        options, (first, second, outcome), _ = draw_contests(random)
        codes = np.unique([first, second], return_inverse=True)[1].reshape(2, -1)
        n, d = codes.max() + 1, random.integers(2) * options["order_effect"]
        z = random.integers(-1, 2, size=(len(first), d)).astype(float)
        model = BradleyTerry(ties=options["ties"], order_effect=options["order_effect"], prior=None)
        soft = bool(set(outcome) - set(words))
        ties = "half" if soft or 0.5 not in outcome else options["ties"]
        full = np.column_stack([np.ones((len(first), 1 * options["order_effect"])), z])
        said = [p if soft else words[p] for p in outcome]
        rows = list(zip(*codes, said, np.ones(len(first)), full, strict=True))
        try:
            quietly(model.fit, first, second, outcome, covariates=z if d else None)
            exists = True
        except ValueError as error:
            if "tell the effects apart" in str(error) or "every contest" in str(error):
                continue
            exists = "unconnected" in str(error) and None
        if exists is None:
            continue
        assert runs_off(rows, n, ties) == (not exists), (seed, model, rows)
        n_refused, n_fitted = n_refused + (not exists), n_fitted + exists
    return n_refused, n_fitted


def test_a_maximum_is_found_if_and_only_if_there_is_one():
    assert min(check_existence(range(12), 5)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_existence_on_many_logs(part):
    assert min(check_existence(range(70), 20 + part)) > 10


@pytest.mark.parametrize("times", [1, 4])
def test_p_best_is_the_integral_over_the_posterior(times):
    model = quietly(BradleyTerry(n_draws=4000).fit, ["a"] * times, ["b"] * times, [1] * times)
    gap = np.linspace(-60, 60, 20001)
    density = np.exp(-(gap**2) / 100) * (1 + np.exp(-gap)) ** -float(times)
    assert_allclose(model.p_best_[0], density[gap > 0].sum() / density.sum(), atol=0.015)
    races = quietly(PlackettLuce(n_draws=4000).fit, [["a", "b"]] * times)
    assert_allclose(races.p_best_[0], model.p_best_[0], atol=0.02)


@pytest.mark.parametrize("times", [1, 4, 16])
def test_intervals_of_a_skewed_posterior_span_its_quantiles(times):
    model = quietly(BradleyTerry(n_draws=4000).fit, ["a"] * times, ["b"] * times, [1] * times)
    gap = np.linspace(-60, 60, 20001)
    density = np.exp(-(gap**2) / 100) * (1 + np.exp(-gap)) ** -float(times)
    upper = gap[np.searchsorted(np.cumsum(density) / density.sum(), 0.975)] / 2
    assert_allclose(model.interval()[0, 1], upper, atol=0.8)
    assert_allclose(-model.interval()[1, 0], upper, atol=0.8)
    half = 1.96 * np.sqrt(model.covariance()[0, 0])
    # the other end is that of the normal interval, which is further out here
    assert_allclose(model.interval()[0, 0], model.strengths_[0] - half, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 8), (10, 15)])
def test_p_best_is_as_often_right_as_it_says(n, m):
    random = np.random.default_rng([7, n, m])
    claimed, right = [], []
    for _ in range(250):
        truth = 5 * random.normal(size=n)
        first = random.integers(n, size=m)
        second = (first + random.integers(1, n, size=m)) % n
        won = random.random(m) < 1 / (1 + np.exp(truth[second] - truth[first]))
        model = quietly(BradleyTerry(n_draws=200).fit, first, second, won)
        best = model.p_best_.argmax()
        claimed.append(model.p_best_[best])
        right.append(truth[model.items_].argmax() == best)
    # more than three standard errors
    assert abs(np.mean(claimed) - np.mean(right)) < 0.09


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("kind", ["hard", "ties", "soft"])
@pytest.mark.parametrize(
    "sizes", [((2, 2), (2, 4), (2, 8)), ((3, 6), (5, 10), (5, 20)), ((5, 100), (10, 300))]
)
def test_intervals_of_few_and_many_contests_hold_their_level(spread, kind, sizes):
    # 5 is the standard deviation of the default prior
    for n, m in sizes:
        random = np.random.default_rng([8, n, m])
        held, placed, widths = [], [], []
        for _ in range(200):
            truth = spread * random.normal(size=n)
            first = random.integers(n, size=m)
            second = (first + random.integers(1, n, size=m)) % n
            gap = truth[first] - truth[second]
            odds = np.exp(gap / 2), np.exp(-gap / 2), np.full(m, 0.8 * (kind == "ties"))
            shares = np.cumsum(odds, axis=0) / np.sum(odds, axis=0)
            outcome = np.array([1.0, 0.0, 0.5])[(random.random(m) > shares[:2]).sum(axis=0)]
            if kind == "soft":
                outcome = random.beta(4 * shares[0], 4 - 4 * shares[0]).clip(0.001, 0.999)
            elif (outcome == 0.5).all():
                continue
            model = quietly(BradleyTerry(n_draws=200).fit, first, second, outcome)
            seen = truth[model.items_] - truth[model.items_].mean()
            low, high = model.interval().T
            place = 1 + (seen[:, None] < seen).sum(axis=1)
            best, worst = model.rank_interval().T
            held.append(((low <= seen) & (seen <= high)).mean())
            placed.append(((best <= place) & (place <= worst)).all())
            normal = 2 * 1.96 * np.sqrt(np.diag(model.covariance("model")))
            widths.append(((high - low) / normal).mean())
        assert np.mean(held) >= 0.93, (n, m)
        assert np.mean(placed) >= 0.93, (n, m)
        # nor is any level bought by intervals without end
        assert np.mean(widths) < 2, (n, m)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("m", [6, 60])
def test_intervals_of_rankings_hold_their_level(spread, m):
    random = np.random.default_rng([11, m])
    held = []
    for _ in range(200):
        truth = spread * random.normal(size=6)
        truth -= truth.mean()
        heard = truth + random.gumbel(size=(m, 6))
        model = quietly(PlackettLuce(n_draws=200).fit, np.argsort(-heard, axis=1).tolist())
        low, high = model.interval().T
        held.append(((low <= truth) & (truth <= high)).mean())
    assert np.mean(held) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("m", [6, 20, 60])
def test_ranks_of_rankings_hold_their_level(spread, m):
    random = np.random.default_rng([12, m])
    held = []
    for _ in range(400):
        truth = spread * random.normal(size=6)
        heard = truth + random.gumbel(size=(m, 6))
        model = quietly(PlackettLuce().fit, np.argsort(-heard, axis=1).tolist())
        # equal strengths share the first rank: any item that is surely better is an error
        rank = 1 + (truth[:, None] < truth).sum(axis=1)
        best, worst = model.rank_interval().T
        held.append(((best <= rank) & (rank <= worst)).all())
    # the standard error of a share of 95 % is 1.1 %
    assert np.mean(held) >= 0.93


def rated_contests(random, n, n_raters, m, *, with_coin):
    """Return contests of which each rater has judged m, the reliabilities and the raters."""
    truth, rater = 1.5 * random.normal(size=n), np.repeat(np.arange(n_raters), m)
    reliability = np.ones(n_raters)
    if with_coin:
        reliability[:] = n_raters / (n_raters - 1)
        reliability[0] = 0.0
    first = random.integers(n, size=len(rater))
    second = (first + random.integers(1, n, size=len(rater))) % n
    gap = reliability[rater] * (truth[first] - truth[second])
    won = random.random(len(rater)) < 1 / (1 + np.exp(-gap))
    return (first, second, won), reliability, rater


def test_a_low_reliability_is_as_uncertain_as_that_of_the_mean():
    contests, _, rater = rated_contests(np.random.default_rng(0), 5, 4, 30, with_coin=True)
    model = quietly(BradleyTerry().fit, *contests, rater=rater)
    low, high = model.reliability_interval().T
    gap = model.strengths_[contests[0]] - model.strengths_[contests[1]]
    for r, reliability in enumerate(model.reliabilities_):
        eta = max(reliability, 1) * gap[rater == r]
        information = 1 + (gap[rater == r] ** 2 / (2 + 2 * np.cosh(eta))).sum()
        assert_allclose(high[r] - low[r], 2 * 1.959964 / np.sqrt(information), rtol=1e-4)
    assert model.reliabilities_.min() < 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_raters", "m"), [(4, 3, 5), (4, 3, 30), (6, 5, 20), (6, 10, 10)])
@pytest.mark.parametrize("with_coin", [False, True])
def test_intervals_of_reliabilities_hold_their_level(n, n_raters, m, with_coin):
    random, held = np.random.default_rng([13, n, m]), []
    for _ in range(200):
        contests, truth, rater = rated_contests(random, n, n_raters, m, with_coin=with_coin)
        model = quietly(BradleyTerry(n_draws=100).fit, *contests, rater=rater)
        low, high = model.reliability_interval().T
        held.append((low <= truth) & (truth <= high))
    # the standard error of a share of 95 % is .9 % or less
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize("seed", range(10))
def test_the_same_call_twice_gives_the_same_bits(seed):
    random = np.random.default_rng([9, seed])
    options, columns, extra = draw_contests(random)
    one, other = (answers(BradleyTerry(**options).fit, *columns, **extra) for _ in range(2))
    assert_same(one, other)
    options, rankings, weight = draw_rankings(random)
    model = PlackettLuce(**options)
    one, other = (answers(model.fit, rankings, sample_weight=weight) for _ in range(2))
    assert_same(one, other)
    one, other = (EloRating().fit(*columns).ratings_ for _ in range(2))
    assert_array_equal(one, other)


@pytest.mark.parametrize("outcome", [[0.7, 0.7], [0.5, 0.5], [0.9]])
def test_few_judgements_that_agree_are_not_sure(outcome):
    m = len(outcome)
    model = BradleyTerry(prior=None, ties="half").fit(["a"] * m, ["b"] * m, outcome)
    low, high = model.interval()[0]
    expected = 2 * 1.959964 / 2 / np.sqrt(m * outcome[0] * (1 - outcome[0]))
    # the share of the model's variance that two judgements leave is a half
    assert_allclose(high - low, expected * np.sqrt([0.9, 0.5][m - 1]), rtol=1e-3)


def test_an_effect_that_grows_with_the_reliabilities_is_named():
    # found by the fuzz: the first one never loses, and ties grow with the order effect
    first, second = [1, 0, 2, 1, 1, 2, 0, 2, 1, 0], [4, 4, 5, 4, 3, 5, 5, 5, 5, 3]
    outcome = [1, 1, 0.5, 1, 0.5, 0.5, 0.5, 1, 1, 0.5]
    weight = [0.5, 0.5, 1.5, 1.5, 0.5, 1, 0.5, 0.5, 0.5, 1.5]
    rater = [1, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    model = BradleyTerry(order_effect=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(first, second, outcome, sample_weight=weight, rater=rater)
    assert any("reliabilities of raters have no finite" in str(one.message) for one in caught)
    assert not any(issubclass(one.category, RuntimeWarning) for one in caught)
    assert np.isfinite(model.tie_strength_)
