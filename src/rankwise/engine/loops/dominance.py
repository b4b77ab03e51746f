"""Sums over all pairs of rows (i, j) with y_i < y_j and t_i > t_j - margin. Twin: the definition.

Such a pair costs t_i - (t_j - margin). Rows are sorted by query and target. *Events* are rows
sorted by key: row i as the worse of a pair at t_i, row j as the better one at t_j - margin. A tree
halves the targets again and again, never inside a tie, and deals the events of a node to its
halves, still sorted; the halves of one node hold each pair exactly once, worse row left, better row
right. There the partners of a row are a run of events: all those with a larger key (or a smaller
one), and the sums over them follow the sweep: when the key moves by a gap, each of the costs grows
by it. Nothing is ever subtracted, so nothing cancels.

An event is coded 2 p + role for row p, the role 1 for the better. Without a margin the two events
of a row fall together: there is one, coded p, and its half says its role.
A depth takes linear time, so all take O(m log k) for k different targets, in O(m) memory.
"""

import numpy as np
from numba import njit

TOTALS, GRADIENT, PARTNERS = 0, 1, 2
"""What `dominance` sums."""


@njit(cache=True, nogil=True)
def group_bounds(y, starts, first, last):
    """Fill the bounds of the run of equal targets in the same query that each row is in."""
    for q in range(starts.shape[0] - 1):
        begin = starts[q]
        for p in range(starts[q], starts[q + 1]):
            if p + 1 == starts[q + 1] or y[p + 1] != y[p]:
                first[begin : p + 1] = begin
                last[begin : p + 1] = p + 1
                begin = p + 1


@njit(cache=True, nogil=True)
def comparable_weights(y, a, starts, magnitude, out):
    """Fill ``out[q]`` with the weight of all pairs y_i < y_j of query q, rows sorted by y."""
    for q in range(starts.shape[0] - 1):
        total, lower, gaps, same = 0.0, 0.0, 0.0, 0.0
        for p in range(starts[q], starts[q + 1]):
            if p > starts[q] and y[p] != y[p - 1]:
                lower += same
                gaps += (y[p] - y[p - 1]) * lower
                same = 0.0
            total += a[p] * (gaps if magnitude else lower)
            same += a[p]
        out[q] = total


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def dominance(what, events, keys, y, a, starts, first, last, power, magnitude, x, out, totals):
    """Walk the tree, and sum ``what`` over all its pairs.

    Parameters
    ----------
    what : int
        TOTALS adds the sums of `_totals` to ``totals``; GRADIENT adds the value to ``totals[0]``
        and the derivatives by t to ``out``; PARTNERS adds to ``out`` the sum of x over the
        partners of each row, weighted.
    events, keys : ndarrays of shape (m,) or (2 m,)
        As from `merge_events`. Overwritten.
    y, a, first, last : ndarrays of shape (m,)
        Targets, row weights and runs of equal targets, rows sorted by (query, y).
    """
    n_each = events.shape[0] // max(1, y.shape[0])
    other_events, other_keys = np.empty_like(events), np.empty_like(keys)
    todo = np.empty((256, 3), dtype=np.int64)
    for q in range(starts.shape[0] - 1):
        todo[0] = starts[q], starts[q + 1], 0
        n_todo = 1
        while n_todo > 0:
            n_todo -= 1
            start, stop, depth = todo[n_todo]
            if stop - start < 2 or last[start] == stop:
                continue
            middle = (start + stop) // 2
            low, high = np.int64(first[middle]), np.int64(last[middle])
            cut = low if low > start and (middle - low <= high - middle or high == stop) else high
            begin, end = n_each * start, n_each * stop
            if depth % 2 == 0:
                e, k, e2, k2 = events, keys, other_events, other_keys
            else:
                e, k, e2, k2 = other_events, other_keys, events, keys
            if what == TOTALS:
                _totals(e, k, begin, end, n_each, cut, y, a, totals)
            elif what == GRADIENT:
                _gradient(e, k, begin, end, n_each, cut, y, a, power, magnitude, out, totals)
            else:
                _partners(e, begin, end, n_each, cut, y, a, magnitude, x, out)
            if first[stop - 1] == cut and last[start] == cut:
                continue
            _deal(e, k, begin, end, n_each, cut, e2, k2)
            todo[n_todo] = cut, stop, depth + 1
            todo[n_todo + 1] = start, cut, depth + 1
            n_todo += 2


@njit(cache=True, nogil=True)
def _row(event, n_each):
    return event if n_each == 1 else event >> 1


@njit(cache=True, nogil=True)
def _deal(e, k, begin, end, n_each, cut, e2, k2):
    """Deal the events to the rows before the cut and from it on, each still sorted."""
    left, right = begin, n_each * cut
    bound = n_each * cut
    for x in range(begin, end):
        event, key = e[x], k[x]
        upper = event >= bound
        p = right if upper else left
        e2[p] = event
        k2[p] = key
        right += upper
        left += 1 - upper


@njit(cache=True, nogil=True)
def _totals(e, k, begin, end, n_each, cut, y, a, totals):
    """Add sums of cost^c (y_j - y_i)^d: (c, d) = 00, 01, 02, 10, 11, 20, 21."""
    pivot = y[cut]
    n0, n1, n2, d0, d1, e0, e1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    t00, t01, t02, t10, t11, t20, t21 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    previous = k[end - 1]
    for x in range(end - 1, begin - 1, -1):
        gap = previous - k[x]
        previous = k[x]
        e0 += gap * (2 * d0 + gap * n0)
        e1 += gap * (2 * d1 + gap * n1)
        d0 += gap * n0
        d1 += gap * n1
        p = _row(e[x], n_each)
        better = p >= cut
        if n_each == 2 and (e[x] & 1) != better:
            continue
        u = abs(y[p] - pivot)
        w = a[p]
        if better:
            t00 += w * n0
            t01 += w * (u * n0 + n1)
            t02 += w * (u * (u * n0 + 2 * n1) + n2)
            t10 += w * d0
            t11 += w * (u * d0 + d1)
            t20 += w * e0
            t21 += w * (u * e0 + e1)
        else:
            n0 += w
            n1 += w * u
            n2 += w * u * u
    totals[0] += t00
    totals[1] += t01
    totals[2] += t02
    totals[3] += t10
    totals[4] += t11
    totals[5] += t20
    totals[6] += t21


@njit(cache=True, nogil=True)
def _gradient(e, k, begin, end, n_each, cut, y, a, power, magnitude, out, totals):
    """Add the sum of weight cost^power, and its derivatives by t."""
    pivot = y[cut]
    total = 0.0
    for side in range(2):
        n0, n1, d0, d1, e0, e1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        previous = k[end - 1] if side == 1 else k[begin]
        for step in range(end - begin):
            x = end - 1 - step if side == 1 else begin + step
            gap = abs(previous - k[x])
            previous = k[x]
            e0 += gap * (2 * d0 + gap * n0)
            d0 += gap * n0
            if magnitude:
                e1 += gap * (2 * d1 + gap * n1)
                d1 += gap * n1
            p = _row(e[x], n_each)
            better = p >= cut
            if n_each == 2 and (e[x] & 1) != better:
                continue
            w = a[p]
            if better != side:
                n0 += w
                if magnitude:
                    n1 += w * abs(y[p] - pivot)
                continue
            n, d, square = n0, d0, e0
            if magnitude:
                u = abs(y[p] - pivot)
                n, d, square = u * n + n1, u * d + d1, u * square + e1
            slope = w * (n if power == 1 else 2 * d)
            if side == 1:
                total += w * (d if power == 1 else square)
                out[p] -= slope
            else:
                out[p] += slope
    totals[0] += total


@njit(cache=True, nogil=True)
def _partners(e, begin, end, n_each, cut, y, a, magnitude, x, out):
    """Add to ``out[p]`` the sum over the partners of row p of their weight times x."""
    pivot = y[cut]
    for side in range(2):
        n0, n1 = 0.0, 0.0
        for step in range(end - begin):
            at = end - 1 - step if side == 1 else begin + step
            p = _row(e[at], n_each)
            better = p >= cut
            if n_each == 2 and (e[at] & 1) != better:
                continue
            u = abs(y[p] - pivot)
            if better != side:
                n0 += a[p] * x[p]
                n1 += a[p] * x[p] * u
            else:
                out[p] += a[p] * (u * n0 + n1 if magnitude else n0)


@njit(cache=True, nogil=True)
def exponential_sum(s, y, a, starts, magnitude):
    """Return (z, c) such that z e^c is the sum of weight exp(s_i - s_j) over all y_i < y_j.

    Rows are sorted by (query, y). Each sum carries the largest exponent that it has met.
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
                    lower += a[i] * np.exp(s[i] - peak)
                gaps += (y[p] - y[begin]) * lower
                begin = p
            here = a[p] * (gaps if magnitude else lower)
            if here > 0.0:
                exponent = peak - s[p]
                if exponent > top:
                    total = total * np.exp(top - exponent) + here
                    top = exponent
                else:
                    total += here * np.exp(exponent - top)
    return total, top
