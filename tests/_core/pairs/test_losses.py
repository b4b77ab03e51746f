"""All pairs in O(m log m) against the m x m definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from rankwise._core.pairs import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    Pairs,
    misranked_mean,
)
from rankwise.testing.strategies import ScoredRows, scored_rows
from tests.reference import pair_costs, pair_hessian, pair_loss, pair_weights

LOSSES = {
    "magnitude": MagnitudeLoss,
    "epsilon_insensitive": EpsilonInsensitiveLoss,
    "hinge": HingeLoss,
    "magnitude_hinge": MagnitudeHingeLoss,
}
ONE_SIDED = {"hinge", "magnitude_hinge"}
OPTIONS = [
    (kind, power, pair_weight)
    for kind in LOSSES
    for power in (1, 2)
    for pair_weight in ("uniform", "magnitude")
    if kind in ONE_SIDED or pair_weight == "uniform"
]
options = pytest.mark.parametrize(("kind", "power", "pair_weight"), OPTIONS)


def make(kind, power, pair_weight, rows):
    """Return a loss, its weights and its costs by definition as a function of s."""
    epsilon = {"epsilon": 0.5} if kind == "epsilon_insensitive" else {}
    common = {"qid": rows.qid, "sample_weight": rows.sample_weight, "pair_weight": pair_weight}
    loss = LOSSES[kind](Pairs(rows.y, **common), power=power, **epsilon)
    weights = pair_weights(rows.y, one_sided=kind in ONE_SIDED, **common)
    return loss, weights, lambda s: pair_costs(kind, rows.y, s, **epsilon)


@options
@settings(max_examples=25)
@given(rows=scored_rows())
def test_values_and_slopes_are_those_of_the_definition(kind, power, pair_weight, rows):
    loss, weights, costs = make(kind, power, pair_weight, rows)
    expected = pair_loss(weights, costs(rows.s), power)
    assert_allclose(loss.value(rows.s), expected, rtol=1e-12, atol=1e-300)
    listed, swept = (way.evaluate(rows.s, 0.5) for way in (loss.listed(), loss.swept()))
    for found in (listed, swept):
        assert_allclose(found.cost, expected, rtol=1e-11, atol=1e-15)
        assert_allclose(found.slopes.sum(), 0, atol=1e-10)
    assert_allclose(swept.slopes, listed.slopes, atol=1e-10)
    if power == 2:
        V = np.random.default_rng(0).normal(size=(len(rows.s), 2))
        away, step = rows.s + V[:, 1], 1e-4
        gradient = loss.swept().evaluate(away, 1.0).slopes
        ahead, behind = (pair_loss(weights, costs(away + h * V[:, 0]), 2) for h in (step, -step))
        assert_allclose(gradient @ V[:, 0], (ahead - behind) / (2 * step), rtol=1e-3, atol=1e-3)


@options
@settings(max_examples=25)
@given(rows=scored_rows())
def test_curvature_is_that_of_the_definition(kind, power, pair_weight, rows):
    loss, weights, costs = make(kind, power, pair_weight, rows)
    V = np.random.default_rng(0).normal(size=(len(rows.s), 2))
    curves = [way.curve(rows.s, 0.5) for way in (loss.listed(), loss.swept())]
    for curve in curves:
        products = np.column_stack([curve.product(v) for v in V.T])
        assert_allclose(curve.gram(V), V.T @ products, atol=1e-10)
        if power == 2:
            assert_allclose(products, pair_hessian(weights, costs(rows.s)) @ V, atol=1e-11)
    assert_allclose(curves[0].gram(V), curves[1].gram(V), atol=1e-10)


@options
@given(rows=scored_rows())
def test_slopes_support_the_loss(kind, power, pair_weight, rows):
    loss, _, _ = make(kind, power, pair_weight, rows)
    found = loss.swept().evaluate(rows.s, 0.5)
    for seed in range(3):
        step = np.random.default_rng(seed).normal(size=len(rows.s)) * 10.0 ** -(2 * seed)
        lower = found.cost + found.slopes @ step - found.slack
        assert loss.value(rows.s + step) >= lower - 1e-10 * (1 + abs(lower))


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("grades", [7, 60, 5000])
def test_many_rows(kind, power, grades):
    random = np.random.default_rng(grades)
    y = random.integers(0, grades, 1500) / grades
    rows = ScoredRows(y, y + random.normal(size=1500), None, random.random(1500))
    loss, weights, costs = make(kind, power, "uniform", rows)
    matrix = costs(rows.s)
    assert_allclose(loss.value(rows.s), pair_loss(weights, matrix, power), rtol=1e-12)
    if kind in ONE_SIDED and power == 2:
        gradient = loss.swept().evaluate(rows.s, 1.0).slopes
        slopes = weights * (matrix > 0) * power * matrix ** (power - 1) / weights.sum()
        assert_allclose(gradient, slopes.sum(axis=1) - slopes.sum(axis=0), atol=1e-15)


@pytest.mark.parametrize("kind", LOSSES)
def test_a_far_origin_changes_little(kind):
    random = np.random.default_rng(0)
    y, s = random.integers(0, 5, 2000).astype(float), random.normal(size=2000)
    s = np.round(s * 2**20) / 2**20
    loss, _, _ = make(kind, 2, "uniform", ScoredRows(y, s, None, None))
    swept = loss.swept()
    one, other = swept.evaluate(s, 1.0), swept.evaluate(s + 2.0**30, 1.0)
    assert_allclose(one.cost, other.cost, rtol=1e-9)
    assert_allclose(one.slopes, other.slopes, rtol=1e-9, atol=1e-15)
    assert_allclose(loss.value(s), loss.value(s + 2.0**30), rtol=1e-9)


def test_one_row_and_bad_arguments():
    pairs = Pairs(np.array([1.0]))
    assert MagnitudeLoss(pairs).value(np.array([3.0])) == 0
    for way in ("listed", "swept"):
        costs = getattr(MagnitudeLoss(pairs, power=1), way)()
        assert_array_equal(costs.evaluate(np.array([3.0]), 1.0).slopes, [0])
    with pytest.raises(ValueError, match="no comparable pair"):
        HingeLoss(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("grades", [5, 10**6])
def test_a_million_rows_to_twelve_digits(grades):
    m = 10**6
    random = np.random.default_rng(0)
    y = random.integers(0, grades, m) / grades * 4
    s = y + random.normal(size=m)
    r = np.sort((s - y).astype(np.longdouble))
    r -= r.mean()
    signed = 2 * np.arange(m, dtype=np.longdouble) - m + 1
    expected = 2 * (signed * r).sum() / np.longdouble(m) ** 2
    assert_allclose(MagnitudeLoss(Pairs(y), power=1).value(s), float(expected), rtol=1e-12)
    # without ties in y the hinge of margin 0 over y_j > y_i and that over y_j < y_i add up
    if grades > 5:
        y = random.permutation(m) / m
        one = MagnitudeHingeLoss(Pairs(y)).value(s + y)
        other = MagnitudeHingeLoss(Pairs(-y)).value(s - y)
        both = np.sort(s.astype(np.longdouble))
        total = (signed * (both - both.mean())).sum() / (np.longdouble(m) * (m - 1) / 2)
        assert_allclose(one + other, float(total), rtol=1e-12)


@pytest.mark.parametrize("unit", [5e-324, 1e-308, 1e-200, 1e200, 1e307])
def test_only_ratios_of_weights_count(unit):
    random = np.random.default_rng(0)
    y, s = random.integers(0, 4, size=(2, 30)).astype(float)
    weight = random.integers(0, 5, size=30).astype(float)
    for qid in (None, np.arange(30) % 3):
        expected, found = (Pairs(y, qid=qid, sample_weight=w) for w in (weight, weight * unit))
        for magnitude in (False, True):
            assert_allclose(
                misranked_mean(found, s, magnitude=magnitude, power=1),
                misranked_mean(expected, s, magnitude=magnitude, power=1),
            )
        assert_allclose(HingeLoss(found).value(s), HingeLoss(expected).value(s))
        epsilon = EpsilonInsensitiveLoss(found, epsilon=0.1).value(s)
        assert_allclose(epsilon, EpsilonInsensitiveLoss(expected, epsilon=0.1).value(s))
