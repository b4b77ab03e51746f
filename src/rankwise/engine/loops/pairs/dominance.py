"""Sums over all pairs of rows (i, j) with y_i < y_j and t_i > t_j - margin. Twin: the definition.

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

from rankwise.engine.loops.compiled import compiled

PARTS = 8
GRADIENT, PARTNERS = 1, 2
"""What `dominance` sums."""


@compiled
def group_bounds(y, starts, first, last):
    """Fill the bounds of the run of equal targets in the same query that each row is in."""
    for q in range(starts.shape[0] - 1):
        begin = starts[q]
        for p in range(starts[q], starts[q + 1]):
            if p + 1 == starts[q + 1] or y[p + 1] != y[p]:
                first[begin : p + 1] = begin
                last[begin : p + 1] = p + 1
                begin = p + 1


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


@compiled
def dominance(what, events, keys, y, a, starts, first, last, power, magnitude, x, out, totals):
    """Walk the tree, and sum ``what`` over all its pairs.

    Parameters
    ----------
    what : int
        GRADIENT adds the sums of cost and cost^2 to ``totals``, and the derivatives by t to
        ``out``; PARTNERS adds to ``out`` the sum of x over the partners of each row, weighted.
    events, keys : ndarrays of shape (m,) or (2 m,)
        As from `merge_events`. Overwritten.
    y, a, first, last : ndarrays of shape (m,)
        Targets, row weights (empty: all 1) and runs of equal targets, rows sorted by (query, y).
    """
    each = events.shape[0] // max(1, y.shape[0])
    other_events, other_keys = np.empty_like(events), np.empty_like(keys)
    found = np.zeros(events.shape[0])
    other_found = np.empty_like(found)
    part = np.empty(events.shape[0], dtype=np.uint8)
    cuts = np.empty(PARTS + 1, dtype=np.int64)
    place, pivots = np.empty(PARTS, dtype=np.int64), np.empty(PARTS)
    sums = np.empty((8, PARTS))
    todo = np.empty((16 * PARTS * PARTS, 3), dtype=np.int64)
    for q in range(starts.shape[0] - 1):
        todo[0] = starts[q], starts[q + 1], 0
        n_todo = 1
        while n_todo > 0:
            n_todo -= 1
            start, stop, depth = todo[n_todo]
            if stop - start < 2 or last[start] == stop:
                continue
            n_parts = _cut(start, stop, first, last, cuts)
            begin, end = each * start, each * stop
            if depth % 2 == 0:
                e, k, f, e2, k2, f2 = (
                    events,
                    keys,
                    found,
                    other_events,
                    other_keys,
                    other_found,
                )
            else:
                e, k, f, e2, k2, f2 = (
                    other_events,
                    other_keys,
                    other_found,
                    events,
                    keys,
                    found,
                )
            _find_parts(e, begin, end, each, cuts, n_parts, part)
            for side in range(2):
                for g in range(n_parts):
                    sums[:, g] = 0.0
                for g in range(n_parts):
                    pivots[g] = y[cuts[g + 1] - 1] if side == 1 else y[cuts[g]]
                if what == GRADIENT:
                    _gradient(
                        e,
                        k,
                        begin,
                        end,
                        each,
                        part,
                        n_parts,
                        pivots,
                        side,
                        y,
                        a,
                        power,
                        magnitude,
                        sums,
                        f,
                        totals,
                    )
                else:
                    _partners(
                        e,
                        begin,
                        end,
                        each,
                        part,
                        n_parts,
                        pivots,
                        side,
                        y,
                        a,
                        magnitude,
                        x,
                        sums,
                        f,
                    )
            deeper = False
            for g in range(n_parts):
                if last[cuts[g]] < cuts[g + 1]:
                    deeper = True
                    todo[n_todo] = cuts[g], cuts[g + 1], depth + 1
                    n_todo += 1
            if deeper:
                _deal(e, k, begin, end, each, part, cuts, n_parts, place, e2, k2)
            _hand_on(e, f, begin, end, each, part, cuts, n_parts, last, place, f2, out)


@compiled
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


@compiled
def _find_parts(e, begin, end, each, cuts, n_parts, part):
    """Fill ``part`` with the part that the row of each event is in."""
    for at in range(begin, end):
        part[at] = 0
    for g in range(1, n_parts):
        bound = np.int32(each * cuts[g])
        for at in range(begin, end):
            part[at] += e[at] >= bound


@compiled
def _deal(e, k, begin, end, each, part, cuts, n_parts, place, e2, k2):
    """Deal the events to their parts, in each still sorted."""
    for g in range(n_parts):
        place[g] = each * cuts[g]
    for at in range(begin, end):
        g = part[at]
        p = place[g]
        place[g] = p + 1
        e2[p] = e[at]
        k2[p] = k[at]


@compiled
def _hand_on(e, f, begin, end, each, part, cuts, n_parts, last, place, f2, out):
    """Deal what was found for the events, or add it to their rows in a part of one target."""
    for g in range(n_parts):
        place[g] = -1 if last[cuts[g]] == cuts[g + 1] else each * cuts[g]
    for at in range(begin, end):
        g = part[at]
        if place[g] < 0:
            out[e[at] if each == 1 else e[at] >> 1] += f[at]
        else:
            f2[place[g]] = f[at]
            place[g] += 1


@compiled
def _move_to(key, g, sums):
    """Let the costs of the rows of part g grow by the way from its last key to this one."""
    gap = abs(sums[7, g] - key)
    sums[5, g] += gap * (2 * sums[3, g] + gap * sums[0, g])
    sums[6, g] += gap * (2 * sums[4, g] + gap * sums[1, g])
    sums[3, g] += gap * sums[0, g]
    sums[4, g] += gap * sums[1, g]
    sums[7, g] = key


@compiled
def _gradient(
    e, k, begin, end, each, part, n_parts, pivots, side, y, a, power, magnitude, sums, f, totals
):
    """Add the derivatives by t of the better rows (side 1) or the worse, and the former's sums.

    Better rows meet their partners in falling order of the keys, worse rows in rising order.
    """
    total, squares = 0.0, 0.0
    at, step, sign = (end - 1, -1, -1.0) if side == 1 else (begin, 1, 1.0)
    for _ in range(end - begin):
        mine, key = part[at], k[at]
        p = e[at] if each == 1 else e[at] >> 1
        reads = each == 1 or (e[at] & 1) == side
        target = y[p] if magnitude else 0.0
        w = a[p] if a.shape[0] > 0 else 1.0
        if reads:
            n, d, square = 0.0, 0.0, 0.0
            for g in range(0 if side == 1 else mine + 1, mine if side == 1 else n_parts):
                gap = abs(sums[7, g] - key)
                n0, d0, e0 = sums[0, g], sums[3, g], sums[5, g]
                e0 += gap * (2 * d0 + gap * n0)
                d0 += gap * n0
                if magnitude:
                    u, n1, d1, e1 = abs(target - pivots[g]), sums[1, g], sums[4, g], sums[6, g]
                    e0 = u * e0 + e1 + gap * (2 * d1 + gap * n1)
                    d0 = u * d0 + d1 + gap * n1
                    n0 = u * n0 + n1
                n += n0
                d += d0
                square += e0
            total += w * d
            squares += w * square
            f[at] += sign * w * (n if power == 1 else 2 * d)
        if each == 1 or not reads:
            _move_to(key, mine, sums)
            sums[0, mine] += w
            if magnitude:
                sums[1, mine] += w * abs(pivots[mine] - target)
        at += step
    if side == 1:
        totals[0] += total
        totals[1] += squares


@compiled
def _partners(e, begin, end, each, part, n_parts, pivots, side, y, a, magnitude, x, sums, f):
    """Add the sum over the partners of each row on one side of their weight times x."""
    at, step = (end - 1, -1) if side == 1 else (begin, 1)
    for _ in range(end - begin):
        mine = part[at]
        p = e[at] if each == 1 else e[at] >> 1
        reads = each == 1 or (e[at] & 1) == side
        target = y[p] if magnitude else 0.0
        w = a[p] if a.shape[0] > 0 else 1.0
        if reads:
            total = 0.0
            for g in range(0 if side == 1 else mine + 1, mine if side == 1 else n_parts):
                if magnitude:
                    total += abs(target - pivots[g]) * sums[0, g] + sums[1, g]
                else:
                    total += sums[0, g]
            f[at] += w * total
        if each == 1 or not reads:
            sums[0, mine] += w * x[p]
            if magnitude:
                sums[1, mine] += w * x[p] * abs(pivots[mine] - target)
        at += step


@compiled
def exponential_sum(s, y, a, starts, magnitude):
    """Return (z, c) such that z e^c is the sum of weight exp(s_i - s_j) over all y_i < y_j.

    Rows are sorted by (query, y); ``a`` is empty if all weigh 1. Each sum carries the largest
    exponent that it has met.
    """
    total, top = 0.0, -np.inf
    for q in range(starts.shape[0] - 1):
        peak, lower, gaps = -np.inf, 0.0, 0.0
        begin = starts[q]
        for p in range(starts[q], starts[q + 1]):
            if y[p] != y[begin]:
                highest = peak
                for i in range(begin, p):
                    highest = max(highest, s[i])
                lower *= np.exp(peak - highest)
                gaps *= np.exp(peak - highest)
                peak = highest
                for i in range(begin, p):
                    w = a[i] if a.shape[0] > 0 else 1.0
                    lower += w * np.exp(s[i] - peak)
                gaps += (y[p] - y[begin]) * lower
                begin = p
            w = a[p] if a.shape[0] > 0 else 1.0
            here = w * (gaps if magnitude else lower)
            if here > 0.0:
                exponent = peak - s[p]
                if exponent > top:
                    total = total * np.exp(top - exponent) + here
                    top = exponent
                else:
                    total += here * np.exp(exponent - top)
    return total, top
