"""Thresholds on a line of scores that fit a person's own grades best; see `ordinal.cuts`."""

import numpy as np

from rankwise.ordinal.cuts import Vector, best_places

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
    middle = None if usual is None else np.searchsorted(usual, s, side="right")

    def cost(level: int) -> Vector:
        distance = np.abs(y - levels[level])
        return distance if middle is None else distance + _USUAL * np.abs(middle - level)

    places = best_places(s, cost, m)
    hints = [None] * (m - 1) if usual is None else usual.tolist()
    cuts = [_between(s, at, hint) for at, hint in zip(places.tolist(), hints, strict=True)]
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
