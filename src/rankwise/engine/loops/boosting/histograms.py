"""The best cut of a feature by histograms of the groups.

They are of whole numbers: exact in any order, so they can be kept from round to round, and the
changes of the rows that change are all that is added.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from rankwise.engine.loops.boosting.bins import WIDTH, is_dense
from rankwise.engine.loops.boosting.cuts import choose, judge
from rankwise.engine.loops.boosting.weights import WIDE, update_part_sums
from rankwise.engine.loops.compiled import compiled
from rankwise.engine.machine.lanes import LANES, read_halves, spread, write_lanes

HALF = 2.0**32
# What a histogram is of: the factors a e^-s of a group, those a e^s, or both in one word.
BETTER, WORSE, BOTH = 0, 1, 2
# Least and most of what the sum of a group may be, of a fresh one, and if both share a word.
ROOM, LITTLE_ROOM = (1 / 16, 16.0), (1 / 4, 2.0)
# Columns of what `_fill_chain` fills.
RATIO, WORSE_UPPER, WORSE_LOWER, BETTER_UPPER, BETTER_LOWER, WEIGHT, WHOLE_WEIGHT, STEP = range(8)


class Slots(NamedTuple):
    """What n histograms are of: one ``kind`` of a ``group`` each, in whole numbers.

    Slots:

    - ``group``, ``kind`` (n,): slot q is of the factors ``kind[q]`` of ``group[q]``;
    - ``unit`` (n, 2): what A and B are multiplied by, before they are rounded;
    - ``total`` (n,): the sum of what all rows have;
    - ``begins`` (n,): whether the histogram begins with nothing, and all rows are added;
    - ``first`` (n,): where the values of the slot begin.

    Groups and parts, as in `State`:

    - ``of`` (n_groups + 1,): group g has the slots ``of[g]`` to ``of[g + 1]``;
    - ``groups`` (m,): the group of each row;
    - ``parts`` (n_groups + 1,), ``bounds`` (n_parts + 1,);
    - ``gains`` (n_parts, 2): what a part adds to the total of the first and second slot of its
      group.

    What is added next:

    - ``rows`` (m,), ``n_rows`` (n_parts,): part p adds its rows ``rows[bounds[p]]`` to
      ``rows[bounds[p] + n_rows[p]]``;
    - ``values`` (n_values,): what they add; the k-th row of part p has for slot q the value
      ``first[q] + bounds[p] - bounds[parts[g]] + k``, with g the group of both.
    """

    group: np.ndarray
    kind: np.ndarray
    unit: np.ndarray
    total: np.ndarray
    begins: np.ndarray
    first: np.ndarray
    of: np.ndarray
    groups: np.ndarray
    parts: np.ndarray
    bounds: np.ndarray
    gains: np.ndarray
    rows: np.ndarray
    n_rows: np.ndarray
    values: np.ndarray


@compiled(error_model="numpy")
def fill_slots(state, slots, all_of_them):
    """Fill the slots of groups that are stale, or all, with all rows."""
    for q in range(slots.kind.shape[0]):
        g, kind = slots.group[q], slots.kind[q]
        slots.begins[q] = all_of_them or state.is_stale[g]
        if not slots.begins[q]:
            continue
        start, stop, total = state.starts[g], state.starts[g + 1], np.int64(0)
        most = (HALF if kind == BOTH else WIDE) / state.room[g, 1] - (stop - start)
        up, down = most / state.fresh_sums[g, 0], most / state.fresh_sums[g, 1]
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
def add_step_to_slots(state, slots, alpha, first, last):
    """Do what `add_step` does, and fill the slots with what it changes."""
    for p in range(first, last):
        g, start = state.group[p], state.bounds[p]
        rows = state.picked[start : start + state.n_picked[p]]
        step = alpha if state.picks_above[g] else -alpha
        more, less = np.exp(step), np.exp(-step)
        for q in range(slots.of[g], slots.of[g + 1]):
            kind, up, down = slots.kind[q], slots.unit[q, 0], slots.unit[q, 1]
            out = slots.values[slots.first[q] + start - state.starts[g] :]
            if kind == BOTH:
                gain = _multiply_both(rows, state.A, state.B, more, less, up, down, out)
            elif kind == WORSE:
                gain = _multiply(rows, state.A, more, up, out)
            else:
                gain = _multiply(rows, state.B, less, down, out)
            slots.gains[p, q - slots.of[g]] = gain
        for i in rows:
            state.s[i] += step
        update_part_sums(state, p, more, less)


@compiled(error_model="numpy")
def _multiply(rows, values, factor, unit, out):
    """Multiply the values of rows; fill the changes in whole numbers, and return their sum."""
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
def _multiply_both(rows, A, B, more, less, up, down, out):
    """Do what `_multiply` does for both factors of a row in one word."""
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
def update_slots(state, slots, keep):
    """Let the totals follow a step, and fill the slots of stale groups; all, unless ``keep``."""
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
def rows_and_values(slots, q, p):
    """Return the rows that part p adds, and their values in slot q."""
    start, n = slots.bounds[p], slots.n_rows[p]
    offset = slots.first[q] + start - slots.bounds[slots.parts[slots.group[q]]]
    return slots.rows[start : start + n], slots.values[offset : offset + n]


def add_bins(bins, begin, end, slots, hist):
    """Add the slots to ``hist`` (n, WIDTH, stride), the histograms of features begin to end."""
    _way_to_add(is_dense(bins), bins.codes.dtype.itemsize)(bins, begin, end, slots, hist)


@overload(add_bins)
def _add_bins(bins, begin, end, slots, hist):
    return _way_to_add(is_dense(bins), bins.types[0].dtype.bitwidth // 8)


def _way_to_add(dense, n_bytes):
    if not dense:
        return _add_entries
    return _add_words if n_bytes == 1 else _add_codes


def _add_words(bins, begin, end, slots, hist):
    # The bins of a row are one word.
    words, byte = bins.codes[begin // WIDTH].view(np.uint64)[:, 0], np.uint64(255)
    for q in range(slots.kind.shape[0]):
        cells, g = hist[q], slots.group[q]
        for p in range(slots.parts[g], slots.parts[g + 1]):
            rows, values = rows_and_values(slots, q, p)
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
            rows, values = rows_and_values(slots, q, p)
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


@compiled(error_model="numpy")
def search_groups(bins, first, last, slots, links, objective, hists, out):
    """Fill the best cut of the features first to last, from histograms of the groups.

    Parameters
    ----------
    bins : Dense or Sparse
    first, last : int
        The first is a multiple of WIDTH.
    slots : Slots
        What is added to the histograms.
    links : ndarray of shape (n_groups, 4)
        As in `State`.
    objective : Objective
    hists : ndarray of shape (n_blocks or 1, n_slots, WIDTH, stride)
        The histograms of each WIDTH features; one serves all in turn if none is kept.
    out : ndarray of shape (last - first, 3)
        Filled with (value, cut, side of the missing), as `choose` does.
    """
    n_slots, stride = slots.kind.shape[0], hists.shape[3] + LANES
    below, chain = np.zeros((n_slots, stride), np.int64), np.zeros((n_slots, 8))
    plus, minus, values = np.empty(stride), np.empty(stride), np.empty(stride)
    _fill_chain(slots, links, objective.magnitude, chain)
    for begin in range(first, last, WIDTH):
        end, b = min(begin + WIDTH, last), (begin - first) // WIDTH
        hist = hists[b % hists.shape[0]]
        for q in range(n_slots):
            if slots.begins[q]:
                _fill_zeros(hist[q])
        add_bins(bins, begin, end, slots, hist)
        for f in range(begin, end):
            n_bins = bins.n_bins[f]
            out[f - first, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                for q in range(n_slots):
                    _fill_below(hist[q, f - begin], n_bins, side, below[q])
                _weigh_cuts(below, chain, n_bins, objective.magnitude, plus, minus)
                judge(plus, minus, n_bins, objective, values)
                choose(values, n_bins, side, out[f - first])


@compiled(error_model="numpy")
def _fill_zeros(hist):
    for k in range(hist.shape[0]):
        for p in range(hist.shape[1]):
            hist[k, p] = 0


@compiled(error_model="numpy")
def _fill_chain(slots, links, magnitude, chain):
    """Fill ``chain`` (n_slots, 8): how each slot leads up the chain of groups.

    It turns x, the sum over worse rows below a cut in the lower groups, into r x + t a, where a is
    the share of the group below the cut, and c x is the weight of the pairs with a better row in
    the group, of which the share b is below the cut too; c X is that of all of them. The columns
    are r, two factors for a t and two for b, for the halves of a word, c, c X, and the step of the
    target.
    """
    half = np.int64(HALF - 1)
    whole = gaps = 0.0
    for g in range(links.shape[0]):
        r, t, step, c = links[g, 0], links[g, 1], links[g, 2], links[g, 3]
        gaps += step * whole
        for q in range(slots.of[g], slots.of[g + 1]):
            kind, total = slots.kind[q], slots.total[q]
            chain[q, RATIO] = 1.0 if kind == BETTER else r
            if kind == BOTH:
                # the halves are below 2^32 in sum, the upper one without a sign
                chain[q, WORSE_UPPER] = t / max((total >> 32) & half, 1)
                chain[q, BETTER_LOWER] = 1.0 / max(total & half, 1)
            elif kind == WORSE:
                unit = t / max(total, 1)
                chain[q, WORSE_UPPER], chain[q, WORSE_LOWER] = HALF * unit, unit
            else:
                unit = 1.0 / max(total, 1)
                chain[q, BETTER_UPPER], chain[q, BETTER_LOWER] = HALF * unit, unit
            if kind != WORSE:
                chain[q, WEIGHT] = c
                chain[q, WHOLE_WEIGHT] = c * (gaps if magnitude else whole)
                chain[q, STEP] = step
        whole = r * whole + t
        gaps *= r


@compiled(error_model="numpy")
def _fill_below(hist, n_bins, side, below):
    """Fill ``below`` with the sums of a histogram ``hist`` (stride,) below each cut.

    Cut p has the bins below p on the low side; missing values are there too if ``side`` is 0.
    """
    total = np.int64(0) if side else hist[n_bins]
    for p in range(n_bins):
        below[p] = total
        total += hist[p]


@compiled(error_model="numpy", fastmath={"contract"})
def _weigh_cuts(below, chain, n_bins, magnitude, plus, minus):
    """Fill plus and minus of each cut, eight at a time.

    Of the pairs whose worse row is below a cut, and of those whose better row is, the ones with
    both below are in neither order.
    """
    for p in range(0, n_bins, LANES):
        low, gap = spread(0.0), spread(0.0)
        worse, better, both = spread(0.0), spread(0.0), spread(0.0)
        for q in range(chain.shape[0]):
            link = chain[q]
            upper, lower = read_halves(below[q], p)
            b = upper * link[BETTER_UPPER] + lower * link[BETTER_LOWER]
            if magnitude:
                gap = gap + link[STEP] * low
            there = link[WEIGHT] * gap if magnitude else link[WEIGHT] * low
            worse, better, both = worse + there, better + link[WHOLE_WEIGHT] * b, both + there * b
            low = link[RATIO] * low + (upper * link[WORSE_UPPER] + lower * link[WORSE_LOWER])
            if magnitude:
                gap = link[RATIO] * gap
        write_lanes(plus, p, worse - both)
        write_lanes(minus, p, better - both)


@compiled(error_model="numpy")
def search_edges(bins, first, last, slots, out):
    """Fill the best cut of the features first to last by its edge, from potentials.

    ``slots`` is one of all rows; ``out`` (last - first, 3) is filled as by `search_groups`.
    """
    hist = np.empty((1, WIDTH, bins.n_bins.max() + 1), dtype=np.int64)
    values = np.empty(bins.n_bins.max())
    for begin in range(first, last, WIDTH):
        end = min(begin + WIDTH, last)
        _fill_zeros(hist[0])
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
