r"""RankBoost without its pairs.

Rows are sorted by (query, target); a *group* is a run of rows with the same of both. The pair of a
row i of group g and a row j of a later group g' of the query weighs

.. math:: D_{ij} \propto w_{gg'}\, a_i e^{s_i}\, a_j e^{-s_j} .

The two factors are kept as shares of their group's sums, which are kept as logarithms, so
scores of any size do no harm. Sums over all better or worse rows then follow from group to group
by a chain of ``links``: with x the sum over the lower groups in units of the largest of them, the
next one is r x + t A. A link is (r, t, step of the target, weight of the group as the better one).

Of a base ranker ``bin > cut`` all that counts is how much weight of the pairs it puts in the right
order (plus) and in the wrong one (minus).

A round multiplies the factors on one side of its cut, or divides those on the other: the same, but
for the unit of the group. So only the rows of the smaller side change.

What goes through the rows does so by *parts* of groups, first to last, which threads can share;
sums are by part and then by group, so they are the same whoever makes them.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from rankwise.engine.loops.bins import WIDTH
from rankwise.engine.loops.compiled import compiled

# Powers of e by which factors may move before they are computed anew.
SPAN = 300.0
# The weight of all pairs, or the most that a group may have, as a whole number.
WIDE = 2.0**61


class State(NamedTuple):
    """The groups, the factors of their rows, and how the last base ranker splits them.

    Group g has the rows ``starts[g]`` to ``starts[g + 1]``, and the parts ``parts[g]`` to
    ``parts[g + 1]``; part p belongs to ``group[p]`` and has the rows ``bounds[p]`` to
    ``bounds[p + 1]``. ``lead`` and ``tail`` mark the worst and the best group of a query: the first
    is never the better one, the last never the worse. The scores are ``s + base``, the factors
    ``A`` and ``B`` in units of e^shift. Their ``sums`` were ``fresh`` when they were last computed
    ``anew``, and have ``room`` around that; scores have ``moved`` by so much since all were.
    ``part_sums`` are those of the parts.

    A base ranker has ``n_above`` rows of each part; ``side`` is 1 for groups where these are the
    fewer ones. ``picked`` lists the ``n_picked`` rows of each part on the smaller side of its
    group, and ``split`` has their sums of A and those of the others, and the same of B.
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
    moved: np.ndarray
    parts: np.ndarray
    group: np.ndarray
    bounds: np.ndarray
    part_sums: np.ndarray
    n_above: np.ndarray
    side: np.ndarray
    picked: np.ndarray
    n_picked: np.ndarray
    split: np.ndarray


@compiled(error_model="numpy")
def refresh(state):
    """Fill the factors in units of each group's largest, and their sums, where it is due."""
    for g in range(state.y.shape[0]):
        if not state.anew[g]:
            continue
        rows = slice(state.starts[g], state.starts[g + 1])
        s, a = state.s[rows], state.a[rows]
        top, low = -np.inf, np.inf
        for i in range(s.shape[0]):
            top, low = max(top, s[i]), min(low, s[i])
        state.shift[g, 0], state.shift[g, 1] = state.base[g] + top, -state.base[g] - low
        for p in range(state.parts[g], state.parts[g + 1]):
            rows = slice(state.bounds[p], state.bounds[p + 1])
            s, a = state.s[rows], state.a[rows]
            if not state.tail[g]:
                state.part_sums[p, 0] = _powers(a, s, top, 1.0, state.A[rows])
            if not state.lead[g]:
                state.part_sums[p, 1] = _powers(a, s, low, -1.0, state.B[rows])
        for way in range(2):
            state.sums[g, way] = state.fresh[g, way] = _sum_of_parts(state, g, way)


@compiled(error_model="numpy")
def _powers(a, s, middle, sign, out):
    total = 0.0
    for i in range(out.shape[0]):
        out[i] = a[i] * np.exp(sign * (s[i] - middle))
        total += out[i]
    return total


@compiled(error_model="numpy")
def _sum_of_parts(state, g, way):
    """Return the sum of a group's factors; 1 if it has none."""
    if state.lead[g] if way else state.tail[g]:
        return 1.0
    total = 0.0
    for p in range(state.parts[g], state.parts[g + 1]):
        total += state.part_sums[p, way]
    return total


@compiled(error_model="numpy")
def move(state, alpha, first, last):
    """Add alpha to the scores of the rows that were picked, and follow with the factors."""
    for p in range(first, last):
        g, start = state.group[p], state.bounds[p]
        rows = state.picked[start : start + state.n_picked[p]]
        step = alpha if state.side[g] else -alpha
        more, less = np.exp(step), np.exp(-step)
        for i in rows:
            state.s[i] += step
        if not state.tail[g]:
            for i in rows:
                state.A[i] *= more
        if not state.lead[g]:
            for i in rows:
                state.B[i] *= less
        move_sums(state, p, more, less)


@compiled(error_model="numpy")
def move_sums(state, p, more, less):
    """Follow with the sums of a part."""
    g, split, sums = state.group[p], state.split[p], state.part_sums[p]
    if not state.tail[g]:
        sums[0] = split[0, 1] + more * split[0, 0]
    if not state.lead[g]:
        sums[1] = split[1, 1] + less * split[1, 0]


@compiled(error_model="numpy")
def settle(state, alpha, magnitude):
    """Follow with what is of whole groups; return the logarithm of the total weight.

    Groups whose sums leave the room that they have around fresh ones are computed anew.
    """
    state.moved[0] += abs(alpha)
    far = state.moved[0] > SPAN
    for g in range(state.y.shape[0]):
        state.anew[g] = far
        if not state.side[g]:
            state.base[g] += alpha
            state.shift[g, 0] += alpha
            state.shift[g, 1] -= alpha
        for way in range(2):
            state.sums[g, way] = _sum_of_parts(state, g, way)
            grown = state.sums[g, way] / state.fresh[g, way]
            state.anew[g] |= not state.room[g, 0] <= grown <= state.room[g, 1]
    if far:
        state.moved[0] = 0.0
    refresh(state)
    return find_links(state, magnitude)


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
def count(state, h, first, last):
    """Count the rows in h, part by part."""
    for p in range(first, last):
        mine, n = h[state.bounds[p] : state.bounds[p + 1]], 0
        for i in range(mine.shape[0]):
            n += mine[i]
        state.n_above[p] = n


@compiled(error_model="numpy")
def pick(state, h, first, last):
    """Pick the rows on the smaller side of h, and sum the factors of them and of the others."""
    for p in range(first, last):
        g, start, stop = state.group[p], state.bounds[p], state.bounds[p + 1]
        n_above = state.n_above[state.parts[g] : state.parts[g + 1]].sum()
        side = np.uint8(2 * n_above <= state.starts[g + 1] - state.starts[g])
        state.side[g] = side
        mine, rows, k = h[start:stop], state.picked[start:stop], np.uint64(0)
        for i in range(mine.shape[0]):
            rows[k] = start + i
            k += np.uint64(mine[i] == side)
        n = state.n_picked[p] = np.int64(k)
        for way in range(2):
            if not (state.lead[g] if way else state.tail[g]):
                values = (state.B if way else state.A)[start:stop]
                total, out = state.part_sums[p, way], state.split[p, way]
                _apart(mine, side, values, start, rows[:n], total, out)


@compiled(error_model="numpy")
def _apart(h, side, values, start, rows, total, out):
    """Fill in the sums of the values of the rows picked, and of the others.

    The latter is what is left of the total, unless that would be imprecise.
    """
    within = 0.0
    for i in rows:
        within += values[np.uint64(i - start)]
    rest = total - within
    if rest < within:
        rest = 0.0
        for i in range(h.shape[0]):
            rest += values[i] * (h[i] != side)
    out[0], out[1] = within, rest


@compiled(error_model="numpy")
def weigh_sides(state, magnitude):
    """Return (plus, minus) of the base ranker whose rows were picked."""
    plus = minus = low0 = low1 = gap0 = gap1 = 0.0
    for g in range(state.y.shape[0]):
        links = state.links[g]
        r, t, step, c = links[0], links[1], links[2], links[3]
        side = state.side[g]
        if not state.lead[g]:
            gap0 += step * low0
            gap1 += step * low1
            above, below = _shares(state, g, 1, side)
            plus += c * (gap0 if magnitude else low0) * above
            minus += c * (gap1 if magnitude else low1) * below
        if not state.tail[g]:
            above, below = _shares(state, g, 0, side)
            low0 = r * low0 + t * below
            low1 = r * low1 + t * above
            gap0 *= r
            gap1 *= r
    return plus, minus


@compiled(error_model="numpy")
def _shares(state, g, way, side):
    """Return the shares of a group's factors above the cut and below it."""
    within = rest = 0.0
    for p in range(state.parts[g], state.parts[g + 1]):
        within += state.split[p, way, 0]
        rest += state.split[p, way, 1]
    total = state.sums[g, way]
    return (within / total, rest / total) if side else (rest / total, within / total)


@compiled(error_model="numpy")
def best_step(sides, limit):
    """Return the step of least loss, whose size is at most half the logarithm of the limit."""
    (plus, minus), cap = sides, 0.5 * np.log(limit)
    if minus <= 0.0 or plus <= 0.0:
        return cap * ((plus > 0.0) - (minus > 0.0))
    return min(max(0.5 * (np.log(plus) - np.log(minus)), -cap), cap)


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
def pair_potentials(worse, better, D, out):
    """Fill the potentials of the rows, as `potentials` does."""
    out[:] = 0
    for p in range(D.shape[0]):
        value = np.int64(WIDE * D[p])
        out[better[p]] += value
        out[worse[p]] -= value


@compiled(error_model="numpy")
def pair_sides(h, worse, better, D):
    """Return (plus, minus) of the base ranker that is 1 for the rows in h."""
    plus = minus = 0.0
    for p in range(D.shape[0]):
        plus += D[p] * (h[better[p]] > h[worse[p]])
        minus += D[p] * (h[better[p]] < h[worse[p]])
    return plus, minus


def fill_split(bins, f, cut, above, start, h):  # pragma: no cover
    """Fill h with the base ranker: 1 for rows above the cut, and for missing ones if ``above``.

    Row 0 of h is row ``start``.
    """
    raise TypeError("fill_split runs in compiled code only")


@overload(fill_split)
def _fill_split(bins, f, cut, above, start, h):
    if isinstance(bins.types[0], types.Array) and bins.types[0].ndim == 3:

        def dense(bins, f, cut, above, start, h):
            # A missing value has the highest code.
            block, k = bins.codes[f // WIDTH, start:], f % WIDTH
            low, width = np.uint32(cut), np.uint32(bins.n_bins[f] - 1 + above - cut)
            for i in range(h.shape[0]):
                h[i] = np.uint32(np.uint32(block[i, k]) - low) <= width

        return dense

    def by_column(bins, f, cut, above, start, h):
        h[:] = bins.zero[f] >= cut
        for p in range(bins.indptr[f], bins.indptr[f + 1]):
            i, code = bins.rows[p] - start, bins.codes[p]
            if 0 <= i < h.shape[0]:
                h[i] = above if code == bins.n_bins[f] else code >= cut

    return by_column


@compiled(error_model="numpy")
def split(bins, f, cut, above, h):
    """Fill h as `fill_split` does, and return how many rows are in it."""
    fill_split(bins, f, cut, above, 0, h)
    total = 0
    for i in range(h.shape[0]):
        total += h[i]
    return total
