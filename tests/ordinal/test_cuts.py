"""Chances of levels given a score against a general minimiser; cuts: tests/ordinal."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from rankwise.ordinal.cuts import chances as chances_of
from rankwise.ordinal.cuts import cumulative_regressions


def chances(scores, levels, weight, n_levels):
    return chances_of(scores, *cumulative_regressions(scores, levels, weight, n_levels))


def literal(scores, levels, weight, level):
    """Return the chances of more than a level, by the definition."""
    a = weight / weight.sum()
    z = scores - a @ scores
    z = z / (np.sqrt(a @ z**2) or 1.0)
    above = levels > level

    def loss(found):
        chance = found[0] * z + found[1]
        return a @ np.logaddexp(0.0, np.where(above, -chance, chance)) + 0.0005 * found[0] ** 2

    found = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return 1 / (1 + np.exp(-found[0] * z - found[1]))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
def test_chances_are_those_of_the_definition(noise, weighted):
    g = np.random.default_rng(0)
    for n, k in product([2, 5, 40], [2, 3, 5]):
        scores = g.normal(size=n) * 7 + 3
        levels = np.clip(np.digitize(scores + noise * g.normal(size=n), [0, 2, 4, 6]), 0, k - 1)
        levels[:2] = 0, k - 1
        weight = g.random(n) + 0.05 if weighted else np.ones(n)
        found = chances(scores, levels, weight, k)
        for level in range(k - 1):
            expected = literal(scores, levels, weight, level)
            assert_allclose(found[:, level], expected, atol=2e-4)


def test_certain_levels_and_equal_scores():
    levels = np.array([1, 1, 3, 3])
    found = chances(np.arange(4.0), levels, np.ones(4), 6)
    assert_array_equal(found[:, 0], 1.0)
    assert_array_equal(found[:, 3:], 0.0)
    same = chances(np.full(4, 7.0), levels, np.array([1.0, 1.0, 1.0, 5.0]), 4)
    assert_allclose(same[:, 1], 6 / 8)


def test_huge_and_tiny_scores_and_weights():
    g = np.random.default_rng(0)
    scores, levels = g.normal(size=30), g.integers(0, 3, 30)
    expected = chances(scores, levels, np.ones(30), 3)
    for scale, size in ((1e300, 1.0), (1e-300, 1.0), (1.0, 1e-300)):
        found = chances(scores * scale, levels, np.full(30, size), 3)
        assert_allclose(found, expected, rtol=1e-6)
