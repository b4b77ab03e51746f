from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.engine.linear_ordering import best_order


def cost_of(order, costs):
    return sum(costs[u, v] for i, u in enumerate(order) for v in order[i + 1 :])


@given(st.integers(0, 6), st.integers(0, 2**32), st.integers(2, 5))
def test_no_order_is_cheaper(n, seed, levels):
    costs = np.random.default_rng(seed).integers(0, levels, (n, n))
    found = best_order(costs)
    assert sorted(found) == list(range(n))
    least = min(cost_of(order, costs) for order in permutations(range(n)))
    assert cost_of(found.tolist(), costs) == least


def test_many_items_are_fine_unless_they_go_in_circles():
    n = 300
    place = np.random.default_rng(0).permutation(n)
    costs = (place[:, None] > place) * 1.0
    assert cost_of(best_order(costs).tolist(), costs) == 0
    circles = (np.subtract.outer(np.arange(19), np.arange(19)) % 19 > 9) * 1.0
    with pytest.raises(ValueError, match="19 items prefer each other in circles"):
        best_order(circles)
