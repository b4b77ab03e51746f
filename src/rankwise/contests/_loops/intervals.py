"""Fit samples of the counts for the bootstrap, and find the largest gap of draws of strengths.

Exponentials are taken item by item, not cell by cell: of a pair only a ratio is needed, so that a
pass is a few operations a cell. If strengths are so far apart that a ratio overflows, `refit`
returns False.
"""

import numpy as np

from rankwise._core.compilation import compiled
from rankwise.contests._loops.likelihood import DAVIDSON, PLAIN, RAO_KUPPER

_MAX_PASSES = 60
# The squared standard errors that a sample's fit may be off by: they differ by whole ones.
_ENOUGH = 1e-7


@compiled(error_model="numpy")
def refit(cells, n, kind, precision, inverse, params):
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
    p = params.shape[0]
    fixed, gradient, step = np.zeros(p), np.empty(p), np.empty(p)
    totals, odds = np.empty(cells.left.shape[0]), np.empty(n)
    _add_up(cells, n, kind, totals, fixed)
    before = np.inf
    for _ in range(_MAX_PASSES):
        if kind == RAO_KUPPER:
            _gradient_rao_kupper(cells, n, params, odds, gradient)
        else:
            _gradient(cells, totals, fixed, n, kind, params, odds, gradient)
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


@compiled(error_model="numpy")
def _add_up(cells, n, kind, totals, fixed):
    """Fill in the contests of each cell, and add to ``fixed`` what slopes have of the outcomes."""
    counts, p = cells.counts, fixed.shape[0]
    for c in range(counts.shape[0]):
        got = counts[c, 0] + 0.5 * counts[c, 2]
        totals[c] = counts[c, 0] + counts[c, 1] + counts[c, 2]
        fixed[cells.left[c]] += got
        fixed[cells.right[c]] -= got
        if cells.z.shape[1] == 1:
            fixed[n] += got
        if kind != PLAIN:
            fixed[p - 1] += counts[c, 2]


@compiled(error_model="numpy")
def _gradient(cells, totals, fixed, n, kind, params, odds, gradient):
    """Fill in the slopes: what left ones got less what they were to get, a tie being half."""
    left, right = cells.left, cells.right
    p, ordered = params.shape[0], cells.z.shape[1] == 1
    # of Davidson's model square roots are wanted
    power = 0.5 if kind == DAVIDSON else 1.0
    ahead = np.exp(power * params[n]) if ordered else 1.0
    tie = np.exp(params[p - 1]) if kind == DAVIDSON else 0.0
    for i in range(n):
        odds[i] = np.exp(power * params[i])
    for j in range(p):
        gradient[j] = fixed[j]
    tied, last, held, up = 0.0, 0, 0.0, ahead * odds[0]
    for c in range(left.shape[0]):
        if left[c] != last:
            # cells of one left item follow each other: their sum is kept
            gradient[last] -= held
            if ordered:
                gradient[n] -= held
            last, held, up = left[c], 0.0, ahead * odds[left[c]]
        down = odds[right[c]]
        if kind == DAVIDSON:
            middle = tie * up * down
            share = totals[c] / (up * up + down * down + middle)
            hoped = share * (up * up + 0.5 * middle)
            tied += share * middle
        else:
            hoped = totals[c] * up / (up + down)
        held += hoped
        gradient[right[c]] += hoped
    gradient[last] -= held
    if ordered:
        gradient[n] -= held
    if kind == DAVIDSON:
        gradient[p - 1] -= tied


@compiled(error_model="numpy")
def _gradient_rao_kupper(cells, n, params, odds, gradient):
    """Fill in the slopes of a model that is no exponential family."""
    counts, p, ordered = cells.counts, params.shape[0], cells.z.shape[1] == 1
    ahead = np.exp(params[n]) if ordered else 1.0
    tie, between = np.exp(params[p - 1]), -2.0 / np.expm1(-2.0 * params[p - 1])
    for i in range(n):
        odds[i] = np.exp(params[i])
    for j in range(p):
        gradient[j] = 0.0
    for c in range(counts.shape[0]):
        i, j, ties = cells.left[c], cells.right[c], counts[c, 2]
        up, down = ahead * odds[i], odds[j]
        upper = (counts[c, 0] + ties) * tie * down / (up + tie * down)
        lower = (counts[c, 1] + ties) * tie * up / (down + tie * up)
        gradient[i] += upper - lower
        gradient[j] -= upper - lower
        if ordered:
            gradient[n] += upper - lower
        gradient[p - 1] += ties * between - upper - lower


@compiled
def largest_gaps(draws, orders, per_error):
    """Return for each draw the largest difference of two items in units of its standard error.

    A draw is sorted, and pairs are tried from the ends inwards as long as one that is as far apart
    could still be the largest: a few n pairs a draw instead of n^2 / 2.

    Parameters
    ----------
    draws : float64 array of shape (b, n)
        Errors of the strengths.
    orders : int64 array of shape (b, n)
        The argsort of each draw: a compiled sort takes longer to compile than all the rest.
    per_error : float64 array of shape (n, n)
        One over the standard error of each difference, symmetric; the diagonal is not read.
    """
    b, n = draws.shape
    most = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if i != j:
                most[i] = max(most[i], per_error[i, j])
    out = np.zeros(b)
    for row in range(b):
        draw, order = draws[row], orders[row]
        best = 0.0
        for a in range(n - 1, 0, -1):
            i = order[a]
            if (draw[i] - draw[order[0]]) * most[i] <= best:
                continue
            for o in range(a):
                j = order[o]
                gap = draw[i] - draw[j]
                if gap * most[i] <= best:
                    break
                best = max(best, gap * per_error[i, j])
        out[row] = best
    return out
