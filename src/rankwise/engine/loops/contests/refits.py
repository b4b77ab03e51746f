"""A fit to a sample of the counts, from the fit to all of them.

Exponentials are taken item by item, not cell by cell: of a pair only a ratio is needed, so that a
pass is a few operations a cell. If strengths are so far apart that a ratio overflows, `refit` says
that it failed.
"""

from typing import Any

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.contests.likelihood import DAVIDSON, PLAIN, RAO_KUPPER
from rankwise.engine.loops.shapes import EACH, check_shape

_MAX_PASSES = 60
# The squared standard errors that a sample's fit may be off by: they differ by whole ones.
_ENOUGH = 1e-7


def refit(cells: Any, n: int, kind: int, precision: float, inverse: Any, params: Any) -> bool:
    """Climb from ``params``, which are changed, by steps of one inverse; return whether it settled.

    A step of Newton's method with the inverse information of all contests in place of the sample's
    leaves a share of the distance that is small if the sample is large, so that four or five passes
    do; each costs the cells and O(p^2). It ends when what the shares of the last two steps leave is
    less than a thousandth of a standard error, or fails if steps hardly shrink.

    Parameters
    ----------
    cells : Cells
        With the counts of the sample; z has no column, or one of ones; scales are not read. For
        `PLAIN` a tie is half a win of each.
    n : int
        Strengths among the parameters.
    kind : int
        The model of ties.
    precision : float
        One over the variance of the prior of a strength.
    inverse : float64 array of shape (p, p)
        Symmetric, of the information of all contests.
    params : float64 array of shape (p,)
        The fit to all contests.
    """
    c, p = len(cells.left), len(params)
    check_shape("right", cells.right, c, kind=np.int64, advice=EACH)
    check_shape("counts", cells.counts, c, 4, advice=EACH)
    check_shape("inverse", inverse, p, p, advice=EACH)
    return bool(_refit(cells, n, kind, precision, inverse, params))


@compiled
def _refit(cells, n, kind, precision, inverse, params):
    p = params.shape[0]
    odds, gradient, step = np.empty(n), np.empty(p), np.empty(p)
    before = np.inf
    for _ in range(_MAX_PASSES):
        _slopes(cells, n, kind, params, odds, gradient)
        for i in range(n):
            gradient[i] -= precision * params[i]
        for j in range(p):
            step[j] = 0.0
        for i in range(p):
            slope = gradient[i]
            for j in range(p):
                step[j] += slope * inverse[i, j]
        decrement = 0.0
        for j in range(p):
            decrement += step[j] * gradient[j]
            params[j] += step[j]
        # also if it is not a number
        if not (0.0 <= decrement < np.inf) or decrement > 0.6 * before:
            return False
        if kind == RAO_KUPPER and params[p - 1] <= 0.0:
            return False
        # what steps that go on shrinking so leave of the last one; of the first nobody knows
        share = np.sqrt(decrement / before) if before < np.inf else 0.5
        left = share / (1.0 - share)
        if decrement * left * left < _ENOUGH:
            return True
        before = decrement
    return False


@compiled
def _slopes(cells, n, kind, params, odds, gradient):
    """Fill in the slopes of the log likelihood; ``odds`` is room for a number an item."""
    left, right, counts = cells.left, cells.right, cells.counts
    p = params.shape[0]
    ordered = cells.z.shape[1] == 1
    # of Davidson's model square roots are wanted
    power = 0.5 if kind == DAVIDSON else 1.0
    ahead = np.exp(power * params[n]) if ordered else 1.0
    tie = np.exp(params[p - 1]) if kind != PLAIN else 0.0
    between = -2.0 / np.expm1(-2.0 * params[p - 1]) if kind == RAO_KUPPER else 0.0
    for i in range(n):
        odds[i] = np.exp(power * params[i])
    for j in range(p):
        gradient[j] = 0.0
    every, tied = 0.0, 0.0
    # cells of one left item follow each other: their sum is kept
    last, held, up = -1, 0.0, 0.0
    for c in range(left.shape[0]):
        i, j = left[c], right[c]
        if i != last:
            if last >= 0:
                gradient[last] += held
            every += held
            last, held, up = i, 0.0, ahead * odds[i]
        down = odds[j]
        wins, losses, ties = counts[c, 0], counts[c, 1], counts[c, 2]
        if kind == PLAIN:
            slope = wins + 0.5 * ties - (wins + losses + ties) * (up / (up + down))
        elif kind == DAVIDSON:
            a, b, middle = up * up, down * down, tie * up * down
            share = (wins + losses + ties) / (a + b + middle)
            slope = 0.5 * (wins - losses - share * (a - b))
            tied += ties - share * middle
        else:
            upper = (wins + ties) * tie * down / (up + tie * down)
            lower = (losses + ties) * tie * up / (down + tie * up)
            slope = upper - lower
            tied += ties * between - upper - lower
        held += slope
        gradient[j] -= slope
    gradient[last] += held
    every += held
    if ordered:
        gradient[n] = every
    if kind != PLAIN:
        gradient[p - 1] = tied
