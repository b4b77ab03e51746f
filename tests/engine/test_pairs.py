"""All pairs in O(m log m) against the m x m definitions."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from rankwise.engine.pairs import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    Pairs,
)
from rankwise.testing.oracles import pair_costs, pair_hessian, pair_loss, pair_weights
from rankwise.testing.strategies import scored_rows

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
@given(rows=scored_rows())
def test_value_gradient_and_curvature_are_those_of_the_definition(kind, power, pair_weight, rows):
    loss, weights, costs = make(kind, power, pair_weight, rows)
    value, gradient = loss.value_gradient(rows.s)
    expected = pair_loss(weights, costs(rows.s), power)
    assert_allclose(value, expected, rtol=1e-12, atol=1e-300)
    assert_allclose(loss.value(rows.s), expected, rtol=1e-12, atol=1e-300)
    smooth = kind == "magnitude" and power == 2
    H = pair_hessian(weights, costs(rows.s) + smooth) / 2
    curvature = loss.curvature(rows.s)
    assert_allclose(curvature.diagonal, H.diagonal(), atol=1e-12)
    V = np.random.default_rng(0).normal(size=(len(rows.s), 2))
    assert_allclose(curvature.product(V), H @ V, atol=1e-11)
    if power == 2:
        assert_allclose(loss.hessian_product(rows.s, V[:, 0]), 2 * H @ V[:, 0], atol=1e-11)
        away, step = rows.s + V[:, 1], 1e-4
        _, gradient = loss.value_gradient(away)
        ahead, behind = (pair_loss(weights, costs(away + h * V[:, 0]), 2) for h in (step, -step))
        assert_allclose(gradient @ V[:, 0], (ahead - behind) / (2 * step), rtol=1e-3, atol=1e-3)
    else:
        with pytest.raises(ValueError, match="power=1 has no Hessian"):
            loss.hessian_product(rows.s, rows.s)
