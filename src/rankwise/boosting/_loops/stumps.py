"""The rounds of RankBoost: search the features for a cut, split the rows by it, step the scores.

Of a base ranker ``bin >= cut`` all that counts is how much weight of the pairs it puts in the right
order (plus) and in the wrong one (minus). Both follow from histograms of the factors of each slot,
in whole numbers: exact in any order, so that they can be kept from round to round, and only the
changes of the rows that change are added. A step multiplies the factors on one side of its cut, or
divides those on the other, which is the same but for the unit: only the smaller side changes.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled
from rankwise.boosting._loops.bins import WIDTH, Part, add_part, fill_above
from rankwise.boosting._loops.weights import BETTER, FINE, Factors, Groups, Links, sum_of

# A choice must be better than one before it by more than the noise of sums.
TIE = 1e-12
# The most that the whole numbers of a slot, or the potentials of all rows, may sum up to.
WIDE = 2.0**61
# Sums may grow or shrink so much, of fresh ones, before they are computed anew.
ROOM = 16.0


class Objective(NamedTuple):
    """What is to be made small.

    - ``magnitude``: whether a pair weighs the difference of its targets;
    - ``edge``: whether a cut is judged by its edge, minus the size of plus - minus, or by Z;
    - ``limit``: a step is at most half the logarithm of it in size.
    """

    magnitude: bool
    edge: bool
    limit: float


class Wholes(NamedTuple):
    """The factors in whole numbers, and what is added to the histograms next, slot by slot.

    - ``unit`` (n_slots,): what factors are multiplied by before they are rounded;
    - ``total`` (n_slots,): the sum of the whole numbers;
    - ``begins`` (n_slots,): whether histograms begin empty and all rows are added, or changes;
    - ``added`` (n_values,): what is added, from where the slot's factors begin;
    - ``exact`` (n_slots, 2): the sum of the factors, as `sum_of` takes it.
    """

    unit: np.ndarray
    total: np.ndarray
    begins: np.ndarray
    added: np.ndarray
    exact: np.ndarray


class Split(NamedTuple):
    """A base ranker and the rows on its smaller side, which are picked.

    - ``h`` (m,): where it is 1;
    - ``picked`` (m,): the rows that are picked, in order;
    - ``bounds`` (n_groups + 1,): those of group g are ``picked[bounds[g] : bounds[g + 1]]``;
    - ``sums`` (n_slots, 2): of the factors picked, and of the others;
    - ``exact`` (n_slots, 2): the sum of the factors picked, as `sum_of` takes it.
    """

    h: np.ndarray
    picked: np.ndarray
    bounds: np.ndarray
    sums: np.ndarray
    exact: np.ndarray


class State(NamedTuple):
    """All that the rounds of all pairs are made of; ``rows`` (m,) are all of them."""

    groups: Groups
    factors: Factors
    links: Links
    wholes: Wholes
    split: Split
    rows: np.ndarray


@compiled(inner=True, error_model="numpy")
def judge(plus, minus, n_bins, objective, out):
    """Fill ``out`` with what each of the n_bins cuts is judged by: less is better.

    ``plus``, ``minus`` and ``out`` have n_bins entries or more. Z is for the best step.
    """
    limit = objective.limit
    most, least = np.sqrt(limit), 1.0 / np.sqrt(limit)
    if objective.edge:
        for p in range(n_bins):
            out[p] = -abs(plus[p] - minus[p])
    else:
        for p in range(n_bins):
            right, wrong = max(plus[p], 0.0), max(minus[p], 0.0)
            low, high = min(right, wrong), max(right, wrong)
            capped, free = high * least + low * most, 2.0 * np.sqrt(right * wrong)
            out[p] = 1.0 - right - wrong + (capped if high > limit * low else free)


@compiled(inner=True, error_model="numpy")
def choose(values, n_bins, side, best):
    """Let ``best`` be (value, position of the cut, side of the missing) if one here is better."""
    for p in range(n_bins):
        if values[p] < best[0] - TIE:
            best[0], best[1], best[2] = values[p], p, side


@compiled(error_model="numpy")
def search_slots(bins, first, last, state, objective, hists, out):
    """Fill the best cut of each feature of blocks first to last, from histograms of the slots.

    Parameters
    ----------
    bins : Dense or Sparse
    first, last : int
        Blocks of WIDTH features.
    state : State
    objective : Objective
    hists : ndarray of shape (n_blocks, n_slots, WIDTH, stride) or (1, 1, WIDTH, stride)
        The histograms that are kept, or room for one.
    out : ndarray of shape (d, 3)
        Filled with (value, cut, side of the missing), as `choose` does.
    """
    factors, links, wholes = state.factors, state.links, state.wholes
    stride = hists.shape[3]
    # of each side of the missing and each feature: low, gap, plus and minus
    sums, share = np.empty((2, WIDTH, 4, stride)), np.empty(stride)
    whole = gaps = 0.0
    for b in range(first, last):
        begin, end = WIDTH * b, min(WIDTH * b + WIDTH, bins.n_bins.shape[0])
        cells = sums.reshape(-1)
        for p in range(cells.shape[0]):
            cells[p] = 0.0
        for q in range(factors.group.shape[0]):
            g, is_better = factors.group[q], factors.sign[q] == BETTER
            hist = hists[b % hists.shape[0], q % hists.shape[1]]
            add_slot(bins, begin, end, state, q, hist)
            ratio, rise, step, weight = _link(links, g)
            gaps += step * whole if is_better else 0.0
            everyone = weight * (gaps if objective.magnitude else whole)
            for f in range(begin, end):
                n_bins, k = bins.n_bins[f], f - begin
                for side in range(1 + bins.missing[f]):
                    fill_below(hist[k], n_bins, side, 1.0 / max(wholes.total[q], 1), share)
                    x, z, right, wrong = _four(sums[side, k])
                    if is_better and objective.magnitude:
                        for p in range(n_bins):
                            z[p] += step * x[p]
                            right[p] += weight * z[p] * (1.0 - share[p])
                            wrong[p] += (everyone - weight * z[p]) * share[p]
                    elif is_better:
                        for p in range(n_bins):
                            right[p] += weight * x[p] * (1.0 - share[p])
                            wrong[p] += (everyone - weight * x[p]) * share[p]
                    else:
                        for p in range(n_bins):
                            x[p] = ratio * x[p] + rise * share[p]
                            z[p] *= ratio
            if not is_better:
                whole = ratio * whole + rise
                gaps *= ratio
        for f in range(begin, end):
            n_bins, k = bins.n_bins[f], f - begin
            out[f, 0] = np.inf
            for side in range(1 + bins.missing[f]):
                _, _, right, wrong = _four(sums[side, k])
                judge(right, wrong, n_bins, objective, share)
                choose(share, n_bins, side, out[f])


@compiled(inner=True, error_model="numpy")
def _four(rows):
    return rows[0], rows[1], rows[2], rows[3]


@compiled(inner=True, error_model="numpy")
def _link(links, g):
    return links.ratio[g], links.rise[g], links.step[g], links.weight[g]


@compiled(inner=True, error_model="numpy")
def add_slot(bins, begin, end, state, q, hist):
    """Add what slot q adds to the histograms of features begin to end."""
    g, first, split = state.factors.group[q], state.factors.first[q], state.split
    start, stop = state.groups.starts[g], state.groups.starts[g + 1]
    rows = state.rows[start:stop]
    if state.wholes.begins[q]:
        for k in range(WIDTH):
            for p in range(hist.shape[1]):
                hist[k, p] = 0
    else:
        rows = split.picked[split.bounds[g] : split.bounds[g + 1]]
    values = state.wholes.added[first : first + rows.shape[0]]
    add_part(bins, begin, end, Part(rows, values, start, state.wholes.total[q : q + 1]), hist)


@compiled(inner=True, error_model="numpy")
def fill_below(hist, n_bins, side, unit, share):
    """Fill ``share`` with the sums of a histogram ``hist`` (stride,) below each cut, times unit.

    Cut p has the bins below p on the low side; missing values are there too if ``side`` is 0.
    """
    total = np.int64(0) if side else hist[n_bins]
    for p in range(n_bins):
        share[p] = unit * total
        total += hist[p]


@compiled(error_model="numpy")
def search_edges(bins, first, last, potentials, out):
    """Fill the best cut of each feature of blocks first to last by its edge.

    ``potentials`` is the `Part` of all rows, in units of 1 / WIDE: what D gives each row as the
    better one of its pairs, less what it gives it as the worse. ``out`` is as in `search_slots`.
    """
    hist = np.empty((WIDTH, bins.n_bins.max() + 1), dtype=np.int64)
    values = np.empty(bins.n_bins.max())
    for b in range(first, last):
        begin, end = WIDTH * b, min(WIDTH * b + WIDTH, bins.n_bins.shape[0])
        for k in range(WIDTH):
            for p in range(hist.shape[1]):
                hist[k, p] = 0
        add_part(bins, begin, end, potentials, hist)
        for f in range(begin, end):
            out[f, 0], n_bins = np.inf, bins.n_bins[f]
            for side in range(1 + bins.missing[f]):
                fill_below(hist[f - begin], n_bins, side, 1.0 / WIDE, values)
                for p in range(n_bins):
                    values[p] = -abs(values[p])
                choose(values, n_bins, side, out[f])


@compiled(error_model="numpy")
def split_rows(bins, f, cut, missing_above, rows, h):
    """Fill the base ranker ``h`` (m,) of all ``rows`` (m,); return how many are above."""
    fill_above(bins, f, cut, missing_above, rows, h)
    n_above = 0
    for i in range(h.shape[0]):
        n_above += h[i]
    return n_above


@compiled(error_model="numpy")
def weigh_split(state, picks_above, magnitude):
    """Pick the rows above the split, or those below; return its (plus, minus)."""
    pick_side(state, picks_above)
    return weigh_sides(state.factors, state.links, state.split.sums, picks_above, magnitude)


@compiled(error_model="numpy")
def pick_side(state, picks_above):
    """Pick the rows above the split, or those below, and sum up their factors."""
    groups, split = state.groups, state.split
    n, side = np.uint64(0), np.uint8(picks_above)
    for g in range(groups.y.shape[0]):
        split.bounds[g] = n
        for i in range(groups.starts[g], groups.starts[g + 1]):
            split.picked[n] = i
            n += np.uint64(split.h[i] == side)
    split.bounds[groups.y.shape[0]] = n
    for q in range(state.factors.group.shape[0]):
        _sum_sides(state, q)


@compiled(error_model="numpy")
def weigh_sides(factors, links, sums, picks_above, magnitude):
    """Return (plus, minus) of a split, from the sums of each slot as in `Split`."""
    side = np.uint8(picks_above)
    plus = minus = low0 = low1 = gap0 = gap1 = 0.0
    for q in range(factors.group.shape[0]):
        above, below = sums[q, 1 - side], sums[q, side]
        above, below = above / factors.sums[q], below / factors.sums[q]
        ratio, rise, step, weight = _link(links, factors.group[q])
        if factors.sign[q] == BETTER:
            gap0 += step * low0
            gap1 += step * low1
            plus += weight * (gap0 if magnitude else low0) * above
            minus += weight * (gap1 if magnitude else low1) * below
        else:
            low0 = ratio * low0 + rise * below
            low1 = ratio * low1 + rise * above
            gap0 *= ratio
            gap1 *= ratio
    return plus, minus


@compiled(inner=True, error_model="numpy")
def add_exactly(values, first, picked, unit):
    """Return the sum of ``values`` at first + ``picked`` (n,), as `sum_of` takes it."""
    high, low = np.int64(0), np.int64(0)
    for t in range(picked.shape[0]):
        x = unit * values[first + picked[t]]
        whole = np.int64(x)
        high += whole
        low += np.int64((x - whole) * FINE)
    return high, low


@compiled(inner=True, error_model="numpy")
def _sum_sides(state, q):
    """Fill in the sums of the factors of slot q that are picked, and of the others."""
    factors, wholes, split = state.factors, state.wholes, state.split
    g, unit = factors.group[q], wholes.unit[q]
    first, picked = factors.first[q] - state.groups.starts[g], split.picked
    picked = picked[split.bounds[g] : split.bounds[g + 1]]
    high, low = add_exactly(factors.values, first, picked, unit)
    split.exact[q, 0], split.exact[q, 1] = high, low
    split.sums[q, 0] = sum_of(high, low, unit)
    split.sums[q, 1] = sum_of(wholes.exact[q, 0] - high, wholes.exact[q, 1] - low, unit)


@compiled(error_model="numpy")
def add_step(state, s, alpha, picks_above):
    """Add alpha times the base ranker to the scores ``s`` (m,); factors and their sums follow.

    Slots whose sums have left the room that they have around fresh ones become stale.
    """
    groups, factors, wholes, split = state.groups, state.factors, state.wholes, state.split
    for i in range(s.shape[0]):
        s[i] += alpha * split.h[i]
    step = alpha if picks_above else -alpha
    for q in range(factors.group.shape[0]):
        g, first = factors.group[q], factors.first[q] - groups.starts[factors.group[q]]
        factor, unit, gain = np.exp(factors.sign[q] * step), wholes.unit[q], np.int64(0)
        for k in range(split.bounds[g + 1] - split.bounds[g]):
            at = first + split.picked[split.bounds[g] + k]
            before = factors.values[at]
            after = before * factor
            factors.values[at] = after
            change = np.int64(unit * after + 0.5) - np.int64(unit * before + 0.5)
            wholes.added[factors.first[q] + k] = change
            gain += change
        picked = split.picked[split.bounds[g] : split.bounds[g + 1]]
        high, low = add_exactly(factors.values, first, picked, unit)
        wholes.exact[q, 0] += high - split.exact[q, 0]
        wholes.exact[q, 1] += low - split.exact[q, 1]
        factors.shift[q] += 0.0 if picks_above else factors.sign[q] * alpha
        factors.sums[q] = split.sums[q, 1] + factor * split.sums[q, 0]
        wholes.total[q] += gain
        grown = factors.sums[q] / factors.fresh[q]
        factors.stale[q] = not 1.0 / ROOM <= grown <= ROOM


@compiled(error_model="numpy")
def fill_wholes(state, all_of_them):
    """Fill in all rows of the slots that are stale, or of all slots."""
    groups, factors, wholes = state.groups, state.factors, state.wholes
    for q in range(factors.group.shape[0]):
        wholes.begins[q] = all_of_them or factors.stale[q]
        if not wholes.begins[q]:
            continue
        g, first, total = factors.group[q], factors.first[q], np.int64(0)
        n = groups.starts[g + 1] - groups.starts[g]
        wholes.unit[q] = (WIDE / ROOM - n) / factors.fresh[q]
        for i in range(first, first + n):
            wholes.added[i] = np.int64(wholes.unit[q] * factors.values[i] + 0.5)
            total += wholes.added[i]
        wholes.total[q] = total
        if factors.stale[q]:
            high, low = add_exactly(factors.values, first, state.rows[:n], wholes.unit[q])
            wholes.exact[q, 0], wholes.exact[q, 1] = high, low
