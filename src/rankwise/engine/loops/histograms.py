"""The best cut of a feature by histograms of the groups.

They are of whole numbers: exact in any order, so they can be kept from round to round, and the
changes of the rows that change are all that is added.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from rankwise.engine.loops.bins import WIDTH
from rankwise.engine.loops.boosting import WIDE
from rankwise.engine.loops.cuts import choose, judge

HALF = 2.0**32
# What a histogram is of: the factors a e^s of a group, those a e^-s, or both in one word.
WORSE, BETTER, BOTH = 0, 1, 2
# Least and most of what the sum of a group may be, of a fresh one, and if both share a word.
ROOM, LITTLE_ROOM = (1 / 16, 16.0), (1 / 4, 2.0)
SCRATCH = 10


class Slots(NamedTuple):
    """What histograms are of: one ``kind`` of a ``group`` each, in whole numbers.

    Slot q adds what the rows ``rows[start]`` to ``rows[start + n_rows[p]]`` of each part p of its
    group change by, or all they have if it ``begins``: for row i of the group, ``values[first[q] +
    i]``. A part starts at ``bounds[p]``, a group has ``parts[g]`` to ``parts[g + 1]``. ``total[q]``
    is the sum of what all have, and ``gains`` what the parts add to it, a column for each of the
    slots ``of[g]`` to ``of[g + 1]`` of a group. Row i is of the group ``groups[i]``.
    """

    group: np.ndarray
    kind: np.ndarray
    unit: np.ndarray
    total: np.ndarray
    gains: np.ndarray
    begins: np.ndarray
    of: np.ndarray
    groups: np.ndarray
    parts: np.ndarray
    bounds: np.ndarray
    rows: np.ndarray
    n_rows: np.ndarray
    values: np.ndarray
    first: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def fill_slots(state, slots, all_of_them):
    """Fill the slots of groups that are anew, or all, with all rows."""
    for q in range(slots.kind.shape[0]):
        g, kind = slots.group[q], slots.kind[q]
        slots.begins[q] = all_of_them or state.anew[g]
        if not slots.begins[q]:
            continue
        start, stop, total = state.starts[g], state.starts[g + 1], np.int64(0)
        most = (HALF if kind == BOTH else WIDE) / state.room[g, 1] - (stop - start)
        up, down = most / state.fresh[g, 0], most / state.fresh[g, 1]
        slots.unit[q, 0], slots.unit[q, 1] = up, down
        for i in range(start, stop):
            slots.rows[i] = i
            value = _whole(kind, up * state.A[i], down * state.B[i])
            slots.values[slots.first[q] + i - start] = value
            total += value
        for p in range(slots.parts[g], slots.parts[g + 1]):
            slots.n_rows[p] = slots.bounds[p + 1] - slots.bounds[p]
        slots.total[q] = total


@njit(cache=True, nogil=True, error_model="numpy")
def change_slots(state, slots, alpha, first, last):
    """Fill the slots with what `move` will change in parts first to last."""
    for p in range(first, last):
        g, start, n = state.group[p], state.bounds[p], state.n_picked[p]
        step = alpha if state.side[g] else -alpha
        more, less = np.exp(step), np.exp(-step)
        for q in range(slots.of[g], slots.of[g + 1]):
            kind, up, down, gain = slots.kind[q], slots.unit[q, 0], slots.unit[q, 1], np.int64(0)
            values = slots.values[slots.first[q] + start - state.starts[g] :]
            for t in range(n):
                i = state.picked[start + t]
                a, b = state.A[i], state.B[i]
                change = _whole(kind, up * (a * more), down * (b * less))
                change -= _whole(kind, up * a, down * b)
                values[t] = change
                gain += change
            slots.gains[p, q - slots.of[g]] = gain


@njit(cache=True, nogil=True, error_model="numpy")
def settle_slots(state, slots, keep):
    """Follow with the totals, and fill what is anew."""
    for q in range(slots.kind.shape[0] if keep else 0):
        g = slots.group[q]
        for p in range(slots.parts[g], slots.parts[g + 1]):
            slots.total[q] += slots.gains[p, q - slots.of[g]]
    fill_slots(state, slots, not keep)


@njit(cache=True, nogil=True, error_model="numpy")
def _whole(kind, a, b):
    if kind == BOTH:
        return (np.int64(a + 0.5) << 32) + np.int64(b + 0.5)
    return np.int64((a if kind == WORSE else b) + 0.5)


@njit(cache=True, nogil=True, error_model="numpy")
def part_of(slots, q, p):
    """Return the rows of part p, and what they say in slot q."""
    start, n = slots.bounds[p], slots.n_rows[p]
    offset = slots.first[q] + start - slots.bounds[slots.parts[slots.group[q]]]
    return slots.rows[start : start + n], slots.values[offset : offset + n]


def add_bins(bins, begin, end, slots, hist):  # pragma: no cover
    """Add what the slots say to the bins of features begin to end."""
    raise TypeError("add_bins runs in compiled code only")


@overload(add_bins)
def _add_bins(bins, begin, end, slots, hist):
    if not (isinstance(bins.types[0], types.Array) and bins.types[0].ndim == 3):
        return _add_entries
    if bins.types[0].dtype.bitwidth == 8:
        return _add_words
    return _add_codes


def _add_words(bins, begin, end, slots, hist):
    # The bins of a row are one word.
    words, byte = bins.codes[begin // WIDTH].view(np.uint64)[:, 0], np.uint64(255)
    for q in range(slots.kind.shape[0]):
        cells, g = hist[q], slots.group[q]
        for p in range(slots.parts[g], slots.parts[g + 1]):
            rows, values = part_of(slots, q, p)
            if 2 * (end - begin) > WIDTH:
                for t in range(rows.shape[0]):
                    word, value = words[rows[t]], values[t]
                    for k in range(WIDTH):
                        cells[k, (word >> np.uint64(8 * k)) & byte] += value
            else:
                for t in range(rows.shape[0]):
                    word, value = words[rows[t]], values[t]
                    for k in range(WIDTH // 2):
                        cells[k, (word >> np.uint64(8 * k)) & byte] += value


def _add_codes(bins, begin, end, slots, hist):
    block = bins.codes[begin // WIDTH]
    for q in range(slots.kind.shape[0]):
        for p in range(slots.parts[slots.group[q]], slots.parts[slots.group[q] + 1]):
            rows, values = part_of(slots, q, p)
            for t in range(rows.shape[0]):
                codes, value = block[rows[t]], values[t]
                for k in range(end - begin):
                    hist[q, k, codes[k]] += value


def _add_entries(bins, begin, end, slots, hist):
    for f in range(begin, end):
        cells, zero = hist[:, f - begin], bins.zero[f]
        for q in range(slots.kind.shape[0]):
            cells[q, zero] += slots.total[q]
        for p in range(bins.indptr[f], bins.indptr[f + 1]):
            i = bins.rows[p]
            g = slots.groups[i]
            for q in range(slots.of[g], slots.of[g + 1]):
                value = slots.values[slots.first[q] + i - slots.bounds[slots.parts[g]]]
                cells[q, bins.codes[p]] += value
                cells[q, zero] -= value


@njit(cache=True, nogil=True, error_model="numpy")
def search_groups(bins, first, last, slots, links, magnitude, edge, limit, hists, scratch, out):
    """Fill the best cut of the features first to last, from histograms of the groups.

    What the slots say is added to ``hists``. There is one for every WIDTH features, or one that
    serves all in turn. ``scratch`` has SCRATCH numbers for each bin, all finite.
    """
    n_groups = links.shape[0]
    chain, found, low, z = scratch[:4], scratch[4:6], scratch[6:8], scratch[8]
    below = scratch[9].view(np.int64)
    for begin in range(first, last, WIDTH):
        end, b = min(begin + WIDTH, last), (begin - first) // WIDTH
        hist = hists[b % hists.shape[0]]
        for q in range(hist.shape[0]):
            if slots.begins[q]:
                hist[q] = 0
        add_bins(bins, begin, end, slots, hist)
        for f in range(begin, end):
            n_bins = bins.n_bins[f]
            out[f - first, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                found[:] = 0.0
                for g in range(n_groups):
                    for q in range(slots.of[g], slots.of[g + 1]):
                        _below(hist[q, f - begin], n_bins, side, below)
                        if slots.kind[q] == BOTH:
                            _halves(below, slots.total[q], n_bins, low)
                        else:
                            _share(below, slots.total[q], n_bins, low[slots.kind[q]])
                    has = slots.of[g + 1] > slots.of[g]
                    tail = not has or slots.kind[slots.of[g]] == BETTER
                    _follow(links[g], n_bins, tail, magnitude, low, chain, found)
                judge(found[0], found[1], n_bins, edge, limit, z)
                choose(z, n_bins, side, out[f - first])


@njit(cache=True, nogil=True, error_model="numpy")
def _below(hist, n_bins, side, below):
    """Fill the sum of the group below each cut.

    Cut p has the bins below p on the low side; missing values are there too if ``side`` is 0.
    """
    total = np.int64(0) if side else hist[n_bins]
    for p in range(n_bins):
        below[p] = total
        total += hist[p]


@njit(cache=True, nogil=True, error_model="numpy")
def _share(below, total, n_bins, low):
    """Fill the share of the group below each cut."""
    for p in range(n_bins):
        low[p] = below[p] / max(total, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _halves(below, total, n_bins, low):
    """Fill both shares of the group below each cut, from words of two halves."""
    # A number below 2^52, put into the fraction of the float 2^52, is converted by taking that off;
    # vectors have no other way to do so everywhere.
    half, whole, bits = np.int64(HALF - 1), 2.0**52, np.int64(0x4330000000000000)
    a, b, a_bits, b_bits = low[0], low[1], low[0].view(np.int64), low[1].view(np.int64)
    # The halves are below 2^32 in sum, the upper one without a sign.
    up = 1.0 / max((total >> 32) & half, 1)
    down = 1.0 / max(total & half, 1)
    for p in range(n_bins):
        a_bits[p] = ((below[p] >> 32) & half) | bits
        b_bits[p] = (below[p] & half) | bits
    for p in range(n_bins):
        a[p] = (a[p] - whole) * up
        b[p] = (b[p] - whole) * down


@njit(cache=True, nogil=True, error_model="numpy")
def _follow(link, n_bins, tail, magnitude, low, chain, found):
    """Go one group up the chain with all cuts of a feature; after a tail a new one begins."""
    r, t, step, c = link[0], link[1], link[2], link[3]
    low0, low1, gap0, gap1 = chain[0], chain[1], chain[2], chain[3]
    plus, minus, a, b = found[0], found[1], low[0], low[1]
    if magnitude:
        for p in range(n_bins):
            gap0[p] += step * low0[p]
            gap1[p] += step * low1[p]
            plus[p] += c * gap0[p] * (1.0 - b[p])
            minus[p] += c * gap1[p] * b[p]
            gap0[p] *= r
            gap1[p] *= r
    elif c > 0.0:
        for p in range(n_bins):
            plus[p] += c * low0[p] * (1.0 - b[p])
            minus[p] += c * low1[p] * b[p]
    if not tail:
        for p in range(n_bins):
            low0[p] = r * low0[p] + t * a[p]
            low1[p] = r * low1[p] + t * (1.0 - a[p])


@njit(cache=True, nogil=True, error_model="numpy")
def search_edges(bins, first, last, slots, out):
    """Fill the best cut of the features first to last by its edge, from potentials."""
    hist = np.empty((1, WIDTH, bins.n_bins.max() + 1), dtype=np.int64)
    values = np.empty(bins.n_bins.max())
    for begin in range(first, last, WIDTH):
        end = min(begin + WIDTH, last)
        hist[:] = 0
        add_bins(bins, begin, end, slots, hist)
        for f in range(begin, end):
            cells, n_bins = hist[0, f - begin], bins.n_bins[f]
            out[f - first, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                low = np.int64(0)
                for p in range(n_bins):
                    if p > 0 or side == 0:
                        low += cells[n_bins if p == 0 else p - 1]
                    values[p] = -abs(low / WIDE)
                choose(values, n_bins, side, out[f - first])
