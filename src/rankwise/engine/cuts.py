r"""Where to cut a line of scores into levels, so that a sum of costs is least.

With the scores sorted, the levels that cuts give to them rise. With :math:`c_l(t)` the cost of
level l for the score at place t, the least costs of the first i scores in levels up to l are

.. math::

    f_l(i) = \min_{j \le i} f_{l-1}(j) + \sum_{j < t \le i} c_l(t) ,

where j may not part equal scores. Cost: O(n) time and numbers for each level.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def best_places(scores: Vector, cost: Callable[[int], Vector], n_levels: int) -> NDArray[np.int64]:
    """Return how many scores lie below each cut; of equally good cuts the lowest.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Sorted.
    cost : callable
        ``cost(level)`` returns what that level costs for each score, an ndarray of shape (n,).
    n_levels : int
        The number of levels, at least 1.

    Returns
    -------
    ndarray of shape (n_levels - 1,)
    """
    n = len(scores)
    parts_equal = np.zeros(n + 1, dtype=bool)
    parts_equal[1:n] = scores[1:] == scores[:-1]
    best, gains = _sums(cost(0)), []
    for level in range(1, n_levels):
        total = _sums(cost(level))
        gain = best - total
        gain[parts_equal] = np.inf
        best = total + np.minimum.accumulate(gain)
        gains.append(gain)
    places, end = np.empty(n_levels - 1, dtype=np.int64), n
    for level in range(n_levels - 1, 0, -1):
        end = int(np.argmin(gains[level - 1][: end + 1]))
        places[level - 1] = end
    return places


def _sums(costs: Vector) -> Vector:
    """Return the sums of the first 0, 1, ..., n costs."""
    sums = np.zeros(len(costs) + 1)
    np.cumsum(costs, out=sums[1:])
    return sums
