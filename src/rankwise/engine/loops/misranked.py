"""A sum over all pairs of rows with y_i < y_j and t_i > t_j. Twin: the definition.

Such a pair costs t_i - t_j, or that and y_j - y_i; neither is negative. The rows of a query are
sorted by t. A tree cuts the targets into parts, never inside a tie, these into parts and so on, and
deals the rows of a node to its parts, still sorted; each pair falls into two parts of exactly one
node, or into one leaf. A node meets its rows in falling order of t, and for each part, in a lane of
its own, the sums over those met of lower parts follow: when t falls by a gap, each of the costs
grows by it. Nothing is ever subtracted, so nothing cancels. A leaf compares each row with each.

A depth takes linear time, so all take O(m log k) for k different targets, in O(m) memory.
"""

import numpy as np
from numba import njit

PARTS = 8
LEAF = 64
BLOCK = 2048
COUNT, COST, SQUARE = PARTS, 2 * PARTS, 3 * PARTS


@njit(cache=True, nogil=True)
def sort_ties(t, y, a, starts):
    """Sort the rows of equal t by y; rows are sorted by (query, t), ``a`` may be empty."""
    for q in range(starts.shape[0] - 1):
        begin = starts[q]
        for end in range(starts[q] + 1, starts[q + 1] + 1):
            if end == starts[q + 1] or t[end] != t[begin]:
                if end - begin > 1:
                    order = np.argsort(y[begin:end])
                    y[begin:end] = y[begin:end][order]
                    if a.shape[0] > 0:
                        a[begin:end] = a[begin:end][order]
                begin = end


@njit(cache=True, nogil=True)
def misranked_sum(t, y, a, room, targets, starts, both, power):
    """Return the sum of cost^power, for power 0, 1 or 2.

    Parameters
    ----------
    t, y, a : ndarrays of shape (m,)
        Scores, targets and weights (empty: all 1) of rows sorted by (query, t, y). Overwritten.
    room : ndarray of shape (2, m), or (3, m) with weights
        Where to deal them. Overwritten.
    targets : ndarray of shape (m,)
        The targets sorted by (query, y).
    both : bool
        Whether the difference of the targets is part of the cost.
    """
    t2, y2, a2 = room[0], room[1], room[2] if a.shape[0] > 0 else a
    part, cuts = np.empty(BLOCK, dtype=np.uint8), np.empty(PARTS + 1, dtype=np.int64)
    lanes = np.empty(4 * PARTS)
    todo = np.empty((16 * PARTS * PARTS, 3), dtype=np.int64)
    total = 0.0
    for q in range(starts.shape[0] - 1):
        todo[0] = starts[q], starts[q + 1], 0
        n_todo = 1
        while n_todo > 0:
            n_todo -= 1
            start, stop, depth = todo[n_todo]
            if stop - start < 2 or targets[start] == targets[stop - 1]:
                continue
            if depth % 2 == 0:
                nt, ny, na, dt, dy, da = t, y, a, t2, y2, a2
            else:
                nt, ny, na, dt, dy, da = t2, y2, a2, t, y, a
            if stop - start <= LEAF:
                total += _leaf(nt[start:stop], ny[start:stop], na[start:stop], both, power)
                continue
            n_parts = _cut(targets, start, stop, cuts)
            lanes[:PARTS] = np.inf
            lanes[PARTS:] = 0.0
            for g in range(n_parts):
                lanes[g] = targets[cuts[g]]
                todo[n_todo] = cuts[g], cuts[g + 1], depth + 1
                n_todo += 1
            before = nt[stop - 1]
            for end in range(stop, start, -BLOCK):
                begin = max(start, end - BLOCK)
                bt, by, ba = nt[begin:end], ny[begin:end], na[begin:end]
                _find_parts(by, lanes, part)
                total += _meet(bt, by, ba, before, part, both, power, lanes, cuts.shape[0] - 1)
                _deal(bt, by, ba, part, cuts[1:], dt, dy, da)
                before = nt[begin]
    return total


@njit(cache=True, nogil=True)
def _cut(targets, start, stop, cuts):
    """Fill ``cuts`` with the bounds of parts of similar size that share no target."""
    cuts[0] = start
    n = 0
    for g in range(1, PARTS):
        cut = start + g * (stop - start) // PARTS
        target = targets[cut]
        if targets[cut - 1] == target:
            cut = start + np.searchsorted(targets[start:stop], target)
            if cut <= cuts[n]:
                cut = start + np.searchsorted(targets[start:stop], target, side="right")
        if cuts[n] < cut < stop:
            n += 1
            cuts[n] = cut
    cuts[n + 1] = stop
    return n + 1


@njit(cache=True, nogil=True)
def _find_parts(y, floor, part):
    """Fill ``part`` with the part that each row is in, ``floor`` being their lowest targets."""
    for i in range(y.shape[0]):
        g = 4 * (y[i] >= floor[4])
        g += 2 * (y[i] >= floor[g + 2])
        part[i] = g + (y[i] >= floor[g + 1])


@njit(cache=True, nogil=True, fastmath={"contract"})
def _meet(t, y, a, before, part, both, power, lanes, n_lanes):
    """Return the sum over pairs of two parts; the lane of a part holds the rows of lower ones."""
    total = 0.0
    for i in range(t.shape[0] - 1, -1, -1):
        gap, target = before - t[i], y[i]
        before = t[i]
        w = a[i] if a.shape[0] > 0 else 1.0
        # a constant number of lanes would be unrolled instead of done several at a time
        for g in range(n_lanes):
            n, d = lanes[COUNT + g], lanes[COST + g]
            moved = d + gap * n
            lanes[COUNT + g] = n + (w if target < lanes[g] else 0.0)
            if both:
                u = max(lanes[g] - target, 0.0)
                lanes[COST + g] = moved + w * u
                lanes[SQUARE + g] += gap * (d + moved) + w * u * u
            else:
                lanes[COST + g] = moved
                lanes[SQUARE + g] += gap * (d + moved)
        g = part[i]
        u = target - lanes[g] if both else 0.0
        n, d, e = lanes[COUNT + g], lanes[COST + g], lanes[SQUARE + g]
        total += w * (e + u * (2 * d + u * n) if power == 2 else d + u * n if power == 1 else n)
    return total


@njit(cache=True, nogil=True)
def _deal(t, y, a, part, place, t2, y2, a2):
    """Deal the rows to their parts, in each still sorted, down from ``place``."""
    for i in range(t.shape[0] - 1, -1, -1):
        g = part[i]
        p = place[g] - 1
        place[g] = p
        t2[p], y2[p] = t[i], y[i]
        if a.shape[0] > 0:
            a2[p] = a[i]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _leaf(t, y, a, both, power):
    """Return the sum over all pairs of a leaf."""
    total = 0.0
    # rows count from 0, or the compiler would allow for negative ones and do one at a time
    for i in range(t.shape[0]):
        found, key, target = 0.0, t[i], y[i]
        for j in range(i):
            cost = key - t[j] + (y[j] - target if both else 0.0)
            cost = cost * cost if power == 2 else cost if power == 1 else 1.0
            w = a[j] if a.shape[0] > 0 else 1.0
            found += w * cost if y[j] > target else 0.0
        total += found * (a[i] if a.shape[0] > 0 else 1.0)
    return total
