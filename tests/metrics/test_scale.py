"""Numbers at both ends of what a float can hold, against exact fractions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from rankwise import metrics
from rankwise.metrics.lists import LIST_MEASURES

LARGEST = np.finfo(np.float64).max
VALUES = [
    1.7e308, -1.7e308, 1e308, 8.9e307, 1e200, -1e155, 3.0, 1.0, -1.0, 0.0, 1e-5,
    1e-160, -1e-200, 1e-308, 1e-323, 5e-324, -5e-324,
]  # fmt: skip
WEIGHTS = [[1.0, 2.0], [1e308, 1.7e308], [1e-308, 2e-308], [5e-324, 1e-323], [1e-200, 2e-200, 0.0]]
MEASURES = {
    "magnitude": metrics.magnitude_loss,
    "epsilon": metrics.epsilon_insensitive_loss,
    "hinge_rank": metrics.hinge_rank_loss,
    "hinge_magnitude": metrics.hinge_magnitude_loss,
    "misranking": metrics.pairwise_misranking_loss,
}
TWO_SIDED = ("magnitude", "epsilon")


def exact(kind, y, s, qid, a, *, power=1, pair_weight="uniform"):
    """Return the definition in fractions, or None if nothing counts."""
    y, s, a = ([Fraction(v) for v in column] for column in (y, s, a))
    total = weight = Fraction(0)
    for i in range(len(y)):
        for j in range(len(y)):
            two = kind in TWO_SIDED
            if qid[i] != qid[j] or not (two or y[j] > y[i]):
                continue
            off = (s[i] - s[j]) + (y[j] - y[i])
            cost = {
                "magnitude": abs(off),
                "epsilon": max(Fraction(0), abs(off) - Fraction(0.1)),
                "hinge_rank": max(Fraction(0), s[i] - s[j]),
                "hinge_magnitude": off if s[j] < s[i] else Fraction(0),
                "misranking": Fraction(s[j] <= s[i]),
            }[kind]
            w = a[i] * a[j] * (y[j] - y[i] if pair_weight == "magnitude" else 1)
            weight += w
            total += w * cost**power
    return total / weight if weight else None


def check(kind, rows, **chosen):
    y, s, qid, a = rows
    expected = exact(kind, *rows, **chosen)
    measure = MEASURES[kind]
    # rounding of s - y is no more than that of the largest of them
    room = Fraction(max(np.abs(y).max(), np.abs(s).max())) ** chosen.get("power", 1)
    if expected is None:
        with pytest.raises(ValueError, match="no comparable pair"):
            measure(y, s, qid=qid, sample_weight=a, **chosen)
    elif expected > Fraction(LARGEST) * Fraction(1.001):
        with pytest.raises(ValueError, match="larger than a float can hold"):
            measure(y, s, qid=qid, sample_weight=a, **chosen)
    elif expected < Fraction(LARGEST) * Fraction(0.999):
        found = Fraction(measure(y, s, qid=qid, sample_weight=a, **chosen))
        allowed = Fraction(1e-11) * expected + Fraction(1e-300)
        if kind in TWO_SIDED:
            allowed += Fraction(1e-13) * room
        assert abs(found - expected) <= allowed


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        *(("hinge_rank", {"power": power}) for power in (1, 2)),
        *(("hinge_magnitude", {"power": power}) for power in (1, 2)),
        *(("misranking", {"pair_weight": weight}) for weight in ("uniform", "magnitude")),
        ("magnitude", {"power": 1}),
        ("epsilon", {"power": 1}),
    ],
)
def test_all_sizes_against_fractions(kind, chosen, weights):
    random = np.random.default_rng(1)
    for n in [2, 3, 4, 5, 6] * 12:
        y, s = random.choice(VALUES, (2, n))
        a = random.choice(weights, n)
        a[:2] = weights[:2]
        qid = np.append([0, 0], random.integers(0, 2, n - 2))
        check(kind, (y, s, qid, a), **chosen)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_magnitude_is_homogeneous(power, scale):
    random = np.random.default_rng(0)
    y, s = random.normal(size=(2, 50))
    for name in ("magnitude", "hinge_rank", "hinge_magnitude"):
        loss = MEASURES[name](y, s, power=power)
        assert_allclose(MEASURES[name](scale * y, scale * s, power=power), loss * scale**power)


@pytest.mark.parametrize("kind", ["magnitude", "epsilon"])
@pytest.mark.parametrize("power", [1, 2])
def test_a_loss_that_no_float_can_hold_is_refused(kind, power):
    y, s = [1.7e308, -1.7e308, 1.0], [-1.7e308, 1.7e308, 2.0]
    with pytest.raises(ValueError, match=r"larger than a float can hold: scale .* reach 1.7e\+308"):
        MEASURES[kind](y, s, power=power)


def test_large_tolerance():
    assert metrics.epsilon_insensitive_loss([0, 1e-320], [1e-320, 0], epsilon=1e308) == 0.0
    assert metrics.epsilon_insensitive_loss([0, 0], [0, 1.5e308], epsilon=1e308) == 2.5e307


@pytest.mark.parametrize(
    ("y", "s", "expected"),
    [
        ([0, 1], [-1.7e308, 1.7e308], 0.0),
        ([0, 1], [1.7e308, 1.7e308], 1.0),
        ([0, 1], [1.7e308, -1.7e308], np.inf),
        ([0, 1, 2], [-1.7e308, 1.0, 2.0], np.exp(-1) / 3),
        ([0, 1, 2], [-1.7e308, 1e308, 1.1e308], 0.0),
        ([0, 1, 2], [-1.7e308, 1.1e308, 1e308], np.inf),
        ([-1.7e308, 1.7e308], [0, 1], np.exp(-1)),
    ],
)
def test_exponential(y, s, expected):
    assert_allclose(metrics.exponential_pair_loss(y, s), expected)
    if len(y) == 2:
        assert_allclose(metrics.exponential_pair_loss(y, s, pair_weight="magnitude"), expected)


def test_a_row_without_weight_is_not_there():
    y, s, a = [1, 1, 2], [1000.0, 0.0, 0.0], [0, 1, 1]
    assert metrics.exponential_pair_loss(y, s, sample_weight=a) == 1.0
    assert metrics.hinge_rank_loss(y, [1.7e308, 1.0, 0.0], sample_weight=a) == 1.0


def test_small_weights_beside_a_large_query_without_a_pair():
    y, s, qid = [1, 1, 1, 2], [0, 1, 5, 3], [0, 0, 1, 1]
    a = [1e300, 1e300, 1e-300, 1e-300]
    assert metrics.pairwise_misranking_loss(y, s, qid=qid, sample_weight=a) == 1.0
    assert metrics.hinge_rank_loss(y, s, qid=qid, sample_weight=a) == 2.0


def test_small_weights_of_small_costs():
    for a in (1e-130, 1e-80, 1e80):
        loss = metrics.hinge_rank_loss([1, 2], [1e-30, 0], power=2, sample_weight=[a, a])
        assert_allclose(loss, 1e-60)


def test_weights_too_far_apart_are_refused():
    with pytest.raises(ValueError, match="sample_weight has too wide a range"):
        metrics.pairwise_misranking_loss([1, 2], [1, 2], sample_weight=[1.0, 1e-320])


@pytest.mark.parametrize("kind", TWO_SIDED)
@pytest.mark.parametrize("power", [1, 2])
def test_no_pair_of_two_rows(kind, power):
    y, s = [1.0, 2.0, 5.0], [3.0, 1.0, 2.0]
    for chosen in ({"qid": [1, 2, 3]}, {"qid": [1, 1, 2], "sample_weight": [1, 0, 1]}):
        with pytest.raises(ValueError, match="no query has two rows"):
            MEASURES[kind](y, s, power=power, **chosen)
    with pytest.raises(ValueError, match="no query has two rows"):
        MEASURES[kind]([1.0], [2.0], power=power)


TAKING_SCORES = [
    *MEASURES.values(), metrics.exponential_pair_loss, metrics.auc_score,
    metrics.pair_accuracy_score, metrics.auc_interval, metrics.pair_accuracy_interval,
    *LIST_MEASURES.values(),
    lambda y, s, **more: metrics.auc_difference_test(y, s, s, **more),
]  # fmt: skip
Y, S, QID = [0, 1, 0, 1, 1], [0.3, 0.2, 0.9, 1.0, 0.5], [1, 1, 2, 2, 2]


@pytest.mark.parametrize("measure", TAKING_SCORES)
@pytest.mark.parametrize("place", range(3))
def test_masked_entries_are_refused(measure, place):
    masked = np.ma.masked_array([Y, S, QID][place], mask=[0, 0, 0, 0, 1])
    given = [Y, S, QID]
    given[place] = masked
    with pytest.raises(ValueError, match=r"(y_true|y_score.*|qid) has a masked entry \(row 4\)"):
        measure(given[0], given[1], qid=given[2])
    given[place] = np.ma.masked_array([Y, S, QID][place], mask=False)
    assert measure(given[0], given[1], qid=given[2]) == measure(Y, S, qid=QID)


def test_masked_weights_are_refused():
    weight = np.ma.masked_array(np.ones(5), mask=[0, 1, 0, 0, 0])
    with pytest.raises(ValueError, match=r"sample_weight has a masked entry \(row 1\)"):
        metrics.magnitude_loss(Y, S, sample_weight=weight)


@pytest.mark.parametrize("measure", TAKING_SCORES)
def test_an_ordered_categorical_means_its_order(measure):
    words = np.array(["poor", "good"])[Y]
    for y in (
        pd.Categorical(words, categories=["poor", "good"], ordered=True),
        pl.Series(words, dtype=pl.Enum(["poor", "good"])),
        pd.Series(pd.Categorical(Y)),
    ):
        assert measure(y, S, qid=QID) == measure(Y, S, qid=QID)
    with pytest.raises(ValueError, match="y_true is a categorical without an order"):
        measure(pd.Series(pd.Categorical(words)), S, qid=QID)


def test_ordered_scores():
    scores = pd.Categorical(["a", "c", "b"], categories=["c", "b", "a"], ordered=True)
    assert metrics.pair_accuracy_score([3, 1, 2], scores) == 1.0


@pytest.mark.parametrize("power", [3, 0, 1.5, "1", None, np.array([1, 2])])
def test_bad_power(power):
    with pytest.raises(ValueError, match="power="):
        metrics.magnitude_loss(Y, S, power=power)


@pytest.mark.parametrize("epsilon", [-1, np.nan, np.inf, "0.1", None])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon="):
        metrics.epsilon_insensitive_loss(Y, S, epsilon=epsilon)


@pytest.mark.parametrize(
    "y", [[1j, 2], np.array([1j, 2]), np.array([1, 2], "m8[s]"), [10**400, 1], [None, 1], "ab", {1}]
)
def test_no_numbers(y):
    with pytest.raises(ValueError, match="y_true"):
        metrics.magnitude_loss(y, [1, 2])


@pytest.mark.parametrize("far", [1e9, 1e12, 1e15])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_targets_far_from_zero(far, weighted):
    random = np.random.default_rng(0)
    y, s = random.integers(0, 5, 3000).astype(float), random.normal(size=3000)
    chosen = {"pair_weight": "magnitude"}
    if weighted:
        chosen["sample_weight"] = random.integers(1, 4, 3000)
    for measure in (metrics.pairwise_misranking_loss, metrics.exponential_pair_loss):
        assert_allclose(measure(y + far, s, **chosen), measure(y, s, **chosen), rtol=1e-12)
