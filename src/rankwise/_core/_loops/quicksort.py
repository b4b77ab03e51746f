"""One level of QuickSort on all blocks at once: whom to compare, and how the blocks fall apart.

And what chance decides about a pair: a hash of a seed and the two, whichever of them comes first.
"""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core._loops.shapes import check_shape
from rankwise._core.compilation import compiled


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


def plan_level(
    order: Any, priority: Any, blocks: Any, pivots: Any, members: Any, opponents: Any
) -> None:
    """Choose the pivot of each block, the highest priority, and pair it with all others.

    Parameters
    ----------
    order, priority : int64 arrays of shape (n,)
        The order so far, and the priorities of its entries: by place, as ``order`` is, so that
        they are read one after the other.
    blocks : int64 array of shape (n_blocks, 2)
        Where each block starts in the order, and where it stops.
    pivots : int64 array of shape (n_blocks,)
        Gets the place of each pivot.
    members, opponents : int64 arrays of shape (n_pairs,)
        Get the entries of the order to compare, block by block; the opponents are the pivots.
    """
    _check_level(order, priority, blocks, pivots, opponents)
    check_shape("members", members, len(opponents), kind=np.int64, advice="one for each pair")
    _plan_level(order, priority, blocks, pivots, members, opponents)


def _check_level(order, priority, blocks, pivots, pairs):
    n, n_blocks = len(order), len(blocks)
    check_shape("priority", priority, n, kind=np.int64, advice="one for each thing")
    check_shape("blocks", blocks, n_blocks, 2, kind=np.int64, advice="start and stop of each")
    check_shape("pivots", pivots, n_blocks, kind=np.int64, advice="one for each block")
    starts, stops = blocks.T
    n_pairs = int((stops - starts).sum()) - n_blocks
    check_shape("answers", pairs, n_pairs, kind=pairs.dtype, advice="one for each pair")
    if n_blocks and not 0 <= starts.min() <= stops.max() <= n:
        raise ValueError(f"blocks of things go from {starts.min()} to {stops.max()} of {n}")


@compiled
def _plan_level(order, priority, blocks, pivots, members, opponents):
    pair = 0
    for block in range(len(blocks)):
        start, stop = blocks[block, 0], blocks[block, 1]
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


class Level(NamedTuple):
    """What a level of the sort reads, and the arrays that it writes to.

    Attributes
    ----------
    order, priority, blocks, pivots
        As in `plan_level`.
    sides : int8 array of shape (n_pairs,)
        Whether each member is before (-1) or after (+1) its pivot, or that is unknown (0).
    scratch : int64 array of shape (n, 2)
        Room for the order and its priorities.
    parts : int64 array of shape (2 n_blocks, 2)
        Gets the new blocks.
    decided : bool array of shape (n,)
        Whether each place of the order is decided.
    """

    order: Any
    priority: Any
    blocks: Any
    pivots: Any
    sides: Any
    scratch: Any
    parts: Any
    decided: Any


def split_level(level: Level, top: int) -> int:
    """Move members before or after their pivot, each side in the order it had.

    A block with an unknown side keeps those members beside the pivot and is not split again. The
    new blocks have two members or more and begin before place ``top``; places that stay open are
    unmarked in ``decided``. Returns the number of new blocks.
    """
    n = len(level.order)
    _check_level(level.order, level.priority, level.blocks, level.pivots, level.sides)
    check_shape("scratch", level.scratch, n, 2, kind=np.int64, advice="room for all things")
    n_parts = 2 * len(level.blocks)
    check_shape("parts", level.parts, n_parts, 2, kind=np.int64, advice="two for each block")
    check_shape("decided", level.decided, n, kind=np.bool_, advice="one for each thing")
    return _split_level(level, top)


@compiled
def _split_level(level, top):
    order, priority, scratch, sides = level.order, level.priority, level.scratch, level.sides
    pair = 0
    n_parts = 0
    for block in range(len(level.blocks)):
        start, stop = level.blocks[block, 0], level.blocks[block, 1]
        before, unknown = 0, 0
        for i in range(pair, pair + stop - start - 1):
            before += sides[i] < 0
            unknown += sides[i] == 0
        low, middle, high = start, start + before, start + before + unknown + 1
        for place in range(start, stop):
            side = 0
            if place != level.pivots[block]:
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
            scratch[target, 0] = order[place]
            scratch[target, 1] = priority[place]
        for place in range(start, stop):
            order[place] = scratch[place, 0]
            priority[place] = scratch[place, 1]
            if unknown:
                level.decided[place] = False
        if unknown:
            continue
        first, last = start, start + before
        for _ in range(2):
            if last - first >= 2:
                if first < top:
                    level.parts[n_parts, 0] = first
                    level.parts[n_parts, 1] = last
                    n_parts += 1
                else:
                    for place in range(first, last):
                        level.decided[place] = False
            first, last = start + before + 1, stop
    return n_parts
