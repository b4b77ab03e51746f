"""A sum over all pairs of rows with y_i < y_j and t_i > t_j. Twin: the definition.

Such a pair costs t_i - t_j, or that and y_j - y_i; neither is negative. The rows of a query are
sorted by t. A tree cuts the targets into parts, never inside a tie, these into parts and so on, and
deals the rows of a node to its parts, still sorted; each pair falls into two parts of exactly one
node, or into one leaf. A node meets its rows in falling order of t, and for each part, in a lane of
its own, the sums over those met of lower parts follow: when t falls by a gap, each of the costs
grows by it. Nothing is ever subtracted, so nothing cancels. A leaf compares each row with each.

A depth takes linear time, so all take O(m log k) for k different targets, in O(m) memory. Weights
``a`` are None if all are 1.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.lanes import (
    LANES,
    count_at_most,
    one_lane,
    read_lanes,
    spread,
    sum_lanes,
    where_above,
    write_lanes,
)
from rankwise.engine.loops.shapes import EACH, check_shape
from rankwise.engine.machine.prefetch import ask_for

Floats = NDArray[np.float64]

LEAF = 64
# How many rows before its turn the root asks for a row, which may be anywhere.
AHEAD = 32
# Where the lanes of a node have the lowest target of each part, and the number, the costs and the
# squared costs of the rows met that are lower.
FLOOR, COUNT, COST, SQUARE = range(0, 4 * LANES, LANES)
_PLACES = np.arange(float(LANES))


@compiled
def sort_ties(t, y, rows, starts):
    """Sort the rows of equal t by y; they are sorted by (query, t)."""
    for q in range(starts.shape[0] - 1):
        begin = starts[q]
        for end in range(starts[q] + 1, starts[q + 1] + 1):
            if end == starts[q + 1] or t[end] != t[begin]:
                if end - begin > 1:
                    tied = rows[begin:end]
                    tied[:] = tied[np.argsort(y[tied])]
                begin = end


@compiled
def _cut(targets, lanes, cuts):
    """Cut the sorted targets into parts of similar size that share none; return how many.

    ``cuts`` are their bounds. The lanes are emptied, each with the lowest target of its part.
    """
    m = targets.shape[0]
    lanes[FLOOR:COUNT] = np.inf
    lanes[COUNT:] = 0.0
    lanes[FLOOR], cuts[0] = targets[0], 0
    n = 0
    for g in range(1, LANES):
        cut = g * m // LANES
        target = targets[cut]
        if targets[cut - 1] == target:
            cut = np.searchsorted(targets, target)
            if cut <= cuts[n]:
                cut = np.searchsorted(targets, target, side="right")
        if cuts[n] < cut < m:
            n += 1
            lanes[FLOOR + n], cuts[n] = targets[cut], cut
    cuts[n + 1] = m
    return n + 1


@njit(nogil=True, forceinline=True, fastmath={"contract"})
def _meet(t, y, a, keys, mask, lanes, place, dealt, to, both, power):
    """Return the sum over pairs of two parts, and deal the rows to the parts.

    The lane of a part holds the rows of lower ones; its rows go down from ``place[1 + part]``. The
    rows are in order, or their keys are.
    """
    to_t, to_y = dealt[0][to:], dealt[1][to:]
    if a is not None:
        to_a = dealt[2][to:]
    size = y.shape[0] if keys is None else keys.shape[0]
    floor, n = read_lanes(lanes, FLOOR), read_lanes(lanes, COUNT)
    d, e = read_lanes(lanes, COST), read_lanes(lanes, SQUARE)
    total, before, last = 0.0, 0.0, size - 1 if keys is None else keys[size - 1] & mask
    if t is not None:
        before = t[last]
    for i in range(size - 1, -1, -1):
        row = np.uint64(i)
        if keys is not None:
            row = np.uint64(keys[i] & mask)
            ahead = keys[max(i - AHEAD, 0)] & mask
            ask_for(t, ahead)
            ask_for(y, ahead)
            ask_for(a, ahead)
        key, target = 0.0 if t is None else t[row], y[row]
        w = 1.0 if a is None else a[row]
        gap, before = before - key, key
        moved = d + gap * n
        if power == 2:
            e = e + gap * (d + moved)
        d, n = moved, n + where_above(floor, target, w)
        if both:
            below, above = where_above(floor, target, floor - target), target - floor
            d = d + w * below
            if power == 2:
                e = e + w * below * below
                cost = e + above * (d + d + above * n)
            else:
                cost = d + above * n if power == 1 else n
        else:
            cost = e if power == 2 else d
        g = count_at_most(floor, target)
        total += w * one_lane(cost, g - 1)
        p = place[g] - np.uint64(1)
        place[g] = p
        to_t[p], to_y[p] = key, target
        if a is not None:
            to_a[p] = w
    write_lanes(lanes, COUNT, n)
    write_lanes(lanes, COST, d)
    write_lanes(lanes, SQUARE, e)
    return total


@njit(nogil=True, forceinline=True, fastmath={"contract"})
def _leaf(t, y, a, both, power):
    """Return the sum over all pairs of a leaf."""
    places = read_lanes(_PLACES, 0)
    found, ones = spread(0.0), spread(1.0)
    # eight rows against all that come after; lanes past the end hold what is not used
    for j in range(0, t.shape[0], LANES):
        keys, targets = read_lanes(t, j), read_lanes(y, j)
        for i in range(j + 1, t.shape[0]):
            cost = t[i] - keys
            if both:
                cost = cost + (targets - y[i])
            cost = cost * cost if power == 2 else cost if power == 1 else ones
            if a is not None:
                cost = a[i] * (read_lanes(a, j) * cost)
            found = found + where_above(targets, y[i], where_above(i - j, places, cost))
    return sum_lanes(found)


@njit(nogil=True, forceinline=True)
def _inside(a, dealt, base, targets, room, lanes, cuts, place, todo, both, power):
    """Return the sum over all pairs of a part of the root, whose rows are dealt from ``base`` on.

    They are dealt to the room and back, depth by depth.
    """
    todo[0] = 0, targets.shape[0], 0
    n_todo, total = 1, 0.0
    while n_todo > 0:
        n_todo -= 1
        start, stop, depth = todo[n_todo]
        if stop - start < 2 or targets[start] == targets[stop - 1]:
            continue
        rows, other, begin, to = dealt, room, base + start, start
        if depth % 2:
            rows, other, begin, to = room, dealt, start, base + start
        end = begin + stop - start
        t, y, w = rows[0][begin:end], rows[1][begin:end], _weights(a, rows, begin, end)
        if stop - start <= LEAF:
            total += _leaf(t, y, w, both, power)
            continue
        for g in range(_cut(targets[start:stop], lanes, cuts)):
            todo[n_todo] = start + cuts[g], start + cuts[g + 1], depth + 1
            n_todo += 1
        place[:] = cuts
        total += _meet(t, y, w, None, 0, lanes, place, other, to, both, power)
    return total


def _weights(a, rows, begin, end):  # pragma: no cover
    """Return the weights of some rows, or None as ``a`` is."""
    raise TypeError("_weights runs in compiled code only")


@overload(_weights)
def _choose_weights(a, rows, begin, end):
    if isinstance(a, types.NoneType):
        return lambda a, rows, begin, end: None
    return lambda a, rows, begin, end: rows[2][begin:end]


def _compile(both, power):
    """Return the loop for one kind of cost, which the compiler then sees as constant."""

    @compiled
    def run(t, y, a, keys, row_bits, room, targets, starts):
        dealt, room = room[: room.shape[0] // 2], room[room.shape[0] // 2 :]
        lanes, todo = np.empty(4 * LANES), np.empty((16 * LANES * LANES, 3), dtype=np.int64)
        bounds, cuts = np.empty(LANES + 1, dtype=np.int64), np.empty(LANES + 1, dtype=np.int64)
        # unsigned, or the compiler would allow for places counted from the end
        place = np.empty(LANES + 1, dtype=np.uint64)
        total, mask = 0.0, (np.int64(1) << row_bits) - 1
        for q in range(starts.shape[0] - 1):
            base, mine = starts[q], targets[starts[q] : starts[q + 1]]
            if mine.shape[0] < 2 or mine[0] == mine[-1]:
                continue
            n_parts = _cut(mine, lanes, bounds)
            place[:] = bounds
            rows = keys[starts[q] : starts[q + 1]]
            total += _meet(t, y, a, rows, mask, lanes, place, dealt, base, both, power)
            for g in range(n_parts):
                start, part = base + bounds[g], mine[bounds[g] : bounds[g + 1]]
                total += _inside(a, dealt, start, part, room, lanes, cuts, place, todo, both, power)
        return total

    return run


_RUNS = {
    (both, power): _compile(both, power)
    for both, power in ((False, 1), (False, 2), (True, 0), (True, 1), (True, 2))
}


def misranked_sum(
    t: Floats | None,
    y: Floats,
    a: Floats | None,
    keys: NDArray[np.int64],
    row_bits: int,
    room: Floats,
    targets: Floats,
    starts: NDArray[np.int64],
    *,
    both: bool,
    power: int,
) -> float:
    """Return the sum of cost^power, for power 0 (with both), 1 or 2.

    Parameters
    ----------
    t, y, a : ndarrays of shape (m,)
        Scores (None: all 0), targets and weights (None: all 1) of the rows, query by query.
    keys : ndarray of shape (m,)
        The rows sorted by (query, t, y), each in the lowest ``row_bits`` of its key.
    room : ndarray of shape (4, m + LANES), or (6, m + LANES) with weights
        Where to deal them. Overwritten, of the second half as much as the largest part needs, and
        only when t, y and a of its query have been read: they may be there.
    targets : ndarray of shape (m,)
        The targets sorted by (query, y).
    both : bool
        Whether the difference of the targets is part of the cost.
    """
    m = starts[-1]
    for name, array in (("t", t), ("y", y), ("a", a), ("targets", targets)):
        if array is not None:
            check_shape(name, array, m, advice=EACH)
    check_shape("keys", keys, m, kind=np.int64, advice=EACH)
    check_shape("room", room, 4 if a is None else 6, m + LANES, advice="room for all rows")
    return float(_RUNS[both, power](t, y, a, keys, row_bits, room, targets, starts))
