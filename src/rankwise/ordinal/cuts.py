r"""Thresholds that cut scores into grades with the smallest sum of costs.

With the scores sorted, the levels that cuts give to them rise. With :math:`c_l(t)` the cost of
level l for the score at place t, the least costs of the first i scores in levels up to l are

.. math::

    f_l(i) = \min_{j \le i} f_{l-1}(j) + \sum_{j < t \le i} c_l(t) ,

where j may not part equal scores. Cost: O(n) time and numbers for each level.

Costs may be those of the rows, or what is to be expected for such scores, by
`cumulative_regressions`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Vector = NDArray[np.float64]

# The penalty of a slope, beside the mean loss of rows: small, but none is infinite.
_PENALTY = 1e-3
_STEPS, _HALVINGS = 50, 30


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


def cumulative_regressions(
    scores: Vector, levels: NDArray[np.int64], weight: Vector, n_levels: int
) -> tuple[Vector, Vector]:
    r"""Return slopes and intercepts of logistic regressions of y > l on a score, for each level l.

    With z the standardised score, :math:`P(y > l) = 1 / (1 + e^{-\alpha_l z - \beta_l})` minimises
    the weighted mean of the logarithmic loss and :math:`0.0005\, \alpha_l^2`, by Newton's method. A
    level that all rows or none are above is certain: its intercept is 1000 or -1000.

    Parameters
    ----------
    scores, levels, weight : ndarrays of shape (n,)
        Scores, levels from 0 and weights, not all zero, of rows.
    n_levels : int
        The number of levels.

    Returns
    -------
    slopes, intercepts : ndarrays of shape (n_levels - 1,)
        On the scale of the scores.
    """
    a = weight / weight.sum()
    largest = np.abs(scores).max() or 1.0
    z = scores / largest
    mean = a @ z
    z = z - mean
    sd = np.sqrt(a @ (z * z)) or 1.0
    z /= sd
    above = (levels[:, None] > np.arange(n_levels - 1)).astype(np.float64)
    share = a @ above
    open_ = (share > 0) & (share < 1)
    T, slope = above[:, open_], np.zeros(int(open_.sum()))
    level = np.log(share[open_] / (1.0 - share[open_]))

    def loss(slope: Vector, level: Vector) -> Vector:
        eta = z[:, None] * slope + level
        return a @ (np.logaddexp(0.0, eta) - T * eta) + 0.5 * _PENALTY * slope**2

    value = loss(slope, level)
    for _ in range(_STEPS):
        P = expit(z[:, None] * slope + level)
        rest, bend = a[:, None] * (P - T), a[:, None] * P * (1.0 - P)
        gradient = np.stack([z @ rest + _PENALTY * slope, rest.sum(axis=0)])
        ss, sl, ll = (z * z) @ bend + _PENALTY, z @ bend, bend.sum(axis=0)
        size = np.maximum(ss * ll - sl * sl, np.finfo(np.float64).tiny)
        step = np.stack([ll * gradient[0] - sl * gradient[1], ss * gradient[1] - sl * gradient[0]])
        step /= size
        if not (np.abs(step).max(initial=0.0) > 1e-7):
            break
        for _ in range(_HALVINGS):
            new = loss(slope - step[0], level - step[1])
            worse = ~(new <= value)
            if not worse.any():
                break
            step[:, worse] *= 0.5
        step[:, worse] = 0.0
        slope, level = slope - step[0], level - step[1]
        value = loss(slope, level)
    slopes, intercepts = np.zeros(n_levels - 1), np.where(share > 0, 1e3, -1e3)
    most = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        slopes[open_] = np.clip(slope / sd / largest, -most, most)
    intercepts[open_] = level - slope * (mean / sd)
    return slopes, intercepts


def chances(scores: Vector, slopes: Vector, intercepts: Vector) -> Vector:
    """Return how likely a level above each but the last is, given a score: (n, n_levels - 1)."""
    return expit(scores[:, None] * slopes + intercepts)


def _sums(costs: Vector) -> Vector:
    """Return the sums of the first 0, 1, ..., n costs."""
    sums = np.zeros(len(costs) + 1)
    np.cumsum(costs, out=sums[1:])
    return sums
