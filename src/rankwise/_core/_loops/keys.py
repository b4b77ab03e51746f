"""Rows as integers that sort as they do, for a sort that knows nothing but numbers.

A key is, from its highest bits on: the query, where the value lies between the lowest and the
highest of its query, and the row. NumPy sorts such numbers several at a time, so that it is quicker
to sort keys and read the rows off them than to ask it for the order of the values.
"""

import numpy as np

from rankwise._core.compilation import compiled

TINY = 1e-280
BITS = 61
NORMAL = np.int64(1) << BITS
"""Above every key, and added to it, so that a key may also be read as a float that is not NaN."""


@compiled
def counting_sort(codes, starts, place, order):
    """Fill the stable order of codes in 0..n-1, and where each code starts in it.

    ``starts`` (n + 1,) is 0 before; ``place`` (n,) is room to work in.
    """
    for code in codes:
        starts[code + 1] += 1
    for code in range(place.shape[0]):
        place[code] = starts[code]
        starts[code + 1] += starts[code]
    for i in range(codes.shape[0]):
        order[place[codes[i]]] = i
        place[codes[i]] += 1


@compiled
def deal_runs(values, y, a, n_runs, codes, out):
    """Deal the rows into runs of values, the lowest first; return where each run starts.

    The columns of ``out`` are filled with values, ``y`` and ``a`` of the rows, which stay as they
    come in a run. ``codes`` is space for a number each.
    """
    lowest, span, unit = _range(values)
    scale = n_runs * (1.0 - 2.0**-40) / span if span > 0.0 else 0.0
    for i in range(values.shape[0]):
        way = (values[i] * unit - lowest) * scale
        codes[i] = np.uint16(way) if way > 0.0 else np.uint16(0)
    starts = np.zeros(n_runs + 1, dtype=np.int64)
    for code in codes:
        starts[np.uint64(code) + np.uint64(1)] += 1
    for run in range(n_runs):
        starts[run + 1] += starts[run]
    place = np.empty(n_runs, dtype=np.uint64)
    for run in range(n_runs):
        place[run] = starts[run]
    for i in range(values.shape[0]):
        code = np.uint64(codes[i])
        p = place[code]
        place[code] = p + np.uint64(1)
        out[0, p], out[1, p] = values[i], y[i]
        if a is not None:
            out[2, p] = a[i]
    return starts


@compiled(inner=True)
def _range(values):
    """Return the lowest value, the highest less that, and the unit that both are in."""
    lowest, highest = values[0], values[0]
    for value in values:
        lowest, highest = min(lowest, value), max(highest, value)
    # halves can't overflow when they are subtracted, nor multiples of tiny ones underflow
    unit = 0.5 if highest - lowest > TINY else 2.0**600
    return lowest * unit, highest * unit - lowest * unit, unit


@compiled
def pack(values, starts, row_bits, value_bits, keys):
    """Fill ``keys``; query q is from ``starts[q]`` to ``starts[q + 1]``.

    At least the lowest and the highest value of a query differ in their keys if they differ.
    """
    top = 2.0**value_bits - 1
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        if start == stop:
            continue
        lowest, span, unit = _range(values[start:stop])
        scale = top / span if span > 0.0 else 0.0
        query = ((NORMAL >> row_bits >> value_bits) | q) << value_bits
        for i in range(start, stop):
            # not a number for equal ones that are too large for the unit
            way = (values[i] * unit - lowest) * scale
            place = np.int64(way) if way > 0.0 else np.int64(0)
            keys[i] = ((query | place) << row_bits) | i


@compiled
def unpack(keys, row_bits, values, rows, ordered):
    """Fill the rows in the order of their sorted keys, and their values; count those that fall.

    A value falls if it is below the one before it, though their keys differ by the row alone.
    ``ordered`` may share the memory of ``keys``.
    """
    falls, before, last = 0, np.int64(-1), 0.0
    mask = (np.int64(1) << row_bits) - 1
    for i in range(keys.shape[0]):
        key = keys[i]
        row = key & mask
        value = values[row]
        rows[i], ordered[i] = row, value
        key >>= row_bits
        falls += (value < last) & (key == before)
        before, last = key, value
    return falls


@compiled
def sort_equal_keys(keys, row_bits, values):
    """Put sorted keys right that differ by the row alone; False if values are equal, or too many.

    The order is that of the values if True, and else as good as before.
    """
    mask = (np.int64(1) << row_bits) - 1
    moves = keys.shape[0]
    for i in range(1, keys.shape[0]):
        j = i
        while j > 0 and keys[j] >> row_bits == keys[j - 1] >> row_bits:
            value, other = values[keys[j] & mask], values[keys[j - 1] & mask]
            if value == other or moves == 0:
                return False
            if value > other:
                break
            keys[j], keys[j - 1] = keys[j - 1], keys[j]
            moves -= 1
            j -= 1
    return True


@compiled
def gather(values, keys, row_bits, out):
    """Fill ``out`` with the values of the rows in the order of their keys."""
    mask = (np.int64(1) << row_bits) - 1
    for i in range(keys.shape[0]):
        out[i] = values[keys[i] & mask]
