"""What the solvers ask of pairs: swept against listed, and both against the definition."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise._core.pairs import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    Pairs,
)
from tests.covering import spread

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


def make(kind, power, magnitude, queries, weights, levels, m=90, offset=0.0):
    random = np.random.default_rng(0)
    y = random.normal(size=m) if levels is None else random.integers(0, levels, m).astype(float)
    qid = random.integers(0, 7, m)
    # of a size that even the farthest offset leaves exact
    y = np.round(64 * y) / 64 + offset * (1 + qid * queries)
    pairs = Pairs(
        y,
        qid=qid if queries else None,
        sample_weight=random.uniform(0, 2, m) if weights else None,
        pair_weight="magnitude" if magnitude else "uniform",
    )
    return {
        "hinge": lambda: HingeLoss(pairs, power=power),
        "magnitude_hinge": lambda: MagnitudeHingeLoss(pairs, power=power),
        "epsilon": lambda: EpsilonInsensitiveLoss(pairs, epsilon=0.3, power=power),
        "magnitude": lambda: MagnitudeLoss(pairs, power=power),
    }[kind]()


@pytest.mark.parametrize(("options", "h"), spread(OPTIONS, [0.05, 1.0]), ids=str)
def test_swept_and_listed_costs_agree_with_the_loss_and_its_differences(options, h):
    loss = make(*options)
    m = len(loss.pairs.y)
    random = np.random.default_rng(1)
    s, v, X = random.normal(size=m), random.normal(size=m), random.normal(size=(m, 3))
    listed, swept = loss.costs(), loss.swept()
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


@pytest.mark.parametrize(("options", "offset"), spread(OPTIONS, [1e6, 1e9, 1e12, -1e12]), ids=str)
def test_origins_of_targets_and_scores_do_not_matter(options, offset):
    near, far = make(*options), make(*options, offset=offset)
    random = np.random.default_rng(1)
    m = len(near.pairs.y)
    s = np.round(64 * random.normal(size=m)) / 64
    codes = 0 if near.pairs.codes is None else near.pairs.codes
    X, v = random.normal(size=(m, 3)), random.normal(size=m)
    for t in (s, s + 3 * offset * (codes - 2)):
        assert_allclose(far.value(t), near.value(s), rtol=1e-10)
        for ours, theirs in ((far.swept(), near.swept()), (far.listed(), near.listed())):
            assert_allclose(ours.scale, theirs.scale, rtol=1e-6)
            found, expected = ours.evaluate(t, 0.5), theirs.evaluate(s, 0.5)
            assert_allclose(found.cost, expected.cost, rtol=1e-10)
            assert_allclose(found.slopes, expected.slopes, atol=1e-11)
            assert_allclose(found.slack, expected.slack, atol=1e-11)
            found, expected = ours.curve(t, 0.5), theirs.curve(s, 0.5)
            assert_allclose(found.product(v), expected.product(v), atol=1e-10)
            assert_allclose(found.gram(X), expected.gram(X), atol=1e-10)


def defined(loss, s, h):
    """Return cost, slopes, slack and Hessian of a smoothed loss, summed over all ordered pairs."""
    pairs, y = loss.pairs, loss.pairs.y
    codes = np.zeros(len(y)) if pairs.codes is None else pairs.codes
    same = codes[:, None] == codes
    weight, gap = same * np.outer(pairs.weight, pairs.weight), y - y[:, None]
    if isinstance(loss, HingeLoss):
        weight = weight * (gap > 0) * (gap if pairs.magnitude else 1.0)
        weight = weight / weight.sum()
        wanted = 1.0 if type(loss) is HingeLoss else gap
    else:
        weight, wanted = 2 * weight / weight.sum(), gap - loss.epsilon
    c = wanted - (s - s[:, None])
    if loss.power == 2:
        cost, p, q, slack = np.maximum(c, 0) ** 2, 2 * np.maximum(c, 0), 2.0 * (c > 0), 0.0
    else:
        cost, p, q = np.maximum(c, 0), np.clip((c + h) / (2 * h), 0, 1), (np.abs(c) < h) / (2 * h)
        slack = (weight * (cost - p * c)).sum()
    slopes, graph = weight * p, weight * q
    hessian = np.diag(graph.sum(axis=0) + graph.sum(axis=1)) - graph - graph.T
    return (weight * cost).sum(), slopes.sum(axis=1) - slopes.sum(axis=0), slack, hessian


@pytest.mark.parametrize(("options", "h"), spread(OPTIONS, [0.06, 1.1]), ids=str)
@pytest.mark.parametrize("way", ["listed", "swept"])
def test_costs_are_those_of_the_definition(options, h, way):
    loss = make(*options)
    random = np.random.default_rng(2)
    s = random.normal(size=len(loss.pairs.y))
    if options[5] is not None:
        s = np.round(s * 4) / 4  # ties, and costs at the kink
    costs = getattr(loss, way)()
    cost, slopes, slack, hessian = defined(loss, s, h)
    found, curve = costs.evaluate(s, h), costs.curve(s, h)
    assert_allclose(found.cost, cost, rtol=1e-10)
    assert_allclose(loss.value(s), cost, rtol=1e-10)
    assert_allclose(found.slopes, slopes, atol=1e-12)
    assert_allclose(found.slack, slack, atol=1e-12)
    V = random.normal(size=(len(s), 2))
    products = np.column_stack([curve.product(v) for v in V.T])
    assert_allclose(products, hessian @ V, atol=1e-11)
    assert_allclose(curve.gram(V), V.T @ hessian @ V, atol=1e-10)
    # the slopes support the loss, but for the slack
    for step in (1e-3, 0.1, 10.0):
        lower = found.cost + step * (found.slopes @ V[:, 0]) - found.slack
        assert loss.value(s + step * V[:, 0]) >= lower - 1e-10 * (1 + abs(lower))
