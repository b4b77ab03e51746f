"""Stable sorting by digits: linear in the number of keys, for all but absurd distributions.

The digits are those of ``(value - lowest) / (highest - lowest)``, which rises with the value. Many
values are first dealt to groups that fit in the cache; a group is sorted by two digits, and what
still shares both is put right by insertion. A group that insertion can't mend is merge-sorted.
"""

import numpy as np
from numba import njit

DIGIT = 11
BINS = 1 << DIGIT
GROUP = 1 << 15
FEW = 12
ZOOMS = 6


@njit(cache=True, nogil=True)
def counting_sort(codes, n):
    """Return the stable order of codes in 0..n-1, and where each code starts in it."""
    starts = np.zeros(n + 1, dtype=np.int64)
    for code in codes:
        starts[code + 1] += 1
    for code in range(n):
        starts[code + 1] += starts[code]
    place = starts[:-1].copy()
    order = np.empty(codes.shape[0], dtype=np.int64)
    for i in range(codes.shape[0]):
        order[place[codes[i]]] = i
        place[codes[i]] += 1
    return order, starts


@njit(cache=True, nogil=True)
def sort_floats(values, payload, spare_values, spare_payload, starts):
    """Sort finite float64 ``values`` in place, each segment by itself, and ``payload`` with them.

    Segment q is from ``starts[q]`` to ``starts[q + 1]``. The spare arrays have the same shapes and
    types; what they hold is lost.
    """
    place = np.empty(BINS, dtype=np.int64)
    second = np.empty(BINS, dtype=np.int64)
    group = np.empty(BINS, dtype=np.int64)
    todo = np.empty((64 * ZOOMS + 64, 3), dtype=np.int64)
    for q in range(starts.shape[0] - 1):
        todo[0] = starts[q], starts[q + 1], 0
        n_todo = 1
        while n_todo > 0:
            n_todo -= 1
            start, stop, zoom = todo[n_todo]
            n = stop - start
            # each zoom takes the values to the other arrays
            v, p, v2, p2 = values, payload, spare_values, spare_payload
            if zoom % 2 == 1:
                v, p, v2, p2 = spare_values, spare_payload, values, payload
            lowest, span = _range(v, start, stop) if n > FEW else (0.0, 0.0)
            if span > 0.0 and n > 2 * GROUP and zoom < ZOOMS:
                n_groups = _deal_groups(
                    v, p, v2, p2, start, stop, place, group, lowest, span, todo[n_todo:]
                )
                todo[n_todo : n_todo + n_groups, 2] = zoom + 1
                n_todo += n_groups
                continue
            if span > 0.0 and n <= BINS // 2:
                _deal_once(v, p, v2, p2, start, stop, place, lowest, span)
                v, p, v2, p2 = v2, p2, v, p
            elif span > 0.0:
                _deal_twice(v, p, v2, p2, start, stop, place, second, lowest, span)
            if not _insert(v, p, values, payload, start, stop):
                _merge_sort(v, p, v2, p2, start, stop)
                _insert(v, p, values, payload, start, stop)


@njit(cache=True, nogil=True)
def _deal_groups(
    values, payload, spare_values, spare_payload, start, stop, place, group, lowest, span, todo
):
    """Deal to at most 64 groups of neighbouring bins: more would outrun the address cache."""
    place[:] = 0
    scale = (BINS - 1) / span
    for i in range(start, stop):
        place[np.uint64(np.int64((0.5 * values[i] - lowest) * scale))] += 1
    target = max(GROUP, (stop - start) // 60)
    n_groups, total, filled = 0, start, 0
    for b in range(BINS):
        if filled > 0 and filled + place[b] > target:
            todo[n_groups, 0], todo[n_groups, 1] = total - filled, total
            n_groups += 1
            filled = 0
        group[b] = n_groups
        filled += place[b]
        total += place[b]
    todo[n_groups, 0], todo[n_groups, 1] = total - filled, total
    n_groups += 1
    place[:n_groups] = todo[:n_groups, 0]
    for i in range(start, stop):
        value = values[i]
        mine = np.uint64(group[np.uint64(np.int64((0.5 * value - lowest) * scale))])
        p = np.uint64(place[mine])
        place[mine] += 1
        spare_values[p] = value
        spare_payload[p] = payload[i]
    return n_groups


@njit(cache=True, nogil=True)
def _range(values, start, stop):
    """Return half the lowest value, and half the span; 0 if the values are in order already.

    Halves can't overflow when they are subtracted.
    """
    lowest, highest = values[start], values[start]
    falls = 0
    for i in range(start + 1, stop):
        lowest = min(lowest, values[i])
        highest = max(highest, values[i])
        falls += values[i] < values[i - 1]
    if falls == 0:
        return 0.0, 0.0
    return 0.5 * lowest, max(0.5 * highest - 0.5 * lowest, 1e-290)


@njit(cache=True, nogil=True)
def _deal_once(values, payload, spare_values, spare_payload, start, stop, place, lowest, span):
    """Sort by one digit, of about as many bins as there are values, to the spare arrays."""
    n = stop - start
    place[: n + 1] = 0
    scale = n / span
    for i in range(start, stop):
        place[np.uint64(np.int64((0.5 * values[i] - lowest) * scale))] += 1
    below = start
    for b in range(n + 1):
        count = place[b]
        place[b] = below
        below += count
    for i in range(start, stop):
        value = values[i]
        digit = np.uint64(np.int64((0.5 * value - lowest) * scale))
        p = np.uint64(place[digit])
        place[digit] += 1
        spare_values[p] = value
        spare_payload[p] = payload[i]


@njit(cache=True, nogil=True)
def _deal_twice(values, payload, spare_values, spare_payload, start, stop, low, high, lowest, span):
    """Sort by two digits, the low one first, to the spare arrays and back."""
    scale = (BINS * BINS - 1) / span
    low[:] = 0
    high[:] = 0
    for i in range(start, stop):
        key = np.uint64(np.int64((0.5 * values[i] - lowest) * scale))
        low[key & np.uint64(BINS - 1)] += 1
        high[key >> np.uint64(DIGIT)] += 1
    below, beneath = start, start
    for b in range(BINS):
        count = low[b]
        low[b] = below
        below += count
        count = high[b]
        high[b] = beneath
        beneath += count
    for i in range(start, stop):
        value = values[i]
        digit = np.uint64(np.int64((0.5 * value - lowest) * scale)) & np.uint64(BINS - 1)
        p = np.uint64(low[digit])
        low[digit] += 1
        spare_values[p] = value
        spare_payload[p] = payload[i]
    for i in range(start, stop):
        value = spare_values[i]
        digit = np.uint64(np.int64((0.5 * value - lowest) * scale)) >> np.uint64(DIGIT)
        p = np.uint64(high[digit])
        high[digit] += 1
        values[p] = value
        payload[p] = spare_payload[i]


@njit(cache=True, nogil=True)
def _insert(values, payload, to_values, to_payload, start, stop):
    """Sort by insertion into other arrays or the same; False if that takes too many moves.

    The values are complete in either case.
    """
    moves = 16 * (stop - start)
    for i in range(start, stop):
        value, load = values[i], payload[i]
        j = i
        while j > start and to_values[j - 1] > value:
            to_values[j] = to_values[j - 1]
            to_payload[j] = to_payload[j - 1]
            j -= 1
        to_values[j] = value
        to_payload[j] = load
        moves -= i - j
        if moves < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _merge_sort(values, payload, spare_values, spare_payload, start, stop):
    """Merge runs of 1, 2, 4, ... values."""
    width = 1
    while width < stop - start:
        for left in range(start, stop, 2 * width):
            middle, end = min(left + width, stop), min(left + 2 * width, stop)
            i, j = left, middle
            for p in range(left, end):
                if j >= end or (i < middle and values[i] <= values[j]):
                    spare_values[p], spare_payload[p] = values[i], payload[i]
                    i += 1
                else:
                    spare_values[p], spare_payload[p] = values[j], payload[j]
                    j += 1
        for i in range(start, stop):
            values[i], payload[i] = spare_values[i], spare_payload[i]
        width *= 2
