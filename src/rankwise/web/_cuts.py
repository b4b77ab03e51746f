r"""Thresholds on a line of scores that fit a person's own grades best.

With the scores sorted, the grades that thresholds give to them rise. Among all rising grades those
of the least total distance from the given ones are found by a table over grades and scores:

.. math::

    f_l(i) = \min_{j \le i} f_{l-1}(j) + \sum_{j < t \le i} |y_t - g_l| .

Cost: O(n) numbers for each of the grades.
"""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# How much of a gap between two scores is left beside a threshold that would lie outside of it.
_BESIDE = 0.1
# Of equally good thresholds those are taken that move the fewest scores from their usual grade.
_USUAL = 1e-6


def fit_cuts(
    scores: Vector, ratings: Vector, levels: Vector, usual: Vector | None = None
) -> Vector:
    """Return rising thresholds whose grades are nearest to the ratings, in total distance.

    A score has grade ``levels[np.searchsorted(cuts, score, side="right")]``.

    Parameters
    ----------
    scores, ratings : ndarray of shape (n,)
        What the rated items have.
    levels : ndarray of shape (m,)
        The grades, ascending.
    usual : ndarray of shape (m - 1,), default=None
        Where the thresholds lie if nothing speaks against it. None: in the middle between scores.

    Returns
    -------
    ndarray of shape (m - 1,)
    """
    order = np.argsort(scores, kind="stable")
    s, y = scores[order], ratings[order]
    n, m = len(s), len(levels)
    if m < 2 or not n:
        return np.zeros(m - 1) if usual is None else usual.copy()
    costs = np.abs(y - levels[:, None])
    if usual is not None:
        costs = costs + _USUAL * np.abs(
            np.searchsorted(usual, s, side="right") - np.arange(m)[:, None]
        )
    total = np.zeros((m, n + 1))
    np.cumsum(costs, axis=1, out=total[:, 1:])
    # equal scores have one grade
    allowed = np.concatenate([[True], s[1:] > s[:-1], [True]])
    best = np.empty((m, n + 1))
    best[0] = total[0]
    for level in range(1, m):
        before = np.where(allowed, best[level - 1] - total[level], np.inf)
        best[level] = total[level] + np.minimum.accumulate(before)
    cuts, end = np.empty(m - 1), n
    for level in range(m - 1, 0, -1):
        before = np.where(allowed, best[level - 1] - total[level], np.inf)[: end + 1]
        end = int(np.argmin(before))
        cuts[level - 1] = _between(s, end, None if usual is None else float(usual[level - 1]))
    return np.maximum.accumulate(cuts)


def _between(s: Vector, at: int, usual: float | None) -> float:
    """Return a threshold with ``at`` of the sorted scores below it."""
    n = len(s)
    low = -np.inf if at == 0 else float(s[at - 1])
    high = np.inf if at == n else float(s[at])
    if usual is not None and low < usual <= high:
        return usual
    if at in {0, n}:
        beside = max(float(s[-1] - s[0]) / n, 0.5)
        return float(s[0]) - beside if at == 0 else float(s[-1]) + beside
    if usual is None:
        return (low + high) / 2.0
    found = low + _BESIDE * (high - low) if usual <= low else high - _BESIDE * (high - low)
    return found if found > low else high
