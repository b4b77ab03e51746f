"""Local search for an order: move one item at a time to its best place."""

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
def _settle(margins, order, place, queue, waiting, ends, least):
    """Move waiting items to their best places until none gains; return the gain."""
    n = len(order)
    total = 0.0
    while ends[0] < ends[1]:
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
def _settle_all(margins, order, place, queue, waiting, ends, least):
    """Settle until no item at all has a better place; return the gain."""
    total = 0.0
    while True:
        queue[:] = order
        waiting[:] = True
        ends[0], ends[1] = 0, len(order)
        gain = _settle(margins, order, place, queue, waiting, ends, least)
        if gain <= 0:
            return total
        total += gain


@compiled
def improve(margins, order, rounds, least, seed):
    """Improve an order in place; return the sum of margins that was gained.

    ``margins[i, j] = -margins[j, i]`` is what it is worth to have i before j. First every item
    moves to its best place, O(n) for each look, until none gains more than ``least``. Then, in each
    round, five items near a random place are moved a little at random and those that were passed
    are settled again; the new order is kept if it is not worse.
    """
    n = len(order)
    if n < 2:
        return 0.0
    place = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    waiting = np.empty(n, dtype=np.bool_)
    ends = np.zeros(2, dtype=np.int64)
    for at in range(n):
        place[order[at]] = at
    total = _settle_all(margins, order, place, queue, waiting, ends, least)
    state = np.array([seed], dtype=np.uint64)
    kept = order.copy()
    reach = min(20, n - 1)
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
        gain += _settle(margins, order, place, queue, waiting, ends, least)
        if gain >= 0:
            total += gain
            kept[:] = order
        else:
            order[:] = kept
            for at in range(n):
                place[order[at]] = at
    return total + _settle_all(margins, order, place, queue, waiting, ends, least)
