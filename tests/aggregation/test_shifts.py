"""Aggregation: only the ratios of weights count."""

from inspect import isfunction, signature

import numpy as np
import pytest

from rankwise import aggregation
from rankwise.aggregation import kwiksort, markov_chain
from rankwise.testing.strategies import draw_rankings

# Powers of 2, which round nothing, near 1e-150, 1e-8, 1e8 and 1e150.
SCALES = [2.0**-498, 2.0**-27, 2.0**27, 2.0**498]
# What is no rule: it gives no order, or improves one.
OTHERS = {"concordance", "kemeny_cost", "local_kemenisation", "pairwise_wins"}
RULES = [
    function
    for name, function in vars(aggregation).items()
    if isfunction(function) and "weights" in signature(function).parameters and name not in OTHERS
]


def order_of(rule, rankings, weights, **more):
    seed = {"random_state": 0} if rule is kwiksort else {}
    return rule(rankings, weights=weights, candidates=range(8), **seed, **more).order


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rule", RULES)
def test_scale_of_the_weights(rule, scale, partial):
    for seed in range(5):
        random = np.random.default_rng(seed)
        rankings = draw_rankings(random, 7, 8, ties=True, partial=partial)
        weights = random.integers(1, 5, len(rankings)).astype(float)
        expected = order_of(rule, rankings, weights)
        assert order_of(rule, rankings, scale * weights) == expected
        for chain in ("MC1", "MC2", "MC3"):
            if rule is markov_chain:
                found = order_of(rule, rankings, scale * weights, chain=chain)
                assert found == order_of(rule, rankings, weights, chain=chain)
