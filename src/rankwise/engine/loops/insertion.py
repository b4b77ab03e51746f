"""Local search for an order: move one item at a time to its best place.

``margins[i, j] = -margins[j, i]`` is what it is worth to have i before j. Items that wait for a
look stand in ``queue``, a ring from ``ends[0]`` to ``ends[1]``; ``place`` is where each item is in
``order``. Each loop does a given amount of work, so that a search can be broken off between two.
"""

import numpy as np

from rankwise.engine.loops.compiled import compiled


@compiled
def _draw(state, n):
    """Return a whole number below n from a xorshift stream."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return np.int64(word % np.uint64(n))


@compiled
def _move(margins, order, place, source, target, queue, waiting, ends):
    """Move an item, let all that it passes wait for a look, and return what was gained."""
    item = order[source]
    step = 1 if target > source else -1
    gain = 0.0
    at = source
    while at != target:
        passed = order[at + step]
        gain -= step * margins[item, passed]
        order[at] = passed
        place[passed] = at
        if not waiting[passed]:
            waiting[passed] = True
            queue[ends[1] % len(order)] = passed
            ends[1] += 1
        at += step
    order[target] = item
    place[item] = target
    return gain


@compiled
def settle(margins, order, place, queue, waiting, ends, least, looks):
    """Move waiting items to their best places, O(n) for each look; return the gain.

    Stop when none waits, or after so many looks. A move must gain more than ``least``.
    """
    n = len(order)
    total = 0.0
    while ends[0] < ends[1] and looks > 0:
        looks -= 1
        item = queue[ends[0] % n]
        ends[0] += 1
        waiting[item] = False
        here = place[item]
        row = margins[item]
        best, target = least, here
        gain = 0.0
        for at in range(here - 1, -1, -1):
            gain += row[order[at]]
            if gain > best:
                best, target = gain, at
        gain = 0.0
        for at in range(here + 1, n):
            gain -= row[order[at]]
            if gain > best:
                best, target = gain, at
        if target != here:
            total += _move(margins, order, place, here, target, queue, waiting, ends)
    return total


@compiled
def shake(margins, order, place, queue, waiting, ends, least, state, rounds):
    """Leave a settled order and come back to a better one, or one as good; return the gain.

    In each round, five items near a random place are moved a little at random and those that were
    passed are settled again; the new order is kept if it is not worse. ``state`` is that of the
    random stream.
    """
    n = len(order)
    total = 0.0
    kept = order.copy()
    reach = min(20, n - 1)
    no_end = np.iinfo(np.int64).max
    for _ in range(rounds):
        centre = _draw(state, n)
        gain = 0.0
        for _ in range(5):
            source = min(max(centre + _draw(state, 2 * reach + 1) - reach, 0), n - 1)
            target = min(max(source + _draw(state, 2 * reach + 1) - reach, 0), n - 1)
            item = order[source]
            gain += _move(margins, order, place, source, target, queue, waiting, ends)
            if not waiting[item]:
                waiting[item] = True
                queue[ends[1] % n] = item
                ends[1] += 1
        gain += settle(margins, order, place, queue, waiting, ends, least, no_end)
        if gain >= 0:
            total += gain
            kept[:] = order
        else:
            order[:] = kept
            for at in range(n):
                place[order[at]] = at
    return total
