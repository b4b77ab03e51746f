r"""Levels with a given mass of values above them. Reference: bisection in the tests.

With :math:`\psi_h` the hinge, rounded over a width h (see `rankwise._core.pairs._implicit`), the
level t of a query solves :math:`\sum_j a_j \psi_h(x_j - t) = \text{mass}`. The left side is convex
and falls with t, so Newton's method from below never passes it, and a value that no longer counts
never counts again: they are left out as t rises, so that a pass is shorter than the one before.
"""

import numpy as np

from rankwise._core.compilation import compiled

_MOST = 200


@compiled
def raise_levels(x, a, starts, h, mass, t):
    """Raise the levels of all queries to what they should be.

    Parameters
    ----------
    x : float64 array of shape (m,)
        The values, query by query.
    a : float64 array of shape (m,) or (0,)
        Their weights; empty: all 1.
    starts : int64 array of shape (n_queries + 1,)
        Where each query begins.
    h : float
        The width of the kink, 0 for none.
    mass : float64 array of shape (n_queries,)
        What should lie above each level.
    t : float64 array of shape (n_queries,)
        Below the levels or at them; then the levels.
    """
    longest = 0
    for q in range(starts.shape[0] - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    value, weight = np.empty(longest), np.empty(longest)
    for q in range(starts.shape[0] - 1):
        n = 0
        for j in range(starts[q], starts[q + 1]):
            if x[j] + h > t[q]:
                value[n] = x[j]
                weight[n] = a[j] if a.shape[0] > 0 else 1.0
                n += 1
        level = t[q]
        for _ in range(_MOST):
            above, slope, left = 0.0, 0.0, 0
            for j in range(n):
                gap = value[j] - level
                if gap + h <= 0:
                    continue
                if gap >= h:
                    above += weight[j] * gap
                    slope += weight[j]
                else:
                    above += weight[j] * (gap + h) * (gap + h) / (4 * h)
                    slope += weight[j] * (gap + h) / (2 * h)
                value[left] = value[j]
                weight[left] = weight[j]
                left += 1
            n = left
            if slope <= 0.0:
                break
            higher = level + (above - mass[q]) / slope
            if higher <= level:
                break
            level = higher
        t[q] = level
