"""Trees on gradients: what a row adds to a histogram, the best split of a node, its rows.

A histogram cell is two whole numbers: the sum of the gradients, and that of the Hessians with the
number of rows in its lowest bits. So all sums are exact, the larger child of a node is the node
less the smaller child, and a choice depends neither on threads nor on the order of the rows.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled
from rankwise.boosting._loops.bins import WIDTH, Part, add_part, fill_above

# Sums of sizes of gradients are below 2^61; of Hessians below 2^34, above 28 bits for the rows.
WIDE, CURVED, LOW_BITS = 2.0**61, 2.0**34, 28
# A split must be better than one before it by more than the noise of rounded sums, of its score.
TIE = 1e-9


class Rule(NamedTuple):
    """What a split is judged by.

    - ``g_unit``, ``h_unit``: what gradients and Hessians are multiplied by before rounding;
    - ``l2``: added to the Hessian of a leaf;
    - ``min_rows``: the least number of rows of a leaf.
    """

    g_unit: float
    h_unit: float
    l2: float
    min_rows: int


class Node(NamedTuple):
    """A node of a tree: its rows and what they sum up to.

    - ``rows`` (n,), ``values`` (n, 2): as in `Part`; values are not used for the larger child;
    - ``total`` (2,): their sum;
    - ``hist`` (n_blocks, WIDTH, stride, 2).
    """

    rows: np.ndarray
    values: np.ndarray
    total: np.ndarray
    hist: np.ndarray


@compiled(error_model="numpy")
def fill_values(g, h, counts, rule, out):
    """Fill ``out`` (m, 2) with what each row adds to a histogram."""
    for i in range(out.shape[0]):
        out[i, 0] = np.int64(np.floor(rule.g_unit * g[i] + 0.5))
        curved = np.int64(rule.h_unit * h[i] + 0.5)
        out[i, 1] = (curved << LOW_BITS) + counts[i]


@compiled(error_model="numpy")
def search_children(bins, first, last, small, large, rule, out):
    """Fill the best split of two children for each feature of blocks first to last.

    Parameters
    ----------
    bins : Dense or Sparse
    first, last : int
        Blocks of WIDTH features.
    small : Node
        Its histogram is filled from its rows.
    large : Node
        Its histogram is that of the parent, of which the small one is taken. The first node of a
        tree has no sibling: then ``large.rows`` is empty, and nothing is done about it.
    rule : Rule
    out : ndarray of shape (2, d, 3)
        Filled with (gain, cut, side of the missing) for both.
    """
    room = np.empty((3, small.hist.shape[2] + 1))
    for b in range(first, last):
        begin, end = WIDTH * b, min(WIDTH * b + WIDTH, bins.n_bins.shape[0])
        mine, other = small.hist[b], large.hist[b]
        for k in range(WIDTH):
            for p in range(mine.shape[1]):
                mine[k, p, 0] = mine[k, p, 1] = 0
        add_part(bins, begin, end, Part(small.rows, small.values, 0, small.total), mine)
        for f in range(begin, end):
            n_bins, missing = bins.n_bins[f], bins.missing[f]
            search_node(mine[f - begin], n_bins, missing, small.total, rule, room, out[0, f])
        if large.rows.shape[0] == 0:
            continue
        for f in range(begin, end):
            cells, less, n_bins = other[f - begin], mine[f - begin], bins.n_bins[f]
            for p in range(n_bins + 1):
                cells[p, 0] -= less[p, 0]
                cells[p, 1] -= less[p, 1]
            search_node(cells, n_bins, bins.missing[f], large.total, rule, room, out[1, f])


@compiled(inner=True, error_model="numpy")
def search_node(hist, n_bins, missing, total, rule, room, best):
    """Let ``best`` be (gain, cut, side of the missing) of a feature, from ``hist`` (stride, 2).

    Cut p has the bins below p on the low side; missing values are there too if the side is 0.
    ``room`` (3, stride) is room for the cuts that are allowed, and the sums below them.
    """
    low_bits, least = np.int64((1 << LOW_BITS) - 1), rule.min_rows
    g_one, h_one, l2 = 1.0 / rule.g_unit, 1.0 / rule.h_unit, rule.l2 + 1e-300
    g_all, h_all, n_all = total[0] * g_one, (total[1] >> LOW_BITS) * h_one, total[1] & low_bits
    cuts, slopes, curves = room[0], room[1], room[2]
    before = g_all * g_all / (h_all + l2)
    best[0], best[1], best[2] = 0.0, 0.0, 0.0
    for side in range(1 + missing):
        g, hn = (np.int64(0), np.int64(0)) if side else (hist[n_bins, 0], hist[n_bins, 1])
        n = 0
        for p in range(n_bins):
            if p > 0:
                g += hist[p - 1, 0]
                hn += hist[p - 1, 1]
            cuts[n], slopes[n], curves[n] = p, g * g_one, (hn >> LOW_BITS) * h_one
            rows = hn & low_bits
            # a cut after an empty bin is the cut before it
            n += (rows >= least) & (n_all - rows >= least) & (p == 0 or hist[p - 1, 1] != 0)
        for k in range(n):
            g_low, h_low = slopes[k], curves[k] + l2
            g_high, h_high = g_all - g_low, h_all - curves[k] + l2
            slopes[k] = (g_low * g_low * h_high + g_high * g_high * h_low) / (h_low * h_high)
        for k in range(n):
            if slopes[k] - before > best[0] + TIE * slopes[k]:
                best[0], best[1], best[2] = slopes[k] - before, cuts[k], side


@compiled(error_model="numpy")
def split_node(bins, f, cut, missing_above, rows, values, h, room):
    """Part the ``rows`` (n,) of a node, those below first, each side in order; return how many.

    ``values`` (m, 2) are those of all rows; the returned sums of those below are as in `Node`.
    ``h`` (m,) and ``room`` (m,) are room to work in.
    """
    n, below, above = rows.shape[0], 0, 0
    fill_above(bins, f, cut, missing_above, rows, h)
    g, hn = np.int64(0), np.int64(0)
    for t in range(n):
        i = rows[t]
        if h[t]:
            room[above] = i
            above += 1
        else:
            rows[below] = i
            below += 1
            g += values[i, 0]
            hn += values[i, 1]
    for t in range(above):
        rows[below + t] = room[t]
    return below, g, hn


@compiled(error_model="numpy")
def gather(rows, values, dense, out):
    """Fill ``out`` with the values (m, 2) of the rows: side by side if dense, else in their places.

    In the latter case the others are 0.
    """
    if not dense:
        for i in range(out.shape[0]):
            out[i, 0] = out[i, 1] = 0
    for t in range(rows.shape[0]):
        i = rows[t]
        at = t if dense else i
        out[at, 0], out[at, 1] = values[i, 0], values[i, 1]


@compiled(error_model="numpy")
def fill_leaves(rows, bounds, g, h, l2, rate, s, values):
    """Fill the ``values`` (n,) of the leaves, and add them to the scores ``s`` (m,).

    Leaf k has the rows ``rows[bounds[k, 0] : bounds[k, 1]]``.
    """
    for k in range(values.shape[0]):
        slope = curve = 0.0
        for t in range(bounds[k, 0], bounds[k, 1]):
            slope += g[rows[t]]
            curve += h[rows[t]]
        values[k] = -rate * slope / max(curve + l2, 1e-300)
        for t in range(bounds[k, 0], bounds[k, 1]):
            s[rows[t]] += values[k]


@compiled(error_model="numpy")
def add_trees(X, features, cuts, missing_above, children, values, trees, out):
    """Add some trees to the scores ``out`` (m,) of the rows X (m, d).

    ``trees`` (n, 2) has the first node and the first leaf of each; the other arrays are those of
    all trees in turn, as in `rankwise.boosting.pair_weights.Tree`, but cuts are values.
    """
    for t in range(trees.shape[0]):
        node, leaf = trees[t, 0], trees[t, 1]
        for i in range(X.shape[0]):
            at = 0
            while at >= 0:
                x = X[i, features[node + at]]
                above = missing_above[node + at] if np.isnan(x) else x > cuts[node + at]
                at = children[node + at, 1 if above else 0]
            out[i] += values[leaf + ~at]
