"""The best order of a few things, by dynamic programming over their subsets."""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def order_by_subsets(losses):
    """Return the order with the smallest sum of ``losses[j, i]`` over i before j, in O(2^n n^2).

    ``losses`` is a float64 array of shape (n, n), and a subset is a number with a bit for each
    member.
    """
    n = len(losses)
    full = (1 << n) - 1
    costs, last = np.empty(full + 1), np.empty(full + 1, dtype=np.int64)
    for placed in range(full + 1):
        costs[placed] = np.inf if placed else 0.0
    for placed in range(full):
        for i in range(n):
            if not placed >> i & 1:
                cost = costs[placed]
                for j in range(n):
                    if not placed >> j & 1:
                        cost += losses[j, i]
                more = placed | 1 << i
                if cost < costs[more]:
                    costs[more] = cost
                    last[more] = i
    order = np.empty(n, dtype=np.int64)
    placed = full
    for at in range(n - 1, -1, -1):
        order[at] = last[placed]
        placed ^= 1 << order[at]
    return order
