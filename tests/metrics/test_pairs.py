"""Every pair metric against its m x m definition, over the product of its options."""

import inspect
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import kendalltau
from sklearn import config_context
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_validate

from rankwise import metrics
from rankwise._core.pairs import _misranked, _order
from rankwise.testing.strategies import ScoredRows, scored_rows
from tests.covering import pairwise_cover
from tests.reference import pair_costs, pair_loss, pair_weights

KINDS = {
    "magnitude": metrics.magnitude_loss,
    "epsilon_insensitive": metrics.epsilon_insensitive_loss,
    "hinge_rank": metrics.hinge_rank_loss,
    "hinge_magnitude": metrics.hinge_magnitude_loss,
    "misranking": metrics.pairwise_misranking_loss,
    "exponential": metrics.exponential_pair_loss,
}
TWO_SIDED = {"magnitude", "epsilon_insensitive"}
VALUES = {
    "power": [1, 2],
    "epsilon": [0.0, 0.75],
    "ties": ["wrong", "half", "right"],
    "pair_weight": ["uniform", "magnitude"],
}


def options(kind):
    """Return every combination of the options that a metric has."""
    known = [name for name in VALUES if name in inspect.signature(KINDS[kind]).parameters]
    values = product(*(VALUES[name] for name in known))
    return [dict(zip(known, chosen, strict=True)) for chosen in values]


def oracle(kind, rows, *, power=1, epsilon=0.0, ties="wrong", pair_weight="uniform"):
    y, s, qid, a = rows
    weights = pair_weights(
        y, one_sided=kind not in TWO_SIDED, qid=qid, sample_weight=a, pair_weight=pair_weight
    )
    return pair_loss(weights, pair_costs(kind, y, s, epsilon=epsilon, ties=ties), power)


def measure(kind, rows, **chosen):
    return KINDS[kind](rows.y, rows.s, qid=rows.qid, sample_weight=rows.sample_weight, **chosen)


@pytest.mark.parametrize("kind", KINDS)
@given(rows=scored_rows())
def test_against_the_definition(kind, rows):
    for chosen in options(kind):
        expected = oracle(kind, rows, **chosen)
        assert_allclose(measure(kind, rows, **chosen), expected, rtol=1e-11, atol=1e-15)


SIZES = [
    (33, None, None),
    (300, 3, 2),
    (300, 40, None),
    (300, None, 0),
    (700, None, 8),
    (2_500, None, None),
    (2_500, 400, 50),
]


@pytest.mark.parametrize(
    ("kind", "sizes", "chosen"),
    pairwise_cover(KINDS, SIZES, product(["one", "grouped", "shuffled"], [False, True])),
)
def test_many_rows_against_the_definition(kind, sizes, chosen):
    """Targets of so many levels, and scores of so many steps in 1; None: all different."""
    (n, levels, steps), (queries, weighted) = sizes, chosen
    random = np.random.default_rng(n)
    y = random.normal(size=n) if levels is None else random.integers(0, levels, n) / 4
    s = y / y.std() + random.normal(size=n)
    if steps is not None:
        s = np.round(s * steps) / max(steps, 1)
    qid = None if queries == "one" else random.choice([5, 7, 9], n, p=[0.05, 0.15, 0.8])
    if queries == "grouped":
        qid.sort()
    a = random.integers(0, 4, n) / 3 if weighted else None
    rows = ScoredRows(y, s, qid, a)
    for chosen in options(kind):
        expected = oracle(kind, rows, **chosen)
        assert_allclose(measure(kind, rows, **chosen), expected, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("kind", ["hinge_rank", "hinge_magnitude", "misranking"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scores", ["apart", "tied", "equal", "far out", "tiny"])
def test_rows_in_runs_against_the_definition(kind, scores, weighted, monkeypatch):
    """What a million rows are, as far as the code goes: too many for the cache."""
    monkeypatch.setattr(_misranked, "_MANY", 100)
    monkeypatch.setattr(_misranked, "_RUN", 20)
    monkeypatch.setattr(_order, "LONG", 10)
    random = np.random.default_rng(3)
    y, s = random.normal(size=(2, 1000))
    if scores == "far out":
        y[0], s[0] = 1e6, 1e6
    s = {"tied": s.round(1), "equal": 0 * s + 1e200, "tiny": s * 1e-300}.get(scores, s)
    rows = ScoredRows(y, s, None, random.integers(0, 4, 1000) / 3 if weighted else None)
    for chosen in options(kind):
        expected = oracle(kind, rows, **chosen)
        assert_allclose(measure(kind, rows, **chosen), expected, rtol=1e-11, atol=0)


@pytest.mark.parametrize("kind", ["hinge_rank", "hinge_magnitude"])
@pytest.mark.parametrize("power", [1, 2])
def test_what_is_not_misranked_cannot_overflow(kind, power):
    y = np.append(np.arange(200.0), 1e200)
    s = np.append(np.arange(200.0)[::-1], 1e200)
    expected = oracle(kind, (y[:200], s[:200], None, None), power=power) * (199 / 201)
    assert_allclose(KINDS[kind](y, s, power=power), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(rows=scored_rows(), data=st.data())
def test_invariances(kind, rows, data):
    y, s, qid, a = rows
    n = len(y)
    ones = np.ones(n) if a is None else a
    order = np.array(data.draw(st.permutations(range(n))))
    copied = np.append(np.arange(n), data.draw(st.integers(0, n - 1)))
    twice = ones.copy()
    twice[copied[-1]] *= 2
    names = np.array([f"q{9 - q}" for q in (np.zeros(n, int) if qid is None else qid)])
    alike = [
        (rows._replace(y=y + 3.0), rows) if kind not in TWO_SIDED else (rows, rows),
        (rows._replace(s=s - 8.0), rows),
        (rows._replace(y=y[order], s=s[order], qid=names[order], sample_weight=ones[order]), rows),
        (
            rows._replace(
                y=y[copied],
                s=s[copied],
                qid=None if qid is None else qid[copied],
                sample_weight=ones[copied],
            ),
            rows._replace(sample_weight=twice),
        ),
    ]
    chosen = data.draw(st.sampled_from(options(kind)))
    for one, other in alike:
        expected = measure(kind, other, **chosen)
        assert_allclose(measure(kind, one, **chosen), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n", [2_000, 100_000])
@pytest.mark.parametrize("grades", [2, 5, 1000, None])
def test_large_samples_agree_with_kendall(n, grades):
    random = np.random.default_rng(0)
    y = random.normal(size=n) if grades is None else random.integers(0, grades, n).astype(float)
    s = np.round(y + random.normal(size=n) * np.std(y), 3)
    wrong, half, right = (
        metrics.pairwise_misranking_loss(y, s, ties=ties) for ties in ("wrong", "half", "right")
    )
    _, in_y = np.unique(y, return_counts=True)
    pairs = metrics.comparable_pairs(y).n_pairs
    assert pairs == n * (n - 1) // 2 - (in_y * (in_y - 1) // 2).sum()
    _, in_s = np.unique(s, return_counts=True)
    both = pairs * (n * (n - 1) / 2 - (in_s * (in_s - 1) / 2).sum())
    tau = kendalltau(y, s).statistic
    assert_allclose((1 - wrong - right) * pairs / np.sqrt(both), tau, rtol=1e-10)
    assert_allclose(half, (wrong + right) / 2)
    ones = np.ones(n)
    assert_allclose(metrics.pairwise_misranking_loss(y, s, sample_weight=ones), wrong, rtol=1e-12)
    assert_allclose(metrics.pairwise_misranking_loss(y, s, qid=ones), wrong, rtol=1e-12)


@given(scored_rows())
def test_auc(rows):
    weight = None if rows.sample_weight is None else rows.sample_weight + 0.5
    y = rows.y > rows.y.min()
    expected = roc_auc_score(y, rows.s, sample_weight=weight)
    assert_allclose(metrics.auc_score(y, rows.s, sample_weight=weight), expected, rtol=1e-12)


def test_auc_is_for_two_classes():
    with pytest.raises(ValueError, match=r"y_true holds 0.0, 1.0 and 2.0"):
        metrics.auc_score([0, 1, 2], [0, 1, 2])


def test_means_with_qid_pool_pairs():
    y, s, qid = [0, 1, 0, 1, 1, 5], [1, 0, 0, 1, 1, 3], ["b", "b", "a", "a", "a", "c"]
    assert metrics.pairwise_misranking_loss(y, s, qid=qid) == 1 / 3
    assert metrics.comparable_pairs(y, qid=qid) == metrics.ComparablePairs(3, 3, 1)


@pytest.mark.parametrize("scale", [1.0, 300.0, 1e4])
def test_exponentials_do_not_overflow_before_the_result(scale):
    y, s = np.array([0.0, 1.0, 2.0]), scale * np.array([5.0, 6.0, 7.0])
    expected = np.exp([-scale, -scale, -2 * scale]).mean()
    assert_allclose(metrics.exponential_pair_loss(y, s), expected, rtol=1e-12)
    assert metrics.exponential_pair_loss(y, -1e4 * s) == np.inf


def test_magnitudes_survive_a_far_origin():
    random = np.random.default_rng(0)
    y, s = random.normal(size=(2, 300))
    far = np.round(s * 2**20) / 2**20 + 2.0**30
    for power in (1, 2):
        expected = metrics.magnitude_loss(y, far - 2.0**30, power=power)
        assert_allclose(metrics.magnitude_loss(y, far, power=power), expected, rtol=1e-6)
        expected = metrics.hinge_rank_loss(y, far - 2.0**30, power=power)
        assert_allclose(metrics.hinge_rank_loss(y, far, power=power), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y_true": [1.0, np.nan, 2.0]}, r"y_true contains nan \(row 1\)"),
        ({"y_true": ["a", "b", "c"]}, "y_true must be numbers"),
        ({"y_true": []}, "y_true is empty"),
        ({"y_score": [1.0, 2.0]}, "y_score has 2 entries for 3 rows"),
        ({"y_score": [[1.0, 2.0, 3.0]]}, "y_score must be 1-D"),
        ({"y_score": [1.0, 2.0, np.inf]}, r"y_score contains inf \(row 2\)"),
        ({"qid": [1, 2]}, "qid has 2 entries"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, r"sample_weight\[1\] is -1.0: expected"),
        ({"sample_weight": [0.0, 0.0, 0.0]}, "sample_weight is zero for every row"),
    ],
)
def test_bad_input_is_named(kind, changed, message):
    given = {"y_true": [1.0, 2.0, 3.0], "y_score": [1.0, 2.0, 3.0]} | changed
    with pytest.raises(ValueError, match=message):
        KINDS[kind](given.pop("y_true"), given.pop("y_score"), **given)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - TWO_SIDED))
@pytest.mark.parametrize(
    "chosen",
    [{}, {"qid": [1, 2, 3]}, {"sample_weight": [1.0, 0.0, 1.0]}],
    ids=["equal", "queries", "weights"],
)
def test_no_comparable_pair_is_an_error(kind, chosen):
    y = [1.0, 2.0, 3.0] if "qid" in chosen else [1.0, 2.0 if chosen else 1.0, 1.0]
    with pytest.raises(ValueError, match="no comparable pair"):
        KINDS[kind](y, [1.0, 2.0, 3.0], **chosen)


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        ("magnitude", {"power": 3}),
        ("hinge_rank", {"power": 0}),
        ("hinge_magnitude", {"power": "1"}),
        ("epsilon_insensitive", {"epsilon": -1}),
        ("epsilon_insensitive", {"epsilon": np.nan}),
        ("misranking", {"ties": "both"}),
        ("misranking", {"pair_weight": "size"}),
    ],
)
def test_bad_options_are_named(kind, chosen):
    with pytest.raises(ValueError, match=next(iter(chosen))):
        KINDS[kind]([1, 2], [1, 2], **chosen)


SCORERS = [name for name in metrics.__all__ if name.endswith("scorer") and "mean_rank" not in name]


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_take_queries_by_routing(name):
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(60, 2)), np.arange(60) // 10
    y = (X[:, 0] + 2 * random.normal(size=60) + qid % 2 > 1).astype(float)
    scorer = getattr(metrics, name)
    metric = scorer._score_func
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            LinearRegression(),
            X,
            y,
            params={"qid": qid},
            cv=GroupKFold(3).set_split_request(groups="qid"),
            scoring=scorer.set_score_request(qid=True),
            return_estimator=True,
            return_indices=True,
        )
    sign = -1 if name.startswith("neg") else 1
    folds = list(zip(found["indices"]["test"], found["estimator"], strict=True))
    scores = [(y[test], model.predict(X[test]), qid[test]) for test, model in folds]
    assert_allclose(found["test_score"], [sign * metric(t, s, qid=q) for t, s, q in scores])
    assert not np.allclose(found["test_score"], [sign * metric(t, s) for t, s, _ in scores])


def test_a_constant_has_no_hinge_rank_loss():
    X, y = np.zeros((5, 1)), np.arange(5.0)
    s = DummyRegressor().fit(X, y).predict(X)
    assert metrics.hinge_rank_loss(y, s) == metrics.hinge_magnitude_loss(y, s) == 0
    assert metrics.pairwise_misranking_loss(y, s) == 1


def test_numbers_whose_squares_overflow_are_finite():
    y, s = np.array([0.0, 1e200, 2e200]), np.array([0.0, 2e200, 1e200])
    assert_allclose(metrics.pairwise_misranking_loss(y, s), 1 / 3)
    with pytest.raises(ValueError, match="y_score"):
        metrics.pairwise_misranking_loss(y, np.array([0.0, np.inf, -np.inf]))


@pytest.mark.parametrize(("ties", "tie"), [("wrong", 1.0), ("half", 0.5), ("right", 0.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_of_labelled_pairs_is_the_lectures(ties, tie, weighted):
    random = np.random.default_rng(0)
    s, pairs = random.integers(0, 4, size=20).astype(float), random.integers(0, 20, size=(60, 2))
    y, a = random.integers(-1, 2, size=60), random.uniform(size=60) if weighted else np.ones(60)
    costs = []
    for (i, j), label in zip(pairs, y, strict=True):
        gap = label * (s[j] - s[i])
        costs.append(0.0 if label == 0 else 1.0 if gap < 0 else tie if gap == 0 else 0.0)
    given = {"y": y, "ties": ties, "pair_weight": a if weighted else None}
    assert_allclose(metrics.labelled_pairs_loss(pairs, s, **given), a @ costs / a.sum())
    assert_allclose(
        metrics.labelled_pairs_loss(pairs, s, ties=ties),
        metrics.labelled_pairs_loss(pairs[:, ::-1], s, y=-np.ones(60), ties=ties),
    )


def test_all_comparable_pairs_have_the_error_of_all_pairs():
    random = np.random.default_rng(1)
    y, s = random.integers(0, 3, size=25), random.integers(0, 9, size=25)
    pairs = np.argwhere(y[:, None] < y)
    assert_allclose(metrics.labelled_pairs_loss(pairs, s), metrics.pairwise_misranking_loss(y, s))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [2]}, r"y\[0\] is 2"),
        ({"ties": "odd"}, "ties='odd'"),
        ({"pair_weight": [-1]}, r"pair_weight\[0\]"),
    ],
)
def test_labelled_pairs_that_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        metrics.labelled_pairs_loss([[0, 1]], [1.0, 2.0], **given)
    with pytest.raises(ValueError, match="pairs"):
        metrics.labelled_pairs_loss([[0, 5]], [1.0, 2.0])


@pytest.mark.parametrize(
    "measure", [metrics.pairwise_misranking_loss, metrics.exponential_pair_loss]
)
def test_pair_weights_that_are_no_words(measure):
    with pytest.raises(ValueError, match="pair_weight='size'"):
        measure([1, 2], [1, 2], pair_weight="size")
    with pytest.raises(ValueError, match=r"pair_weight=array.* must be 'uniform' or 'magnitude'"):
        measure([1, 2], [1, 2], pair_weight=np.ones(2))
