"""What the solvers ask of pairs: swept against listed, and both against the definition."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.engine.pairs import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    Pairs,
    pair_costs,
)

OPTIONS = [
    (kind, power, magnitude, queries, weights, levels)
    for kind, power, magnitude, queries, weights, levels in product(
        ("hinge", "magnitude_hinge", "epsilon", "magnitude"),
        (1, 2),
        (False, True),
        (False, True),
        (False, True),
        (5, None),
    )
    if not magnitude or "hinge" in kind
]


def make(kind, power, magnitude, queries, weights, levels, m=90):
    random = np.random.default_rng(0)
    y = random.normal(size=m) if levels is None else random.integers(0, levels, m).astype(float)
    pairs = Pairs(
        y,
        qid=random.integers(0, 7, m) if queries else None,
        sample_weight=random.uniform(0, 2, m) if weights else None,
        pair_weight="magnitude" if magnitude else "uniform",
    )
    return {
        "hinge": lambda: HingeLoss(pairs, power=power),
        "magnitude_hinge": lambda: MagnitudeHingeLoss(pairs, power=power),
        "epsilon": lambda: EpsilonInsensitiveLoss(pairs, epsilon=0.3, power=power),
        "magnitude": lambda: MagnitudeLoss(pairs, power=power),
    }[kind]()


@pytest.mark.parametrize(("options"), OPTIONS, ids=str)
@pytest.mark.parametrize("h", [0.05, 1.0])
def test_swept_and_listed_costs_agree_with_the_loss_and_its_differences(options, h):
    loss = make(*options)
    m = len(loss.pairs.y)
    random = np.random.default_rng(1)
    s, v, X = random.normal(size=m), random.normal(size=m), random.normal(size=(m, 3))
    listed, swept = pair_costs(loss), pair_costs(loss, listed=0)
    assert type(listed) is not type(swept)
    found, expected = swept.evaluate(s, h), listed.evaluate(s, h)
    assert_allclose(expected.cost, loss.value(s), rtol=1e-12)
    assert_allclose(found.cost, expected.cost, rtol=1e-10)
    assert_allclose(found.slopes, expected.slopes, atol=1e-12)
    assert_allclose(found.slack, expected.slack, atol=1e-12)
    assert expected.slack > 0 if loss.power == 1 else expected.slack == 0
    ours, theirs = swept.curve(s, h), listed.curve(s, h)
    step = 1e-6
    change = listed.evaluate(s + step * v, h).slopes - listed.evaluate(s - step * v, h).slopes
    assert_allclose(theirs.product(v), change / (2 * step), atol=1e-7)
    assert_allclose(ours.product(v), theirs.product(v), atol=1e-11)
    assert_allclose(ours.gram(X), theirs.gram(X), atol=1e-10)
    assert_allclose(X.T @ np.column_stack([ours.product(x) for x in X.T]), ours.gram(X), atol=1e-10)
    weighed = ours.product(np.ones(m))
    assert_allclose(weighed, 0, atol=1e-12)
    if loss.power == 2:
        assert_allclose(expected.slopes, loss.value_gradient(s)[1], atol=1e-13)
