"""Whole rounds of RankBoost from histograms, by one thread or a team that shares every pass."""

import numpy as np
from numba import njit

from rankwise.engine.loops.bins import WIDTH
from rankwise.engine.loops.boosting import (
    best_step,
    count,
    fill_split,
    move,
    pick,
    settle,
    weigh_sides,
)
from rankwise.engine.loops.cuts import TIE
from rankwise.engine.loops.histograms import change_slots, search_groups, settle_slots
from rankwise.engine.loops.meeting import call_team, join_team, meet


@njit(cache=True, nogil=True, error_model="numpy")
def take_rounds(
    board, seat, bins, state, slots, hists, scratch, found, h, magnitude, edge, keep, limit
):
    """Lead a round with whoever comes, if ``seat`` is -1; else help until no round is led.

    Each thread takes its share of the features, and then of the parts of the groups. Nothing is
    allocated, so nobody can fail and be waited for.

    Returns the feature that was chosen, or -1 if no base ranker lowers the loss, the cut, the side
    of the missing, the step, the number of rows above, the logarithm of the total weight, the size
    of the team, and how often the leader looked whether the others were done.
    """
    d, m = found.shape[0], h.shape[0]
    place, size = (0, call_team(board)) if seat < 0 else join_team(board, seat)
    while size:
        low, high = _first_feature(place, size, d), _first_feature(place + 1, size, d)
        if low < high:
            mine = slice(low // WIDTH, -(-high // WIDTH)) if keep else slice(place, place + 1)
            search_groups(
                bins, low, high, slots, state.links, magnitude, edge, limit, hists[mine],
                scratch[place], found[low:high],
            )  # fmt: skip
        looks = meet(board, size)
        feature, cut, above = best(found)
        alpha, n_above, total = 0.0, 0, 0.0
        if found[feature, 0] < (0.0 if edge else 1.0) - TIE:
            low = np.searchsorted(state.bounds, m * place // size)
            high = np.searchsorted(state.bounds, m * (place + 1) // size)
            start, stop = state.bounds[low], state.bounds[high]
            fill_split(bins, feature, cut, above, start, h[start:stop])
            count(state, h, low, high)
            looks += meet(board, size)
            pick(state, h, low, high)
            looks += meet(board, size)
            alpha = best_step(weigh_sides(state, magnitude), limit)
        if abs(alpha) > 0.0:
            n_above = state.n_above.sum()
            if keep:
                change_slots(state, slots, alpha, low, high)
            move(state, alpha, low, high)
            looks += meet(board, size)
            if seat < 0:
                total = settle(state, alpha, magnitude)
                settle_slots(state, slots, keep)
        else:
            feature = -1
        if seat < 0:
            return feature, cut, above, alpha, n_above, total, size, looks
        place, size = join_team(board, seat)
    return -1, 0, 0, 0.0, 0, 0.0, 0, 0


@njit(cache=True, nogil=True, error_model="numpy")
def _first_feature(place, size, d):
    """Return where the share of a thread begins: the first feature of a block, or the end."""
    blocks = (2 * d * place + size * WIDTH) // (2 * size * WIDTH)
    return WIDTH * blocks if place < size else d


@njit(cache=True, nogil=True, error_model="numpy")
def best(found):
    """Return the first feature that is as good as the best, its cut and the side of the missing."""
    least, feature = np.inf, 0
    for f in range(found.shape[0]):
        least = min(least, found[f, 0])
    while found[feature, 0] > least + TIE:
        feature += 1
    return feature, np.int64(found[feature, 1]), np.int64(found[feature, 2])
