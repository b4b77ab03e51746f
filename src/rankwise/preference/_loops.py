"""Levels of QuickSort on all blocks at once, coins of pairs, and triangle inequalities of weights.

A coin is a hash of a seed and the two members, whichever of them comes first.
"""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def first_detour(weights, tolerance):
    """Return the first i < k < j with ``w[i, j] > w[i, k] + w[k, j] + slack``, or three times -1.

    Weights are C-contiguous. n^3 / 6 additions; the loop over j has no branch and is vectorised.
    """
    n = len(weights)
    for i in range(n):
        for k in range(i + 1, n):
            to = weights[i, k] + tolerance
            straight, onward = weights[i, k + 1 :], weights[k, k + 1 :]
            longer = 0
            for j in range(len(straight)):
                longer += 1 if straight[j] > to + onward[j] else 0
            if longer:
                for j in range(len(straight)):
                    if straight[j] > to + onward[j]:
                        return np.array([i, k, k + 1 + j])
    return np.array([-1, -1, -1])


@compiled
def _pair_word(seed, i, j):
    """Return 64 random bits for an unordered pair (splitmix64)."""
    low, high = np.uint64(min(i, j)), np.uint64(max(i, j))
    word = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * (low + np.uint64(1))
    word += np.uint64(0xD1B54A32D192ED03) * (high + np.uint64(1))
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def pair_draws(seed, first, second):
    """Return a number in [0, 1) for each unordered pair."""
    drawn = np.empty(len(first))
    for pair in range(len(first)):
        word = _pair_word(seed, first[pair], second[pair])
        drawn[pair] = (word >> np.uint64(11)) * 2.0**-53
    return drawn


@compiled
def swap_pairs(seed, first, second):
    """Return each pair with the lower number first or last by a coin, and where it was swapped.

    Which of two comes first in the result doesn't depend on which of them is ``first``.
    """
    one, other = np.empty_like(first), np.empty_like(second)
    swapped = np.empty(len(first), dtype=np.bool_)
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        heads = (_pair_word(seed, i, j) >> np.uint64(63)) == np.uint64(1)
        swapped[pair] = heads == (i < j)
        one[pair], other[pair] = (j, i) if swapped[pair] else (i, j)
    return one, other, swapped


@compiled
def plan_level(order, priority, blocks):
    """Choose the member of the highest priority of each block as its pivot.

    ``order`` and ``priority``, of shape (n,), are aligned by place; ``blocks``, of shape
    (n_blocks, 2), has the first place of each block and the one after its last. Return the places
    of the pivots, and the pairs to compare, block by block: members and the pivot of each.
    """
    pivots = np.empty(len(blocks), dtype=np.int64)
    n_pairs = (blocks[:, 1] - blocks[:, 0] - 1).sum()
    members, opponents = np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int64)
    pair = 0
    for block in range(len(blocks)):
        start, stop = blocks[block, 0], blocks[block, 1]
        pivot, highest = start, priority[start]
        for i in range(start + 1, stop):
            this = priority[i]
            if this > highest:
                pivot, highest = i, this
        pivots[block] = pivot
        opponent = order[pivot]
        for i in range(start, stop):
            if i != pivot:
                members[pair] = order[i]
                opponents[pair] = opponent
                pair += 1
    return pivots, members, opponents


@compiled
def split_level(order, priority, blocks, pivots, sides, decided, top, scratch):
    """Move members before or after their pivot, each side in its previous order.

    ``sides`` has for each pair of `plan_level` -1 if the member is before its pivot, +1 if after,
    and 0 if that is unknown. A block with an unknown side keeps those members next to the pivot and
    is not split again. Return the new blocks, those of two members or more that begin before place
    ``top``; places that stay open become False in ``decided``. ``scratch``, of shape (n, 2), is
    overwritten.
    """
    parts = np.empty((2 * len(blocks), 2), dtype=np.int64)
    pair = 0
    n_parts = 0
    for block in range(len(blocks)):
        start, stop = blocks[block, 0], blocks[block, 1]
        before, unknown = 0, 0
        for i in range(pair, pair + stop - start - 1):
            before += sides[i] < 0
            unknown += sides[i] == 0
        low, middle, high = start, start + before, start + before + unknown + 1
        for position in range(start, stop):
            side = 0
            if position != pivots[block]:
                side = sides[pair]
                pair += 1
            if side < 0:
                target = low
                low += 1
            elif side == 0:
                target = middle
                middle += 1
            else:
                target = high
                high += 1
            scratch[target, 0] = order[position]
            scratch[target, 1] = priority[position]
        for position in range(start, stop):
            order[position] = scratch[position, 0]
            priority[position] = scratch[position, 1]
            if unknown:
                decided[position] = False
        if unknown:
            continue
        first, last = start, start + before
        for _ in range(2):
            if last - first >= 2:
                if first < top:
                    parts[n_parts, 0] = first
                    parts[n_parts, 1] = last
                    n_parts += 1
                else:
                    for position in range(first, last):
                        decided[position] = False
            first, last = start + before + 1, stop
    return parts[:n_parts]
