r"""The weights of all pairs of different targets, without the pairs.

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

from rankwise.engine.loops.boosting.bins import fill_above
from rankwise.engine.loops.compiled import compiled

# Powers of e by which factors may move before they are computed anew.
SPAN = 300.0
# The weight of all pairs, or the most that a group may have, as a whole number.
WIDE = 2.0**61


class State(NamedTuple):
    """The n groups of m rows, the factors of the rows, and how the last base ranker splits them.

    Groups:

    - ``starts`` (n + 1,): group g has the rows ``starts[g]`` to ``starts[g + 1]``;
    - ``is_lowest``, ``is_highest`` (n,): the worst and the best group of a query. The first is
      never the better one of a pair, the last never the worse;
    - ``y`` (n,): targets.

    Scores and factors, in columns 0 for A and 1 for B:

    - ``a`` (m,): row weights;
    - ``s`` (m,), ``base`` (n,): the score of a row is ``s`` plus the base of its group;
    - ``A``, ``B`` (m,): factors a e^score and a e^-score, in units of e^shift; not in use for the
      highest and the lowest groups;
    - ``shift``, ``sums``, ``logs`` (n, 2): the unit of a group's factors, their sum in that unit,
      and the logarithm of the sum;
    - ``fresh_sums`` (n, 2): the sums when the factors were last computed from the scores;
    - ``is_stale`` (n,): groups whose factors are to be computed from the scores, or just were;
    - ``room`` (n, 2): least and most of sums / fresh_sums;
    - ``travelled`` (1,): how far scores have moved since all factors were computed from them;
    - ``links`` (n, 4): see above.

    Parts, of which there are p:

    - ``parts`` (n + 1,): group g has the parts ``parts[g]`` to ``parts[g + 1]``;
    - ``group`` (p,), ``bounds`` (p + 1,): the group of each part, and its first row;
    - ``part_sums`` (p, 2): the sums of factors.

    A base ranker:

    - ``n_above`` (p,): the rows where it is 1;
    - ``picks_above`` (n,): 1 if these are at most half of the group's rows. The rows where it is 1
      are then picked, otherwise those where it is 0;
    - ``picked`` (m,), ``n_picked`` (p,): the rows that are picked; those of a part begin at the
      first row of the part;
    - ``split_sums`` (p, 2, 2): ``[:, way]`` has the sums of the factors of the rows picked, and of
      the others.
    """

    starts: np.ndarray
    is_lowest: np.ndarray
    is_highest: np.ndarray
    y: np.ndarray
    a: np.ndarray
    s: np.ndarray
    base: np.ndarray
    A: np.ndarray
    B: np.ndarray
    shift: np.ndarray
    sums: np.ndarray
    logs: np.ndarray
    fresh_sums: np.ndarray
    is_stale: np.ndarray
    room: np.ndarray
    travelled: np.ndarray
    links: np.ndarray
    parts: np.ndarray
    group: np.ndarray
    bounds: np.ndarray
    part_sums: np.ndarray
    n_above: np.ndarray
    picks_above: np.ndarray
    picked: np.ndarray
    n_picked: np.ndarray
    split_sums: np.ndarray


@compiled(error_model="numpy")
def compute_factors(state):
    """Fill the factors of stale groups in units of each group's largest, and their sums."""
    for g in range(state.y.shape[0]):
        if not state.is_stale[g]:
            continue
        top, low = -np.inf, np.inf
        for i in range(state.starts[g], state.starts[g + 1]):
            top, low = max(top, state.s[i]), min(low, state.s[i])
        state.shift[g, 0], state.shift[g, 1] = state.base[g] + top, -state.base[g] - low
        for p in range(state.parts[g], state.parts[g + 1]):
            rows = slice(state.bounds[p], state.bounds[p + 1])
            s, a = state.s[rows], state.a[rows]
            if not state.is_highest[g]:
                state.part_sums[p, 0] = _fill_powers(a, s, top, 1.0, state.A[rows])
            if not state.is_lowest[g]:
                state.part_sums[p, 1] = _fill_powers(a, s, low, -1.0, state.B[rows])
        for way in range(2):
            state.sums[g, way] = state.fresh_sums[g, way] = _sum_of_parts(state, g, way)


@compiled(error_model="numpy")
def _fill_powers(a, s, middle, sign, out):
    total = 0.0
    for i in range(out.shape[0]):
        out[i] = a[i] * np.exp(sign * (s[i] - middle))
        total += out[i]
    return total


@compiled(error_model="numpy")
def _sum_of_parts(state, g, way):
    """Return the sum of a group's factors; 1 if it has none."""
    if state.is_lowest[g] if way else state.is_highest[g]:
        return 1.0
    total = 0.0
    for p in range(state.parts[g], state.parts[g + 1]):
        total += state.part_sums[p, way]
    return total


@compiled(error_model="numpy")
def fill_links(state, magnitude):
    """Fill the links and the logarithms of the groups' sums; return that of the total weight."""
    y, is_lowest, shift, sums = state.y, state.is_lowest, state.shift, state.sums
    links, logs, n = state.links, state.logs, state.y.shape[0]
    lower = gaps = 0.0
    peak, top = -np.inf, -np.inf
    for g in range(n):
        logs[g, 0] = shift[g, 0] + np.log(sums[g, 0])
        logs[g, 1] = shift[g, 1] + np.log(sums[g, 1])
        if is_lowest[g]:
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
        if is_lowest[g]:
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
def split_parts(bins, f, cut, missing_above, state, h, first, last):
    """Fill ``h`` (m,) with the base ranker, see `fill_above`, and ``n_above``, by part."""
    start, stop = state.bounds[first], state.bounds[last]
    fill_above(bins, f, cut, missing_above, start, h[start:stop])
    count_above(state, h, first, last)


@compiled(error_model="numpy")
def count_above(state, h, first, last):
    """Fill ``n_above`` of parts first to last from the base ranker ``h`` (m,)."""
    for p in range(first, last):
        n = 0
        for i in range(state.bounds[p], state.bounds[p + 1]):
            n += h[i]
        state.n_above[p] = n


@compiled(error_model="numpy")
def pick_rows(state, h, first, last):
    """Pick the rows on the smaller side of h, and sum the factors of them and of the others."""
    for p in range(first, last):
        g, start, stop = state.group[p], state.bounds[p], state.bounds[p + 1]
        n_above = 0
        for other in range(state.parts[g], state.parts[g + 1]):
            n_above += state.n_above[other]
        side = np.uint8(2 * n_above <= state.starts[g + 1] - state.starts[g])
        state.picks_above[g] = side
        mine, rows, k = h[start:stop], state.picked[start:stop], np.uint64(0)
        for i in range(mine.shape[0]):
            rows[k] = start + i
            k += np.uint64(mine[i] == side)
        n = state.n_picked[p] = np.int64(k)
        for way in range(2):
            if not (state.is_lowest[g] if way else state.is_highest[g]):
                values = (state.B if way else state.A)[start:stop]
                total, out = state.part_sums[p, way], state.split_sums[p, way]
                _fill_split_sums(mine, side, values, start, rows[:n], total, out)


@compiled(error_model="numpy")
def _fill_split_sums(h, side, values, start, rows, total, out):
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
        if not state.is_lowest[g]:
            gap0 += step * low0
            gap1 += step * low1
            above, below = _shares(state, g, 1)
            plus += c * (gap0 if magnitude else low0) * above
            minus += c * (gap1 if magnitude else low1) * below
        if not state.is_highest[g]:
            above, below = _shares(state, g, 0)
            low0 = r * low0 + t * below
            low1 = r * low1 + t * above
            gap0 *= r
            gap1 *= r
    return plus, minus


@compiled(error_model="numpy")
def _shares(state, g, way):
    """Return the shares of a group's factors above the cut and below it."""
    within = rest = 0.0
    for p in range(state.parts[g], state.parts[g + 1]):
        within += state.split_sums[p, way, 0]
        rest += state.split_sums[p, way, 1]
    total = state.sums[g, way]
    if state.picks_above[g]:
        return within / total, rest / total
    return rest / total, within / total


@compiled(error_model="numpy")
def add_step(state, alpha, first, last):
    """Add alpha times the base ranker to the scores of parts first to last.

    Only the rows that were picked change. Their factors and the sums of the parts follow.
    """
    for p in range(first, last):
        g, start = state.group[p], state.bounds[p]
        rows = state.picked[start : start + state.n_picked[p]]
        step = alpha if state.picks_above[g] else -alpha
        more, less = np.exp(step), np.exp(-step)
        for i in rows:
            state.s[i] += step
        if not state.is_highest[g]:
            for i in rows:
                state.A[i] *= more
        if not state.is_lowest[g]:
            for i in rows:
                state.B[i] *= less
        update_part_sums(state, p, more, less)


@compiled(error_model="numpy")
def update_part_sums(state, p, more, less):
    """Let the sums of a part follow, after A was multiplied by ``more`` and B by ``less``."""
    g, split_sums, sums = state.group[p], state.split_sums[p], state.part_sums[p]
    if not state.is_highest[g]:
        sums[0] = split_sums[0, 1] + more * split_sums[0, 0]
    if not state.is_lowest[g]:
        sums[1] = split_sums[1, 1] + less * split_sums[1, 0]


@compiled(error_model="numpy")
def update_groups(state, alpha, magnitude):
    """Let what is of whole groups follow a step; return the logarithm of the total weight.

    Groups whose sums leave the room that they have around fresh ones are computed anew.
    """
    state.travelled[0] += abs(alpha)
    far = state.travelled[0] > SPAN
    for g in range(state.y.shape[0]):
        state.is_stale[g] = far
        if not state.picks_above[g]:
            state.base[g] += alpha
            state.shift[g, 0] += alpha
            state.shift[g, 1] -= alpha
        for way in range(2):
            state.sums[g, way] = _sum_of_parts(state, g, way)
            grown = state.sums[g, way] / state.fresh_sums[g, way]
            state.is_stale[g] |= not state.room[g, 0] <= grown <= state.room[g, 1]
    if far:
        state.travelled[0] = 0.0
    compute_factors(state)
    return fill_links(state, magnitude)


@compiled(error_model="numpy")
def fill_potentials(state, magnitude, out):
    """Fill what D gives each row as the better of its pairs, less what it gives it as the worse.

    In whole numbers ``out`` (m,), 2^61 being the weight of all pairs.
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
