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
def sort_floats(values, payload, spare_values, spare_payload):
    """Sort finite float64 ``values`` in place, and ``payload`` along with them.

    The spare arrays are of the same shapes and types; what they hold is lost.
    """
    place = np.empty(BINS, dtype=np.int64)
    second = np.empty(BINS, dtype=np.int64)
    group = np.empty(BINS, dtype=np.int64)
    todo = np.empty((64 * ZOOMS + 64, 3), dtype=np.int64)
    todo[0] = 0, values.shape[0], 0
    n_todo = 1
    while n_todo > 0:
        n_todo -= 1
        start, stop, zoom = todo[n_todo]
        n = stop - start
        lowest, scale = _range(values, start, stop)
        if scale == 0.0:
            continue
        if n <= 2 * GROUP or zoom == ZOOMS:
            if not _sort_group(
                values,
                payload,
                spare_values,
                spare_payload,
                start,
                stop,
                place,
                second,
                lowest,
                scale,
            ):
                _merge_sort(values, payload, spare_values, spare_payload, start, stop)
            continue
        # Deal to at most 64 groups of neighbouring bins: more would outrun the address cache.
        place[:] = 0
        scale *= 1.0 / BINS
        for i in range(start, stop):
            place[np.uint64(np.int64((0.5 * values[i] - lowest) * scale))] += 1
        target = max(GROUP, n // 60)
        n_groups, total, filled = 0, start, 0
        for b in range(BINS):
            if filled > 0 and filled + place[b] > target:
                todo[n_todo] = total - filled, total, zoom + 1
                n_todo += 1
                n_groups += 1
                filled = 0
            group[b] = n_groups
            filled += place[b]
            total += place[b]
        todo[n_todo] = total - filled, total, zoom + 1
        n_todo += 1
        n_groups += 1
        for g in range(n_groups):
            place[g] = todo[n_todo - n_groups + g, 0]
        for i in range(start, stop):
            value = values[i]
            mine = np.uint64(group[np.uint64(np.int64((0.5 * value - lowest) * scale))])
            p = np.uint64(place[mine])
            place[mine] += 1
            spare_values[p] = value
            spare_payload[p] = payload[i]
        for i in range(start, stop):
            values[i] = spare_values[i]
            payload[i] = spare_payload[i]


@njit(cache=True, nogil=True)
def _range(values, start, stop):
    """Return half the lowest value, and the scale of two digits; 0 if all are equal.

    Halves can't overflow when they are subtracted.
    """
    if stop - start < 2:
        return 0.0, 0.0
    lowest, highest = values[start], values[start]
    for i in range(start + 1, stop):
        lowest = min(lowest, values[i])
        highest = max(highest, values[i])
    if lowest == highest:
        return 0.0, 0.0
    span = 0.5 * highest - 0.5 * lowest
    scale = (BINS * BINS - 1) / max(span, 1e-290)
    return 0.5 * lowest, scale


@njit(cache=True, nogil=True)
def _sort_group(
    values, payload, spare_values, spare_payload, start, stop, low, high, lowest, scale
):
    """Sort a group by two digits and insertion; False if that would take too long."""
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
        key = np.uint64(np.int64((0.5 * value - lowest) * scale))
        digit = key & np.uint64(BINS - 1)
        p = np.uint64(low[digit])
        low[digit] += 1
        spare_values[p] = value
        spare_payload[p] = payload[i]
    for i in range(start, stop):
        value = spare_values[i]
        key = np.uint64(np.int64((0.5 * value - lowest) * scale))
        digit = key >> np.uint64(DIGIT)
        p = np.uint64(high[digit])
        high[digit] += 1
        values[p] = value
        payload[p] = spare_payload[i]
    moves = 16 * (stop - start)
    for i in range(start + 1, stop):
        if values[i - 1] > values[i]:
            value, load = values[i], payload[i]
            j = i
            while j > start and values[j - 1] > value:
                values[j] = values[j - 1]
                payload[j] = payload[j - 1]
                j -= 1
            values[j] = value
            payload[j] = load
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
