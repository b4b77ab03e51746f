"""Whole rounds of RankBoost from histograms, by one thread or a team that shares every pass."""

import numpy as np

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
from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.cuts import TIE
from rankwise.engine.loops.histograms import move_slots, search_groups, settle_slots
from rankwise.engine.loops.meeting import call_team, join_team, meet, next_share

# In how many pieces threads take the parts of the groups.
PIECES = 16


@compiled(error_model="numpy")
def take_rounds(
    board, seat, bins, state, slots, hists, scratch, found, h, magnitude, edge, keep, limit
):
    """Lead a round with whoever comes, if ``seat`` is -1; else help until no round is led.

    Threads take blocks of features, and then parts of the groups. Nothing is allocated, so nobody
    can fail and be waited for.

    Returns the feature that was chosen, or -1 if no base ranker lowers the loss, the cut, the side
    of the missing, the step, the number of rows above, the logarithm of the total weight, the size
    of the team, how often the leader looked whether the others were done, and how much more work
    there was than it did.
    """
    d, n_blocks = found.shape[0], -(-found.shape[0] // WIDTH)
    place, size = (0, call_team(board)) if seat < 0 else join_team(board, seat)
    while size:
        mine = 0
        block = next_share(board, 0)
        while block < n_blocks:
            low, high, own = block * WIDTH, min(d, (block + 1) * WIDTH), block if keep else place
            search_groups(
                bins, low, high, slots, state.links, magnitude, edge, limit, hists[own : own + 1],
                scratch[place], found[low:high],
            )  # fmt: skip
            mine += 1
            block = next_share(board, 0)
        more = n_blocks / max(mine, 1)
        looks = meet(board, size)
        feature, cut, above = best(found)
        alpha, n_above, total = 0.0, 0, 0.0
        if found[feature, 0] < (0.0 if edge else 1.0) - TIE:
            low, high = _next_parts(board, 1, state)
            while low < high:
                start, stop = state.bounds[low], state.bounds[high]
                fill_split(bins, feature, cut, above, start, h[start:stop])
                count(state, h, low, high)
                low, high = _next_parts(board, 1, state)
            looks += meet(board, size)
            low, high = _next_parts(board, 2, state)
            while low < high:
                pick(state, h, low, high)
                low, high = _next_parts(board, 2, state)
            looks += meet(board, size)
            alpha = best_step(weigh_sides(state, magnitude), limit)
        if abs(alpha) > 0.0:
            n_above = state.n_above.sum()
            low, high = _next_parts(board, 3, state)
            while low < high:
                if keep:
                    move_slots(state, slots, alpha, low, high)
                else:
                    move(state, alpha, low, high)
                low, high = _next_parts(board, 3, state)
            looks += meet(board, size)
            if seat < 0:
                total = settle(state, alpha, magnitude)
                settle_slots(state, slots, keep)
        else:
            feature = -1
        if seat < 0:
            return feature, cut, above, alpha, n_above, total, size, looks, more
        place, size = join_team(board, seat)
    return -1, 0, 0, 0.0, 0, 0.0, 0, 0, 0.0


@compiled(error_model="numpy")
def _next_parts(board, work, state):
    """Return the first and the last of the next parts of the groups; the same if none is left."""
    n, share = state.group.shape[0], next_share(board, work)
    step = max(1, -(-n // PIECES))
    return min(share * step, n), min((share + 1) * step, n)


@compiled(error_model="numpy")
def best(found):
    """Return the first feature that is as good as the best, its cut and the side of the missing."""
    least, feature = np.inf, 0
    for f in range(found.shape[0]):
        least = min(least, found[f, 0])
    while found[feature, 0] > least + TIE:
        feature += 1
    return feature, np.int64(found[feature, 1]), np.int64(found[feature, 2])
