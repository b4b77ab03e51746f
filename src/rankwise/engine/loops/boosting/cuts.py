"""The best cut of a feature: what cuts are judged by, and a search for any number of groups.

For few groups see `histograms`, for given pairs `given_pairs`.
"""

from typing import NamedTuple

import numpy as np

from rankwise.engine.loops.boosting.bins import fill_column
from rankwise.engine.loops.boosting.weights import SPAN
from rankwise.engine.loops.compiled import compiled

# A choice must be better than one before it by more than the noise of sums.
TIE = 1e-12


class Objective(NamedTuple):
    """What is to be made small.

    - ``magnitude``: whether a pair weighs the difference of its targets;
    - ``edge``: whether a cut is judged by its edge, minus the size of plus - minus, or by Z;
    - ``limit``: a step is at most half the logarithm of it in size.
    """

    magnitude: bool
    edge: bool
    limit: float


@compiled(error_model="numpy")
def judge(plus, minus, n_bins, objective, out):
    """Fill ``out`` with what each of the n_bins cuts is judged by: less is better.

    ``plus``, ``minus`` and ``out`` have n_bins entries or more. Z is for the best step.
    """
    limit = objective.limit
    most, least = np.sqrt(limit), 1.0 / np.sqrt(limit)
    if objective.edge:
        for p in range(n_bins):
            out[p] = -abs(plus[p] - minus[p])
    else:
        for p in range(n_bins):
            right, wrong = max(plus[p], 0.0), max(minus[p], 0.0)
            low, high = min(right, wrong), max(right, wrong)
            capped, free = high * least + low * most, 2.0 * np.sqrt(right * wrong)
            out[p] = 1.0 - right - wrong + (capped if high > limit * low else free)


@compiled(error_model="numpy")
def choose(values, n_bins, side, best):
    """Let ``best`` be (value, position of the cut, side of the missing) if one here is better."""
    for p in range(n_bins):
        if values[p] < best[0] - TIE:
            best[0], best[1], best[2] = values[p], p, side


@compiled(error_model="numpy")
def fill_scales(state, total, scales):
    """Fill the scales by which trees over the bins are filled and read, walking up and down.

    A tree holds factors in units of e^c, and c changes only when a factor exceeds it by SPAN:
    ``scales[way, g]`` (2, n, 3) is (what the tree is multiplied by before group g goes in, factor
    of what goes in, factor of what is read before). ``total`` is the logarithm of the total weight.
    """
    logs, n = state.logs, state.y.shape[0]
    for way in range(2):
        c = 0.0
        for step in range(n):
            g = step if way == 0 else n - 1 - step
            mine = logs[g, way]
            if state.is_lowest[g] if way == 0 else state.is_highest[g]:
                c = mine
            scales[way, g, 2] = np.exp(logs[g, 1 - way] + c - total)
            scales[way, g, 0] = 1.0
            if mine > c + SPAN:
                scales[way, g, 0] = np.exp(c - mine)
                c = mine
            scales[way, g, 1] = np.exp(mine - c)


@compiled(error_model="numpy")
def search_dominance(bins, first, last, state, scales, objective, out):
    """Fill ``out`` (last - first, 3) with the best cut of the features first to last.

    It serves any number of groups. A walk up the targets keeps a tree of the worse rows over the
    bins, one down a tree of the better ones; each row then says where the pairs that it is in begin
    or cease to be split.
    """
    stride = bins.n_bins.max() + 2
    column = np.empty(state.s.shape[0], dtype=np.int64)
    tree, changes, values = np.zeros((2, stride + 1)), np.empty((2, stride)), np.empty(stride)
    for f in range(first, last):
        out[f - first, 0] = np.inf
        n_bins = bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            begin_feature(bins, f, side, column, changes)
            _walk(column, state, 0, scales[0], objective.magnitude, tree, changes)
            _walk(column, state, 1, scales[1], objective.magnitude, tree, changes)
            end_feature(changes, n_bins, side, objective, values, out[f - first])


@compiled(error_model="numpy")
def begin_feature(bins, f, side, column, changes):
    """Fill ``column`` (m,) with the bins of a feature from 1 on, and ``changes`` with zeros.

    Missing values are before the first bin, or after the last if ``side`` is 1.
    """
    fill_column(bins, f, column)
    n_bins = bins.n_bins[f]
    for i in range(column.shape[0]):
        column[i] = column[i] + 1 if column[i] < n_bins else (n_bins + 1) * side
    for way in range(2):
        for p in range(changes.shape[1]):
            changes[way, p] = 0.0


@compiled(error_model="numpy")
def end_feature(changes, n_bins, side, objective, values, best):
    """Sum up what begins or ceases to be split at each bin, and let ``best`` be the best cut.

    ``changes`` (2, n_bins or more) are those of plus and minus; ``values`` is room to work in.
    """
    for p in range(1, n_bins):
        changes[0, p] += changes[0, p - 1]
        changes[1, p] += changes[1, p - 1]
    judge(changes[0], changes[1], n_bins, objective, values)
    choose(values, n_bins, side, best)


@compiled(error_model="numpy")
def _walk(column, state, way, scales, magnitude, tree, changes):
    """Add to ``changes`` where pairs begin (the way down) or cease (the way up) to be split.

    ``tree`` (2, stride + 1) has sums of factors over the bins as a Fenwick tree, and the same times
    the targets.
    """
    y, starts, sums, n, size = state.y, state.starts, state.sums, state.y.shape[0], tree.shape[1]
    resets = state.is_lowest if way == 0 else state.is_highest
    kept, asked = (state.A, state.B) if way == 0 else (state.B, state.A)
    whole = moment = 0.0
    begun = 0 if way == 0 else starts[n]
    for p in range(size):
        tree[0, p] = tree[1, p] = 0.0
    for step in range(n):
        g = step if way == 0 else n - 1 - step
        rescale, into, out = scales[g, 0], scales[g, 1], scales[g, 2]
        if resets[g]:
            now = starts[g] if way == 0 else starts[g + 1]
            for i in range(min(begun, now), max(begun, now)):
                p = column[i] + 1
                while p < size and (tree[0, p] != 0.0 or tree[1, p] != 0.0):
                    tree[0, p] = tree[1, p] = 0.0
                    p += p & -p
            whole = moment = 0.0
            begun = now
        else:
            for i in range(starts[g], starts[g + 1]):
                bin_ = column[i]
                below, upto = _prefix(tree, bin_), _prefix(tree, bin_ + 1)
                if magnitude:
                    lower = y[g] * below[0] - below[1]
                    higher = y[g] * (whole - upto[0]) - (moment - upto[1])
                else:
                    lower, higher = below[0], whole - upto[0]
                value = asked[i] / sums[g, 1 - way] * out
                if way == 0:
                    changes[0, bin_] -= value * lower
                    changes[1, bin_] += value * higher
                else:
                    sign = -1.0 if magnitude else 1.0
                    changes[0, bin_] += value * higher * sign
                    changes[1, bin_] -= value * lower * sign
        if rescale != 1.0:
            for p in range(size):
                tree[0, p] *= rescale
                tree[1, p] *= rescale
            whole *= rescale
            moment *= rescale
        for i in range(starts[g], starts[g + 1]):
            value = kept[i] / sums[g, way] * into
            whole += value
            moment += value * y[g]
            p = column[i] + 1
            while p < size:
                tree[0, p] += value
                tree[1, p] += value * y[g]
                p += p & -p


@compiled(error_model="numpy")
def _prefix(tree, p):
    """Return the sums over the bins below p."""
    value = moment = 0.0
    while p > 0:
        value += tree[0, p]
        moment += tree[1, p]
        p &= p - 1
    return value, moment
