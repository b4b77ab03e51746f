"""Histograms of one part of the rows, and the best cuts of histograms that were added up."""

import numpy as np

from rankwise._core.compilation import compiled
from rankwise.boosting._loops.bins import WIDTH, add_part
from rankwise.boosting._loops.stumps import (
    ROOM,
    WIDE,
    add_exactly,
    add_slot,
    choose,
    fill_below,
)
from rankwise.boosting._loops.trees import search_node
from rankwise.boosting._loops.weights import BETTER, fill_factors, sum_of


@compiled(error_model="numpy")
def refresh_slots(groups, s, factors, units, out):
    """Fill the factors of stale slots in units of e^shift; ``out`` (n_slots, 2) gets their sums.

    Sums are as `sum_of` takes them with the ``units`` (n_slots,).
    """
    for q in range(factors.group.shape[0]):
        if not factors.stale[q]:
            continue
        g, first = factors.group[q], factors.first[q]
        start, stop = groups.starts[g], groups.starts[g + 1]
        values = factors.values[first : first + stop - start]
        a, mine = groups.a[start:stop], s[start:stop]
        top, unit = factors.shift[q], units[q]
        out[q, 0], out[q, 1] = fill_factors(a, mine, factors.sign[q], top, unit, values)


@compiled(error_model="numpy")
def spread_shares(groups, factors, shares, up, down):
    """Fill ``up`` and ``down`` (m,) with the factors of better and worse slots times a share each.

    ``shares`` (n_slots,) are those of a factor; rows without a slot keep their value.
    """
    for q in range(factors.group.shape[0]):
        g, first = factors.group[q], factors.first[q] - groups.starts[factors.group[q]]
        out = up if factors.sign[q] == BETTER else down
        for i in range(groups.starts[g], groups.starts[g + 1]):
            out[i] = shares[q] * factors.values[first + i]


@compiled(error_model="numpy")
def begin_slots(state):
    """Fill the whole numbers of all rows of the slots that begin, in their units."""
    groups, factors, wholes = state.groups, state.factors, state.wholes
    for q in range(factors.group.shape[0]):
        if not wholes.begins[q]:
            continue
        g, first, total = factors.group[q], factors.first[q], np.int64(0)
        n, unit = groups.starts[g + 1] - groups.starts[g], wholes.unit[q]
        for i in range(first, first + n):
            wholes.added[i] = np.int64(unit * factors.values[i] + 0.5)
            total += wholes.added[i]
        wholes.total[q] = total
        high, low = add_exactly(factors.values, first, state.rows[:n], unit)
        wholes.exact[q, 0], wholes.exact[q, 1] = high, low


@compiled(error_model="numpy")
def sum_slots(exact, units, out):
    """Fill ``out`` (n_slots,) with the sums that ``exact`` (n_slots, 2) are in these units."""
    for q in range(out.shape[0]):
        out[q] = sum_of(exact[q, 0], exact[q, 1], units[q])


@compiled(error_model="numpy")
def step_slots(factors, sums, alpha, picks_above):
    """Let sums and units of all slots follow a step, as `add_step` does; mark stale ones.

    ``sums`` (n_slots, 2) are as in `Split`.
    """
    step = alpha if picks_above else -alpha
    for q in range(factors.group.shape[0]):
        factor = np.exp(factors.sign[q] * step)
        factors.shift[q] += 0.0 if picks_above else factors.sign[q] * alpha
        factors.sums[q] = sums[q, 1] + factor * sums[q, 0]
        grown = factors.sums[q] / factors.fresh[q]
        factors.stale[q] = not 1.0 / ROOM <= grown <= ROOM


@compiled(error_model="numpy")
def fill_slots(bins, first, last, state, which, slots, hists):
    """Fill what some slots add to the histograms of blocks first to last.

    ``which`` (n_slots,) says which slots, and ``slots`` (n_slots,) where theirs are in ``hists``
    (n_blocks, any, WIDTH, stride), which are 0 before.
    """
    for b in range(first, last):
        begin, end = WIDTH * b, min(WIDTH * b + WIDTH, bins.n_bins.shape[0])
        for q in range(which.shape[0]):
            if which[q]:
                add_slot(bins, begin, end, state, q, hists[b, slots[q]])


@compiled(error_model="numpy")
def fill_part(bins, first, last, part, hist):
    """Fill the histograms of a `Part` of the rows, for blocks first to last."""
    for b in range(first, last):
        begin, end = WIDTH * b, min(WIDTH * b + WIDTH, bins.n_bins.shape[0])
        add_part(bins, begin, end, part, hist[b])


@compiled(error_model="numpy")
def choose_edges(hist, n_bins, missing, out):
    """Fill the best cut of each feature by its edge, as `search_edges` does.

    ``hist`` (n_blocks, WIDTH, stride) has the potentials of all rows.
    """
    values = np.empty(hist.shape[2])
    for f in range(n_bins.shape[0]):
        out[f, 0] = np.inf
        for side in range(1 + missing[f]):
            fill_below(hist[f // WIDTH, f % WIDTH], n_bins[f], side, 1.0 / WIDE, values)
            for p in range(n_bins[f]):
                values[p] = -abs(values[p])
            choose(values, n_bins[f], side, out[f])


@compiled(error_model="numpy")
def choose_splits(hist, n_bins, missing, total, rule, out):
    """Fill the best split of each feature of a node, as `search_children` does.

    ``hist`` (n_blocks, WIDTH, stride, 2) is of all its rows, ``total`` (2,) their sum.
    """
    room = np.empty((3, hist.shape[2] + 1))
    for f in range(n_bins.shape[0]):
        cells = hist[f // WIDTH, f % WIDTH]
        search_node(cells, n_bins[f], missing[f], total, rule, room, out[f])
