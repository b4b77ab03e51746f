"""The best cut of a feature by histograms of the groups.

They are of whole numbers: exact in any order, so they can be kept from round to round, and the
changes of the rows that change are all that is added.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from rankwise.engine.loops.bins import WIDTH
from rankwise.engine.loops.boosting import WIDE, move_sums
from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.cuts import choose, judge
from rankwise.engine.machine.lanes import LANES, read_halves, spread, write_lanes

HALF = 2.0**32
# What a histogram is of: the factors a e^-s of a group, those a e^s, or both in one word.
BETTER, WORSE, BOTH = 0, 1, 2
# Least and most of what the sum of a group may be, of a fresh one, and if both share a word.
ROOM, LITTLE_ROOM = (1 / 16, 16.0), (1 / 4, 2.0)


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


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
def move_slots(state, slots, alpha, first, last):
    """Do what `move` does, and fill the slots with what it changes."""
    for p in range(first, last):
        g, start = state.group[p], state.bounds[p]
        rows = state.picked[start : start + state.n_picked[p]]
        step = alpha if state.side[g] else -alpha
        more, less = np.exp(step), np.exp(-step)
        for q in range(slots.of[g], slots.of[g + 1]):
            kind, up, down = slots.kind[q], slots.unit[q, 0], slots.unit[q, 1]
            out = slots.values[slots.first[q] + start - state.starts[g] :]
            if kind == BOTH:
                gain = _move_both(rows, state.A, state.B, more, less, up, down, out)
            elif kind == WORSE:
                gain = _move_one(rows, state.A, more, up, out)
            else:
                gain = _move_one(rows, state.B, less, down, out)
            slots.gains[p, q - slots.of[g]] = gain
        for i in rows:
            state.s[i] += step
        move_sums(state, p, more, less)


@compiled(error_model="numpy")
def _move_one(rows, values, factor, unit, out):
    gain = np.int64(0)
    for k in range(rows.shape[0]):
        before = values[rows[k]]
        after = before * factor
        values[rows[k]] = after
        change = np.int64(unit * after + 0.5) - np.int64(unit * before + 0.5)
        out[k] = change
        gain += change
    return gain


@compiled(error_model="numpy")
def _move_both(rows, A, B, more, less, up, down, out):
    gain = np.int64(0)
    for k in range(rows.shape[0]):
        i = rows[k]
        a, b = A[i], B[i]
        A[i], B[i] = a * more, b * less
        change = _whole(BOTH, up * A[i], down * B[i]) - _whole(BOTH, up * a, down * b)
        out[k] = change
        gain += change
    return gain


@compiled(error_model="numpy")
def settle_slots(state, slots, keep):
    """Follow with the totals, and fill what is anew."""
    for q in range(slots.kind.shape[0] if keep else 0):
        g = slots.group[q]
        for p in range(slots.parts[g], slots.parts[g + 1]):
            slots.total[q] += slots.gains[p, q - slots.of[g]]
    fill_slots(state, slots, not keep)


@compiled(error_model="numpy")
def _whole(kind, a, b):
    if kind == BOTH:
        return (np.int64(a + 0.5) << 32) + np.int64(b + 0.5)
    return np.int64((a if kind == WORSE else b) + 0.5)


@compiled(error_model="numpy")
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


def scratch_shape(n_slots: int, stride: int) -> tuple[int, int]:
    """Return the shape of what `search_groups` needs to work with."""
    return n_slots + 3, stride + LANES + 8


@compiled(error_model="numpy")
def search_groups(bins, first, last, slots, links, magnitude, edge, limit, hists, scratch, out):
    """Fill the best cut of the features first to last, from histograms of the groups.

    What the slots say is added to ``hists``. There is one for every WIDTH features, or one that
    serves all in turn.
    """
    n_slots, below, steps = slots.kind.shape[0], scratch.view(np.int64), scratch[:, -8:]
    plus, minus, z = scratch[n_slots], scratch[n_slots + 1], scratch[n_slots + 2]
    _find_steps(slots, links, magnitude, steps)
    for begin in range(first, last, WIDTH):
        end, b = min(begin + WIDTH, last), (begin - first) // WIDTH
        hist = hists[b % hists.shape[0]]
        for q in range(n_slots):
            if slots.begins[q]:
                hist[q] = 0
        add_bins(bins, begin, end, slots, hist)
        for f in range(begin, end):
            n_bins = bins.n_bins[f]
            out[f - first, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                for q in range(n_slots):
                    _fill_below(hist[q, f - begin], n_bins, side, below[q])
                _weigh_cuts(below, steps, n_slots, n_bins, magnitude, plus, minus)
                judge(plus, minus, n_bins, edge, limit, z)
                choose(z, n_bins, side, out[f - first])


@compiled(error_model="numpy")
def _find_steps(slots, links, magnitude, steps):
    """Fill in how each slot leads up the chain of groups.

    It turns x, the sum over worse rows below a cut in the lower groups, into r x + t a, where a is
    the share of the group below the cut, and c x is the weight of the pairs with a better row in
    the group, of which the share b is below the cut too; c X is that of all of them. A step is (r,
    a t and b as two factors each for the halves of a word, c, c X, step of the target).
    """
    half = np.int64(HALF - 1)
    whole = gaps = 0.0
    for g in range(links.shape[0]):
        r, t, step, c = links[g, 0], links[g, 1], links[g, 2], links[g, 3]
        gaps += step * whole
        for q in range(slots.of[g], slots.of[g + 1]):
            kind, total = slots.kind[q], slots.total[q]
            steps[q] = 0.0
            steps[q, 0] = 1.0 if kind == BETTER else r
            if kind == BOTH:
                # the halves are below 2^32 in sum, the upper one without a sign
                steps[q, 1] = t / max((total >> 32) & half, 1)
                steps[q, 4] = 1.0 / max(total & half, 1)
            else:
                at, unit = (1, t / max(total, 1)) if kind == WORSE else (3, 1.0 / max(total, 1))
                steps[q, at], steps[q, at + 1] = HALF * unit, unit
            if kind != WORSE:
                steps[q, 5] = c
                steps[q, 6] = c * (gaps if magnitude else whole)
                steps[q, 7] = step
        whole = r * whole + t
        gaps *= r


@compiled(error_model="numpy")
def _fill_below(hist, n_bins, side, below):
    """Fill the sum of the group below each cut.

    Cut p has the bins below p on the low side; missing values are there too if ``side`` is 0.
    """
    total = np.int64(0) if side else hist[n_bins]
    for p in range(n_bins):
        below[p] = total
        total += hist[p]


@compiled(error_model="numpy", fastmath={"contract"})
def _weigh_cuts(below, steps, n_slots, n_bins, magnitude, plus, minus):
    """Fill plus and minus of each cut, eight at a time.

    Of the pairs whose worse row is below a cut, and of those whose better row is, the ones with
    both below are in neither order.
    """
    for p in range(0, n_bins, LANES):
        low, gap = spread(0.0), spread(0.0)
        worse, better, both = spread(0.0), spread(0.0), spread(0.0)
        for q in range(n_slots):
            step = steps[q]
            upper, lower = read_halves(below[q], p)
            b = upper * step[3] + lower * step[4]
            if magnitude:
                gap = gap + step[7] * low
            there = step[5] * gap if magnitude else step[5] * low
            worse, better, both = worse + there, better + step[6] * b, both + there * b
            low = step[0] * low + (upper * step[1] + lower * step[2])
            if magnitude:
                gap = step[0] * gap
        write_lanes(plus, p, worse - both)
        write_lanes(minus, p, better - both)


@compiled(error_model="numpy")
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
