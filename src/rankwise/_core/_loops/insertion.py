"""Local search for an order: one item at a time goes to its best place.

Each loop does a given amount of work, so that a search can be stopped between two calls.
"""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core.compilation import compiled

NO_LIMIT = np.iinfo(np.int64).max


class Search(NamedTuple):
    """The state of a local search over n items.

    Attributes
    ----------
    margins : float64 array of shape (n, n)
        ``margins[i, j] = -margins[j, i]`` is what it is worth to have i before j.
    order, place : int64 arrays of shape (n,)
        The items, best first, and where each item is in the order.
    queue : int64 array of shape (n,)
        A ring of the items whose best place is still to be found.
    ends : int64 array of shape (2,)
        The first entry of the queue and the one behind its last, both modulo n.
    is_waiting : bool array of shape (n,)
        Whether each item is in the queue.
    """

    margins: Any
    order: Any
    place: Any
    queue: Any
    ends: Any
    is_waiting: Any


@compiled
def _draw(state, n):
    """Return a whole number below n from a xorshift stream with ``state`` of shape (1,)."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return np.int64(word % np.uint64(n))


@compiled
def _enqueue(search, item):
    """Put an item at the end of the queue, unless it is in it."""
    if not search.is_waiting[item]:
        search.is_waiting[item] = True
        search.queue[search.ends[1] % len(search.queue)] = item
        search.ends[1] += 1


@compiled
def _insert(search, source, target):
    """Take the item at one place, insert it at another, and return what is gained.

    All items that it passes are put into the queue.
    """
    order, place = search.order, search.place
    item = order[source]
    step = 1 if target > source else -1
    gain = 0.0
    at = source
    while at != target:
        passed = order[at + step]
        gain -= step * search.margins[item, passed]
        order[at] = passed
        place[passed] = at
        _enqueue(search, passed)
        at += step
    order[target] = item
    place[item] = target
    return gain


@compiled
def insert_waiting(search, min_gain, max_items):
    """Insert the items of the queue at their best places, O(n) for each; return the gain.

    Stop when the queue is empty, or after ``max_items``. An item stays where it is unless another
    place gains more than ``min_gain``.
    """
    order, ends = search.order, search.ends
    n = len(order)
    total = 0.0
    while ends[0] < ends[1] and max_items > 0:
        max_items -= 1
        item = search.queue[ends[0] % n]
        ends[0] += 1
        search.is_waiting[item] = False
        here = search.place[item]
        row = search.margins[item]
        best, target = min_gain, here
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
            total += _insert(search, here, target)
    return total


@compiled
def perturb(search, min_gain, state, rounds):
    """Leave a local optimum and search again from there; return the gain.

    In each round, five items near a random place are inserted nearby at random, and then those in
    the queue at their best places; the new order is kept if it is not worse. ``state``, a uint64
    array of shape (1,), is that of the random stream.
    """
    order = search.order
    n = len(order)
    total = 0.0
    kept = order.copy()
    reach = min(20, n - 1)
    for _ in range(rounds):
        centre = _draw(state, n)
        gain = 0.0
        for _ in range(5):
            source = min(max(centre + _draw(state, 2 * reach + 1) - reach, 0), n - 1)
            target = min(max(source + _draw(state, 2 * reach + 1) - reach, 0), n - 1)
            item = order[source]
            gain += _insert(search, source, target)
            _enqueue(search, item)
        gain += insert_waiting(search, min_gain, np.int64(NO_LIMIT))
        # Loops, since numba compiles a copy of a slice for seconds.
        if gain >= 0:
            total += gain
            for at in range(n):
                kept[at] = order[at]
        else:
            for at in range(n):
                order[at] = kept[at]
                search.place[kept[at]] = at
    return total
