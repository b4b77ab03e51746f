"""Sums over all pairs of rows (i, j) with y_i < y_j and t_i > t_j - margin.

Such a pair costs t_i - (t_j - margin). Rows are sorted by query and target. *Events* are rows
sorted by key: row i as the worse of a pair at t_i, row j as the better one at t_j - margin. A tree
cuts the targets into parts, never inside a tie, these into parts and so on, and deals the events of
a node to its parts, still sorted; each pair falls into two parts of exactly one node. There the
partners of a row are the events of higher parts with a smaller key, or of lower parts with a larger
key, and for each part the sums over them follow the sweep: when the key moves by a gap, each of the
costs grows by it. Nothing is ever subtracted, so nothing cancels.

An event is coded 2 p + role for row p, the role 1 for the better. Without a margin the two events
of a row fall together: there is one, coded p, which has both roles.
A depth takes linear time, so all take O(m log k) for k different targets, in O(m) memory.
"""

import numpy as np

from rankwise._core.compilation import compiled

PARTS = 8
# The sums of a part: weights, costs and squared costs of the rows passed; the same times their
# distance from the pivot; and the key of the last change.
COUNT, COST, SQUARE, FAR_COUNT, FAR_COST, FAR_SQUARE, KEY = range(7)


@compiled
def comparable_weights(t, y, a, starts, magnitude, out):
    """Fill ``out[q]`` with the weight of the pairs y_i < y_j, t_i = t_j of query q.

    Rows are sorted by (query, t, y). ``t`` is empty if all are equal, ``a`` if all weigh 1.
    """
    for q in range(starts.shape[0] - 1):
        total, lower, gaps, same = 0.0, 0.0, 0.0, 0.0
        for p in range(starts[q], starts[q + 1]):
            w = a[p] if a.shape[0] > 0 else 1.0
            if t.shape[0] > 0 and p > starts[q] and t[p] != t[p - 1]:
                lower, gaps, same = 0.0, 0.0, 0.0
            elif p > starts[q] and y[p] != y[p - 1]:
                lower += same
                gaps += (y[p] - y[p - 1]) * lower
                same = 0.0
            total += w * (gaps if magnitude else lower)
            same += w
        out[q] = total


@compiled
def merge_events(rows, t, starts, margin, events, keys):
    """Fill events and keys from rows sorted by (query, t) and their t."""
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        # margins are exact beside small numbers, so count from the median
        middle = t[(start + stop) // 2] if stop > start else 0.0
        i, j = start, start
        for x in range(2 * start, 2 * stop):
            better = t[j] - middle - margin if j < stop else np.inf
            if i < stop and t[i] - middle <= better:
                events[x], keys[x] = 2 * rows[i], t[i] - middle
                i += 1
            else:
                events[x], keys[x] = 2 * rows[j] + 1, better
                j += 1


def working_memory(events, keys):
    """Return the memory of `dominance`, with the sorted events and keys in it.

    Arrays that compiled code makes take longer to compile than the loop.
    """
    n = len(events)
    both, sorted_keys = np.empty((2, n), dtype=np.int32), np.empty((2, n))
    both[0], sorted_keys[0] = events, keys
    # nodes: start, stop and depth
    todo = np.empty((16 * PARTS * PARTS, 3), dtype=np.int64)
    cuts, place = np.empty(PARTS + 1, dtype=np.int64), np.empty(PARTS, dtype=np.int64)
    sums, pivots = np.empty((PARTS, 7)), np.empty(PARTS)
    part = np.empty(n, dtype=np.uint8)
    return both, sorted_keys, np.zeros((2, n)), part, cuts, place, pivots, sums, todo


@compiled
def dominance(memory, targets, power, magnitude, out, totals):
    """Add the sums of cost and cost^2 to ``totals``, and the derivatives by t to ``out``.

    Parameters
    ----------
    memory : tuple of ndarrays
        As from `working_memory`: events, their keys and the derivatives of nodes of even depth, and
        of odd depth, and space for one node.
    targets : tuple of ndarrays
        Rows sorted by query and target: their targets y and weights a of shape (m,), the latter
        empty if all are 1; ``starts`` of shape (n_queries + 1,), where each query begins, and m;
        ``first`` and ``last`` of shape (m,), the bounds of the run of equal targets of each row.
    power, magnitude
        The power of a cost, and whether a pair weighs by the difference of its targets.
    out, totals : ndarrays of shapes (m,) and (2,)
        Added to, in the order of the targets.
    """
    y, a, starts, first, last = targets
    events, keys, found, part, cuts, place, pivots, sums, todo = memory
    each = 2 if part.shape[0] > y.shape[0] else 1
    for q in range(starts.shape[0] - 1):
        todo[0, 0], todo[0, 1], todo[0, 2] = starts[q], starts[q + 1], 0
        n_todo = 1
        while n_todo > 0:
            n_todo -= 1
            start, stop, depth = todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2]
            if stop - start < 2 or last[start] == stop:
                continue
            n_parts = _cut(start, stop, first, last, cuts)
            here, below = depth % 2, 1 - depth % 2
            node = slice(each * start, each * stop)
            _find_parts(events[here, node], each, cuts, n_parts, part[node])
            for side in range(2):
                for g in range(n_parts):
                    pivots[g] = y[cuts[g + 1] - 1] if side == 1 else y[cuts[g]]
                for g in range(n_parts):
                    for k in range(7):
                        sums[g, k] = 0.0
                total, squares = _gradient(
                    events[here, node],
                    keys[here, node],
                    found[here, node],
                    part[node],
                    each,
                    n_parts,
                    side,
                    pivots,
                    sums,
                    y,
                    a,
                    power,
                    magnitude,
                )
                if side == 1:
                    totals[0] += total
                    totals[1] += squares
            for g in range(n_parts):
                place[g] = -1
                if last[cuts[g]] < cuts[g + 1]:
                    place[g] = each * cuts[g]
                    todo[n_todo, 0], todo[n_todo, 1] = cuts[g], cuts[g + 1]
                    todo[n_todo, 2] = depth + 1
                    n_todo += 1
            # deal the events to their parts, still sorted, or end in a part of one target
            for at in range(each * start, each * stop):
                p, event = place[part[at]], events[here, at]
                if p < 0:
                    out[event if each == 1 else event >> 1] += found[here, at]
                else:
                    events[below, p], keys[below, p] = event, keys[here, at]
                    found[below, p] = found[here, at]
                    place[part[at]] = p + 1


@compiled(inner=True)
def _cut(start, stop, first, last, cuts):
    """Fill ``cuts`` with the bounds of parts of similar size that share no target."""
    cuts[0] = start
    n = 0
    for g in range(1, PARTS):
        p = start + g * (stop - start) // PARTS
        cut = np.int64(first[p])
        if cut <= cuts[n]:
            cut = np.int64(last[p])
        if cuts[n] < cut < stop:
            n += 1
            cuts[n] = cut
    cuts[n + 1] = stop
    return n + 1


@compiled(inner=True)
def _find_parts(events, each, cuts, n_parts, part):
    """Fill the part that the row of each event is in."""
    for at in range(events.shape[0]):
        part[at] = 0
    for g in range(1, n_parts):
        bound = np.int32(each * cuts[g])
        for at in range(events.shape[0]):
            part[at] += events[at] >= bound


@compiled(inner=True)
def _move_to(key, sums):
    """Let the costs of the rows of a part grow by the way from its last key to this one."""
    gap = abs(sums[KEY] - key)
    sums[SQUARE] += gap * (2 * sums[COST] + gap * sums[COUNT])
    sums[FAR_SQUARE] += gap * (2 * sums[FAR_COST] + gap * sums[FAR_COUNT])
    sums[COST] += gap * sums[COUNT]
    sums[FAR_COST] += gap * sums[FAR_COUNT]
    sums[KEY] = key


@compiled(inner=True)
def _gradient(events, keys, found, part, each, n_parts, side, pivots, sums, y, a, power, magnitude):
    """Add the derivatives by t of the better rows (side 1) or the worse; return their sums.

    Better rows pass their partners in falling order of the keys, worse rows in rising order.
    """
    total, squares = 0.0, 0.0
    at, step, sign = (events.shape[0] - 1, -1, -1.0) if side == 1 else (0, 1, 1.0)
    for _ in range(events.shape[0]):
        mine, key = part[at], keys[at]
        p = events[at] if each == 1 else events[at] >> 1
        reads = each == 1 or (events[at] & 1) == side
        target = y[p] if magnitude else 0.0
        w = a[p] if a.shape[0] > 0 else 1.0
        if reads:
            n, d, square = 0.0, 0.0, 0.0
            for g in range(0 if side == 1 else mine + 1, mine if side == 1 else n_parts):
                gap = abs(sums[g, KEY] - key)
                n0, d0, e0 = sums[g, COUNT], sums[g, COST], sums[g, SQUARE]
                e0 += gap * (2 * d0 + gap * n0)
                d0 += gap * n0
                if magnitude:
                    u, n1 = abs(target - pivots[g]), sums[g, FAR_COUNT]
                    d1, e1 = sums[g, FAR_COST], sums[g, FAR_SQUARE]
                    e0 = u * e0 + e1 + gap * (2 * d1 + gap * n1)
                    d0 = u * d0 + d1 + gap * n1
                    n0 = u * n0 + n1
                n += n0
                d += d0
                square += e0
            total += w * d
            squares += w * square
            found[at] += sign * w * (n if power == 1 else 2 * d)
        if each == 1 or not reads:
            _move_to(key, sums[mine])
            sums[mine, COUNT] += w
            if magnitude:
                sums[mine, FAR_COUNT] += w * abs(pivots[mine] - target)
        at += step
    return total, squares
