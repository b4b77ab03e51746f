r"""RankBoost without its pairs.

Rows are sorted by (query, target); a *group* is a run of rows with the same of both. The pair of a
row i of group g and a row j of a later group g' of the query weighs

.. math:: D_{ij} \propto w_{gg'}\, a_i e^{s_i}\, a_j e^{-s_j} .

The two factors are kept as shares of their group's sums, which are kept as logarithms, so
scores of any size do no harm. Sums over all better or worse rows then follow from group to group
by a chain of ``links``: with x the sum over the lower groups in units of the largest of them, the
next one is r x + t A. A link is (r, t, step of the target, weight of the group as the better one).

Of a base ranker ``bin > cut`` all that counts is how much weight of the pairs it puts in the right
order (plus) and in the wrong one (minus). All cuts of a feature have theirs at once: from
histograms of the groups, or, for many groups, from trees over the bins.

Histograms are of whole numbers: exact in any order, so they can be kept. A round multiplies the
factors on one side of its cut, or divides those on the other: the same, but for the unit of the
group. So only the rows of the smaller side change, and their changes are all that is added.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from rankwise.engine.loops.bins import WIDTH, fill_column

# A choice must be better than one before it by more than the noise of sums.
TIE = 1e-12
# Powers of e by which factors may move before they are computed anew.
SPAN = 300.0
WIDE = 2.0**61
HALF = 2.0**32
# What a histogram is of: the factors a e^s of a group, those a e^-s, or both in one word.
WORSE, BETTER, BOTH = 0, 1, 2
# Least and most of what the sum of a group may be, of a fresh one, and if both share a word.
ROOM, LITTLE_ROOM = (1 / 16, 16.0), (1 / 4, 2.0)


class State(NamedTuple):
    """The groups, the factors of their rows, and how the last base ranker splits them.

    Group g has the rows ``starts[g]`` to ``starts[g + 1]``. ``lead`` and ``tail`` mark the worst
    and the best group of a query: the first is never the better one, the last never the worse. The
    scores are ``s + base``, the factors ``A`` and ``B`` in units of e^shift, with the ``sums`` that
    were ``fresh`` when they were last computed ``anew``. ``picked`` lists the ``count`` rows of each
    group on the smaller ``side`` of a base ranker; ``parts`` has the sums of A there and elsewhere,
    and those of B.
    """

    starts: np.ndarray
    lead: np.ndarray
    tail: np.ndarray
    y: np.ndarray
    a: np.ndarray
    s: np.ndarray
    base: np.ndarray
    A: np.ndarray
    B: np.ndarray
    shift: np.ndarray
    sums: np.ndarray
    fresh: np.ndarray
    anew: np.ndarray
    room: np.ndarray
    logs: np.ndarray
    links: np.ndarray
    picked: np.ndarray
    count: np.ndarray
    side: np.ndarray
    parts: np.ndarray


class Slots(NamedTuple):
    """What histograms are of: one ``kind`` of a ``group`` each, in whole numbers.

    Slot q adds ``values[first[q] + t]`` for each row ``rows[start[q] + t]``, ``count[q]`` times:
    all rows and what they have, or those that change, and by how much. ``total[q]`` is the sum of
    what all have. Group g has the slots ``of[g]`` to ``of[g + 1]``, row i the group ``groups[i]``.
    """

    group: np.ndarray
    kind: np.ndarray
    unit: np.ndarray
    total: np.ndarray
    of: np.ndarray
    groups: np.ndarray
    rows: np.ndarray
    start: np.ndarray
    count: np.ndarray
    values: np.ndarray
    first: np.ndarray


@njit(cache=True, nogil=True)
def refresh(state):
    """Fill the factors in units of each group's largest, and their sums, where it is due."""
    for g in range(state.y.shape[0]):
        if not state.anew[g]:
            continue
        rows = slice(state.starts[g], state.starts[g + 1])
        s, a = state.s[rows], state.a[rows]
        top, low = s.max(), s.min()
        state.shift[g, 0], state.shift[g, 1] = state.base[g] + top, -state.base[g] - low
        state.sums[g, 0] = 1.0 if state.tail[g] else _powers(a, s, top, 1.0, state.A[rows])
        state.sums[g, 1] = 1.0 if state.lead[g] else _powers(a, s, low, -1.0, state.B[rows])
        state.fresh[g] = state.sums[g]


@njit(cache=True, nogil=True)
def _powers(a, s, middle, sign, out):
    total = 0.0
    for i in range(out.shape[0]):
        out[i] = a[i] * np.exp(sign * (s[i] - middle))
        total += out[i]
    return total


@njit(cache=True, nogil=True)
def move(state, alpha):
    """Add alpha to the scores that `sides` was last asked about, and follow with the factors.

    Groups whose sums leave the room that they have around fresh ones are marked.
    """
    for g in range(state.y.shape[0]):
        rows = state.picked[state.starts[g] : state.starts[g] + state.count[g]]
        step = alpha if state.side[g] else -alpha
        if not state.side[g]:
            state.base[g] += alpha
            state.shift[g, 0] += alpha
            state.shift[g, 1] -= alpha
        for i in rows:
            state.s[i] += step
        for way in range(2):
            if state.lead[g] if way else state.tail[g]:
                continue
            values, factor = (state.B, np.exp(-step)) if way else (state.A, np.exp(step))
            for i in rows:
                values[i] *= factor
            total = state.parts[g, way, 1] + factor * state.parts[g, way, 0]
            state.sums[g, way] = total
            grown = total / state.fresh[g, way]
            state.anew[g] |= not state.room[g, 0] <= grown <= state.room[g, 1]


@njit(cache=True, nogil=True)
def find_links(state, magnitude):
    """Fill the links and the logarithms of the groups' sums; return that of the total weight."""
    y, lead, shift, sums = state.y, state.lead, state.shift, state.sums
    links, logs, n = state.links, state.logs, state.y.shape[0]
    lower = gaps = 0.0
    peak, top = -np.inf, -np.inf
    for g in range(n):
        logs[g, 0] = shift[g, 0] + np.log(sums[g, 0])
        logs[g, 1] = shift[g, 1] + np.log(sums[g, 1])
        if lead[g]:
            peak, lower, gaps = logs[g, 0], 1.0, 0.0
            links[g, 0], links[g, 1], links[g, 2], links[g, 3] = 0.0, 1.0, 0.0, -np.inf
            continue
        step = y[g] - y[g - 1]
        gaps += step * lower
        exponent = peak + logs[g, 1]
        links[g, 2], links[g, 3] = step, exponent
        top = max(top, exponent + np.log(gaps if magnitude else lower))
        higher = max(peak, logs[g, 0])
        links[g, 0], links[g, 1] = np.exp(peak - higher), np.exp(logs[g, 0] - higher)
        lower = links[g, 0] * lower + links[g, 1]
        gaps *= links[g, 0]
        peak = higher
    total = 0.0
    for g in range(n):
        if lead[g]:
            lower, gaps = 1.0, 0.0
            continue
        gaps += links[g, 2] * lower
        total += np.exp(links[g, 3] - top) * (gaps if magnitude else lower)
        lower = links[g, 0] * lower + links[g, 1]
        gaps *= links[g, 0]
    total = top + np.log(total)
    for g in range(n):
        links[g, 3] = np.exp(links[g, 3] - total)
    return total


@njit(cache=True, nogil=True)
def sides(state, h, magnitude):
    """Return (plus, minus) of the base ranker that is 1 for the rows in h, and pick its rows."""
    plus = minus = low0 = low1 = gap0 = gap1 = 0.0
    for g in range(state.y.shape[0]):
        links = state.links[g]
        r, t, step, c = links[0], links[1], links[2], links[3]
        start, stop = state.starts[g], state.starts[g + 1]
        mine, rows = h[start:stop], state.picked[start:stop]
        side, n = _pick(mine, start, rows)
        state.side[g], state.count[g] = side, n
        if not state.lead[g]:
            gap0 += step * low0
            gap1 += step * low1
            parts, total = state.parts[g, 1], state.sums[g, 1]
            _apart(mine, side, state.B, start, rows[:n], total, parts)
            plus += c * (gap0 if magnitude else low0) * (parts[1 - side] / total)
            minus += c * (gap1 if magnitude else low1) * (parts[side] / total)
        if not state.tail[g]:
            parts, total = state.parts[g, 0], state.sums[g, 0]
            _apart(mine, side, state.A, start, rows[:n], total, parts)
            low0 = r * low0 + t * (parts[side] / total)
            low1 = r * low1 + t * (parts[1 - side] / total)
            gap0 *= r
            gap1 *= r
    return plus, minus


@njit(cache=True, nogil=True)
def _pick(h, start, out):
    """Fill in the rows on the smaller side of h; return which side it is, and how many there are."""
    n = 0
    for i in range(h.shape[0]):
        n += h[i]
    side = np.int64(2 * n <= h.shape[0])
    k = np.uint64(0)
    for i in range(h.shape[0]):
        out[k] = start + i
        k += np.uint64(h[i] == side)
    return side, np.int64(k)


@njit(cache=True, nogil=True)
def _apart(h, side, values, start, rows, total, parts):
    """Fill in the sums of the values of the rows picked, and of the others.

    The latter is what is left of the total, unless that would be imprecise.
    """
    within = 0.0
    for i in rows:
        within += values[i]
    rest = total - within
    if rest < within:
        rest = 0.0
        for i in range(h.shape[0]):
            rest += values[start + i] * (h[i] != side)
    parts[0], parts[1] = within, rest


@njit(cache=True, nogil=True)
def potentials(state, magnitude, out):
    """Fill what D gives each row as the better of its pairs, less what it gives it as the worse.

    In whole numbers, 2^61 being the weight of all pairs.
    """
    n, sums = state.y.shape[0], state.sums
    worse, better = np.empty(n), np.empty(n)
    lower = gaps = 0.0
    for g in range(n):
        link = state.links[g]
        r, t, step, c = link[0], link[1], link[2], link[3]
        gaps += step * lower
        better[g] = c * (gaps if magnitude else lower)
        lower = r * lower + t
        gaps *= r
    lower = gaps = 0.0
    for g in range(n - 1, -1, -1):
        link = state.links[g]
        r, t, step, c = link[0], link[1], link[2], link[3]
        worse[g] = t * lower
        gaps = r * gaps + (c if magnitude else 0.0)
        lower = r * lower + step * gaps + (0.0 if magnitude else c)
    for g in range(n):
        up, down = WIDE * better[g] / sums[g, 1], WIDE * worse[g] / sums[g, 0]
        for i in range(state.starts[g], state.starts[g + 1]):
            out[i] = np.int64(up * state.B[i] - down * state.A[i])


@njit(cache=True, nogil=True)
def fill_slots(state, slots, all_of_them):
    """Fill the slots of groups that are anew, or all, with all rows."""
    for q in range(slots.kind.shape[0]):
        g, kind, start, first = slots.group[q], slots.kind[q], slots.start[q], slots.first[q]
        if not (all_of_them or state.anew[g]):
            continue
        n, total = state.starts[g + 1] - start, np.int64(0)
        most = (HALF if kind == BOTH else WIDE) / state.room[g, 1] - n
        slots.unit[q] = most / state.fresh[g]
        up, down = slots.unit[q, 0], slots.unit[q, 1]
        for t in range(n):
            i = start + t
            state.picked[i] = i
            value = _whole(kind, up * state.A[i], down * state.B[i])
            slots.values[first + t] = value
            total += value
        slots.count[q], slots.total[q] = n, total


@njit(cache=True, nogil=True)
def change_slots(state, slots, alpha):
    """Fill the slots with what `move` will change."""
    for q in range(slots.kind.shape[0]):
        g, kind, start, first = slots.group[q], slots.kind[q], slots.start[q], slots.first[q]
        n, total = state.count[g], np.int64(0)
        step = alpha if state.side[g] else -alpha
        up, down, more, less = slots.unit[q, 0], slots.unit[q, 1], np.exp(step), np.exp(-step)
        for t in range(n):
            i = state.picked[start + t]
            a, b = state.A[i], state.B[i]
            change = _whole(kind, up * (a * more), down * (b * less))
            change -= _whole(kind, up * a, down * b)
            slots.values[first + t] = change
            total += change
        slots.count[q] = n
        slots.total[q] += total


@njit(cache=True, nogil=True)
def _whole(kind, a, b):
    if kind == BOTH:
        return (np.int64(a + 0.5) << 32) + np.int64(b + 0.5)
    return np.int64((a if kind == WORSE else b) + 0.5)


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
        rows = slots.rows[slots.start[q] : slots.start[q] + slots.count[q]]
        values = slots.values[slots.first[q] : slots.first[q] + slots.count[q]]
        cells = hist[q]
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
        for t in range(slots.count[q]):
            codes, value = block[slots.rows[slots.start[q] + t]], slots.values[slots.first[q] + t]
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
                value = slots.values[slots.first[q] + i - slots.start[q]]
                cells[q, bins.codes[p]] += value
                cells[q, zero] -= value


@njit(cache=True, nogil=True)
def search_groups(bins, first, last, slots, anew, links, magnitude, edge, limit, hists, out):
    """Fill the best cut of the features first to last, from histograms of the groups.

    What the slots say is added to ``hists``, which begin with nothing for groups that are anew.
    There is one for every WIDTH features, or one that serves all in turn.
    """
    n_groups, stride = links.shape[0], hists.shape[3]
    chain, found, low = np.empty((4, stride)), np.empty((2, stride)), np.empty((2, stride))
    z = np.empty(stride)
    for begin in range(first, last, WIDTH):
        end, b = min(begin + WIDTH, last), (begin - first) // WIDTH
        hist = hists[b % hists.shape[0]]
        for q in range(hist.shape[0]):
            if anew[slots.group[q]]:
                hist[q] = 0
        add_bins(bins, begin, end, slots, hist)
        for f in range(begin, end):
            n_bins = bins.n_bins[f]
            out[f - first, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                chain[:] = 0.0
                found[:] = 0.0
                for g in range(n_groups):
                    for q in range(slots.of[g], slots.of[g + 1]):
                        cells = hist[q, f - begin]
                        if slots.kind[q] == BOTH:
                            _share_of_halves(cells, slots.total[q], n_bins, side, low)
                        else:
                            _share(cells, slots.total[q], n_bins, side, low[slots.kind[q]])
                    _follow(links[g], n_bins, magnitude, low, chain, found)
                _judge(found[0], found[1], n_bins, edge, limit, z)
                _choose(z, n_bins, side, out[f - first])


@njit(cache=True, nogil=True)
def _judge(plus, minus, n_bins, edge, limit, out):
    """Fill what each cut is to be judged by, less is better: -|plus - minus|, or Z.

    Z is for the best step, whose size is at most half the logarithm of the limit.
    """
    most, least = np.sqrt(limit), 1.0 / np.sqrt(limit)
    if edge:
        for p in range(n_bins):
            out[p] = -abs(plus[p] - minus[p])
    else:
        for p in range(n_bins):
            right, wrong = max(plus[p], 0.0), max(minus[p], 0.0)
            low, high = min(right, wrong), max(right, wrong)
            capped, free = high * least + low * most, 2.0 * np.sqrt(right * wrong)
            out[p] = 1.0 - right - wrong + (capped if high > limit * low else free)


@njit(cache=True, nogil=True)
def _choose(values, n_bins, side, best):
    """Let ``best`` be (value, position of the cut, side of the missing) if one here is better."""
    for p in range(n_bins):
        if values[p] < best[0] - TIE:
            best[0], best[1], best[2] = values[p], p, side


@njit(cache=True, nogil=True)
def _share(hist, total, n_bins, side, low):
    """Fill the share of the group below each cut.

    Cut p has the bins below p on the low side; missing values are there too if ``side`` is 0.
    """
    scale = 1.0 / max(total, 1)
    below = np.int64(0) if side else hist[n_bins]
    low[0] = below * scale
    for p in range(1, n_bins):
        below += hist[p - 1]
        low[p] = below * scale


@njit(cache=True, nogil=True)
def _share_of_halves(hist, total, n_bins, side, low):
    """Fill both shares of the group below each cut, from words of two halves."""
    half = np.int64(HALF - 1)
    # The halves are below 2^32 in sum, the upper one without a sign.
    up = 1.0 / max((total >> 32) & half, 1)
    down = 1.0 / max(total & half, 1)
    below = np.int64(0) if side else hist[n_bins]
    for p in range(n_bins):
        if p > 0:
            below += hist[p - 1]
        low[0, p] = ((below >> 32) & half) * up
        low[1, p] = (below & half) * down


@njit(cache=True, nogil=True)
def _follow(link, n_bins, magnitude, low, chain, found):
    """Go one group up the chain with all cuts of a feature."""
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
    for p in range(n_bins):
        low0[p] = r * low0[p] + t * a[p]
        low1[p] = r * low1[p] + t * (1.0 - a[p])


@njit(cache=True, nogil=True)
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
                _choose(values, n_bins, side, out[f - first])


@njit(cache=True, nogil=True)
def lazy_scales(state, total, scales):
    """Fill the scales by which trees over the bins are filled and read, walking up and down.

    A tree holds factors in units of e^c, and c moves only when a factor exceeds it by SPAN:
    ``scales[way, g]`` is (what the tree is multiplied by before group g goes in, factor of what
    goes in, factor of what is read before).
    """
    logs, n = state.logs, state.y.shape[0]
    for way in range(2):
        c = 0.0
        for step in range(n):
            g = step if way == 0 else n - 1 - step
            mine = logs[g, way]
            if state.lead[g] if way == 0 else state.tail[g]:
                c = mine
            scales[way, g, 2] = np.exp(logs[g, 1 - way] + c - total)
            scales[way, g, 0] = 1.0
            if mine > c + SPAN:
                scales[way, g, 0] = np.exp(c - mine)
                c = mine
            scales[way, g, 1] = np.exp(mine - c)


@njit(cache=True, nogil=True)
def search_dominance(bins, first, last, state, scales, magnitude, limit, out):
    """Fill the best cut of the features first to last, whatever the number of groups.

    A walk up the targets keeps a tree of the worse rows over the bins, one down a tree of the
    better ones; each row then says where the pairs that it is in begin or cease to be split.
    """
    stride = bins.n_bins.max() + 2
    column = np.empty(state.s.shape[0], dtype=np.int64)
    tree, found, z = np.zeros((2, stride + 1)), np.empty((2, stride)), np.empty(stride)
    for f in range(first, last):
        out[f - first, 0] = np.inf
        n_bins = bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            fill_column(bins, f, column)
            place_missing(column, n_bins, side)
            found[:] = 0.0
            _walk(column, state, 0, scales[0], magnitude, tree, found)
            _walk(column, state, 1, scales[1], magnitude, tree, found)
            for p in range(1, n_bins):
                found[0, p] += found[0, p - 1]
                found[1, p] += found[1, p - 1]
            _judge(found[0], found[1], n_bins, False, limit, z)
            _choose(z, n_bins, side, out[f - first])


@njit(cache=True, nogil=True)
def place_missing(column, n_bins, side):
    """Make room for missing values: before the first bin, or after the last."""
    for i in range(column.shape[0]):
        column[i] = column[i] + 1 if column[i] < n_bins else (n_bins + 1) * side


@njit(cache=True, nogil=True)
def _walk(column, state, way, scales, magnitude, tree, found):
    """Add to ``found`` where pairs begin (the way down) or cease (the way up) to be split."""
    y, starts, sums, n, size = state.y, state.starts, state.sums, state.y.shape[0], tree.shape[1]
    resets = state.lead if way == 0 else state.tail
    kept, asked = (state.A, state.B) if way == 0 else (state.B, state.A)
    whole = moment = 0.0
    begun = 0 if way == 0 else starts[n]
    tree[:] = 0.0
    for step in range(n):
        g = step if way == 0 else n - 1 - step
        rescale, into, out = scales[g, 0], scales[g, 1], scales[g, 2]
        if resets[g]:
            now = starts[g] if way == 0 else starts[g + 1]
            for i in range(min(begun, now), max(begun, now)):
                p = column[i] + 1
                while p < size and (tree[0, p] != 0.0 or tree[1, p] != 0.0):
                    tree[0, p] = tree[1, p] = 0.0
                    p += p & -p
            whole = moment = 0.0
            begun = now
        else:
            for i in range(starts[g], starts[g + 1]):
                bin_ = column[i]
                below, upto = _prefix(tree, bin_), _prefix(tree, bin_ + 1)
                if magnitude:
                    lower = y[g] * below[0] - below[1]
                    higher = y[g] * (whole - upto[0]) - (moment - upto[1])
                else:
                    lower, higher = below[0], whole - upto[0]
                value = asked[i] / sums[g, 1 - way] * out
                if way == 0:
                    found[0, bin_] -= value * lower
                    found[1, bin_] += value * higher
                else:
                    sign = -1.0 if magnitude else 1.0
                    found[0, bin_] += value * higher * sign
                    found[1, bin_] -= value * lower * sign
        if rescale != 1.0:
            tree *= rescale
            whole *= rescale
            moment *= rescale
        for i in range(starts[g], starts[g + 1]):
            value = kept[i] / sums[g, way] * into
            whole += value
            moment += value * y[g]
            p = column[i] + 1
            while p < size:
                tree[0, p] += value
                tree[1, p] += value * y[g]
                p += p & -p


@njit(cache=True, nogil=True)
def _prefix(tree, p):
    value = moment = 0.0
    while p > 0:
        value += tree[0, p]
        moment += tree[1, p]
        p &= p - 1
    return value, moment


@njit(cache=True, nogil=True)
def pair_shares(s, worse, better, logs, D):
    """Fill the shares of given pairs in the weight of all; return the logarithm of the latter."""
    top = -np.inf
    for p in range(D.shape[0]):
        D[p] = logs[p] + s[worse[p]] - s[better[p]]
        top = max(top, D[p])
    total = 0.0
    for p in range(D.shape[0]):
        D[p] = np.exp(D[p] - top)
        total += D[p]
    for p in range(D.shape[0]):
        D[p] /= total
    return top + np.log(total)


@njit(cache=True, nogil=True)
def pair_potentials(worse, better, D, out):
    """Fill the potentials of the rows, as `potentials` does."""
    out[:] = 0
    for p in range(D.shape[0]):
        value = np.int64(WIDE * D[p])
        out[better[p]] += value
        out[worse[p]] -= value


@njit(cache=True, nogil=True)
def pair_sides(h, worse, better, D):
    """Return (plus, minus) of the base ranker that is 1 for the rows in h."""
    plus = minus = 0.0
    for p in range(D.shape[0]):
        plus += D[p] * (h[better[p]] > h[worse[p]])
        minus += D[p] * (h[better[p]] < h[worse[p]])
    return plus, minus


@njit(cache=True, nogil=True)
def search_pairs(bins, first, last, worse, better, D, n_rows, limit, out):
    """Fill the best cut of the features first to last, for given pairs."""
    column = np.empty(n_rows, dtype=np.int64)
    found, z = np.empty((2, bins.n_bins.max() + 2)), np.empty(bins.n_bins.max())
    for f in range(first, last):
        out[f - first, 0] = np.inf
        n_bins = bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            fill_column(bins, f, column)
            place_missing(column, n_bins, side)
            found[:] = 0.0
            for p in range(D.shape[0]):
                i, j = column[worse[p]], column[better[p]]
                if i < j:
                    found[0, i] += D[p]
                    found[0, j] -= D[p]
                elif j < i:
                    found[1, j] += D[p]
                    found[1, i] -= D[p]
            for p in range(1, n_bins):
                found[0, p] += found[0, p - 1]
                found[1, p] += found[1, p - 1]
            _judge(found[0], found[1], n_bins, False, limit, z)
            _choose(z, n_bins, side, out[f - first])


def fill_split(bins, f, cut, above, h):  # pragma: no cover
    """Fill h with the base ranker: 1 for rows above the cut, and for missing ones if ``above``."""
    raise TypeError("fill_split runs in compiled code only")


@overload(fill_split)
def _fill_split(bins, f, cut, above, h):
    if isinstance(bins.types[0], types.Array) and bins.types[0].ndim == 3:

        def dense(bins, f, cut, above, h):
            # A missing value has the highest code.
            block, k = bins.codes[f // WIDTH], f % WIDTH
            low, width = np.uint32(cut), np.uint32(bins.n_bins[f] - 1 + above - cut)
            for i in range(h.shape[0]):
                h[i] = np.uint32(np.uint32(block[i, k]) - low) <= width

        return dense

    def by_column(bins, f, cut, above, h):
        h[:] = bins.zero[f] >= cut
        for p in range(bins.indptr[f], bins.indptr[f + 1]):
            code = bins.codes[p]
            h[bins.rows[p]] = above if code == bins.n_bins[f] else code >= cut

    return by_column


@njit(cache=True, nogil=True)
def split(bins, f, cut, above, h):
    """Fill h as `fill_split` does, and return how many rows are in it."""
    fill_split(bins, f, cut, above, h)
    total = 0
    for i in range(h.shape[0]):
        total += h[i]
    return total
