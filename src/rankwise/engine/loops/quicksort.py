"""One level of QuickSort on all blocks at once: whom to compare, and how the blocks fall apart."""

from typing import Any

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.shapes import check_shape


def plan_level(
    order: Any, priority: Any, starts: Any, stops: Any, pivots: Any, members: Any, opponents: Any
) -> None:
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


def split_level(
    order: Any,
    priority: Any,
    starts: Any,
    stops: Any,
    pivots: Any,
    sides: Any,
    top: Any,
    scratch: Any,
    parts: Any,
    settled: Any,
) -> int:
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
