"""One level of QuickSort on all blocks at once: whom to compare, and how the blocks fall apart.

And what chance decides about a pair: a hash of a seed and the two, whichever of them comes first.
"""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.shapes import check_shape


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
def pair_draws(seed, first, second, drawn):
    """Write a number in [0, 1) for each unordered pair to ``drawn``."""
    for pair in range(len(first)):
        word = _pair_word(seed, first[pair], second[pair])
        drawn[pair] = (word >> np.uint64(11)) * 2.0**-53


@compiled
def turn_pairs(seed, first, second, one, other, turned):
    """Write each pair to ``one`` and ``other``, lower number first or last by a coin of the pair.

    ``turned`` says where ``one`` is ``second``: which of two is asked first doesn't depend on
    which of them is ``first``.
    """
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        heads = (_pair_word(seed, i, j) >> np.uint64(63)) == np.uint64(1)
        turned[pair] = heads == (i < j)
        one[pair], other[pair] = (j, i) if turned[pair] else (i, j)


def plan_level(order, priority, starts, stops, pivots, members, opponents):
    """Choose the pivot of each block, the highest priority, and pair it with all others.

    Priorities are by place, as ``order`` is, which spares a leap through memory for each. Pivots
    are places; members and opponents (the pivots) are entries of the order, block by block.
    """
    _check_level(order, priority, starts, stops, pivots, opponents)
    check_shape("members", members, len(opponents), kind=np.int64, advice="one for each pair")
    _plan_level(order, priority, starts, stops, pivots, members, opponents)


def _check_level(order, priority, starts, stops, pivots, pairs):
    n, n_blocks = len(order), len(starts)
    check_shape("priority", priority, n, kind=np.int64, advice="one for each thing")
    check_shape("stops", stops, n_blocks, kind=np.int64, advice="one for each block")
    check_shape("pivots", pivots, n_blocks, kind=np.int64, advice="one for each block")
    n_pairs = int((stops - starts).sum()) - n_blocks
    check_shape("answers", pairs, n_pairs, kind=pairs.dtype, advice="one for each pair")
    if n_blocks and not 0 <= starts.min() <= stops.max() <= n:
        raise ValueError(f"blocks of things go from {starts.min()} to {stops.max()} of {n}")


@compiled
def _plan_level(order, priority, starts, stops, pivots, members, opponents):
    pair = 0
    for block in range(len(starts)):
        start, stop = starts[block], stops[block]
        pivot, highest = start, priority[start]
        for place in range(start + 1, stop):
            this = priority[place]
            if this > highest:
                pivot, highest = place, this
        pivots[block] = pivot
        opponent = order[pivot]
        for place in range(start, stop):
            if place != pivot:
                members[pair] = order[place]
                opponents[pair] = opponent
                pair += 1


def split_level(order, priority, starts, stops, pivots, sides, top, scratch, parts, settled):
    """Move members before (-1) or after (+1) their pivot, each side in the order it had.

    A block with an unknown side (0) keeps those members beside the pivot and is not split again.
    The new blocks, as rows (start, stop) of ``parts``, have two members or more and begin before
    ``top``; places that stay open are unmarked in ``settled``. Returns the number of new blocks.
    """
    n = len(order)
    _check_level(order, priority, starts, stops, pivots, sides)
    check_shape("scratch", scratch, n, 2, kind=np.int64, advice="room for all things")
    check_shape("parts", parts, 2 * len(starts), 2, kind=np.int64, advice="two for each block")
    check_shape("settled", settled, n, kind=np.bool_, advice="one for each thing")
    places = order, priority, starts, stops, pivots
    return _split_level(*places, sides, top, scratch, parts, settled)


@compiled
def _split_level(order, priority, starts, stops, pivots, sides, top, scratch, parts, settled):
    pair = 0
    n_parts = 0
    for block in range(len(starts)):
        start, stop = starts[block], stops[block]
        before, unknown = 0, 0
        for i in range(pair, pair + stop - start - 1):
            before += sides[i] < 0
            unknown += sides[i] == 0
        low, middle, high = start, start + before, start + before + unknown + 1
        for place in range(start, stop):
            side = 0
            if place != pivots[block]:
                side = sides[pair]
                pair += 1
            if side < 0:
                scratch[low, 0] = order[place]
                scratch[low, 1] = priority[place]
                low += 1
            elif side == 0:
                scratch[middle, 0] = order[place]
                scratch[middle, 1] = priority[place]
                middle += 1
            else:
                scratch[high, 0] = order[place]
                scratch[high, 1] = priority[place]
                high += 1
        for place in range(start, stop):
            order[place] = scratch[place, 0]
            priority[place] = scratch[place, 1]
        if unknown:
            settled[start:stop] = False
            continue
        for first, last in ((start, start + before), (start + before + 1, stop)):
            if last - first >= 2:
                if first < top:
                    parts[n_parts, 0] = first
                    parts[n_parts, 1] = last
                    n_parts += 1
                else:
                    settled[first:last] = False
    return n_parts
