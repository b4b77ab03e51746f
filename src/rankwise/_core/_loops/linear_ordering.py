"""Compiled loops of the linear ordering problem: majorities, insertion, subsets, triangles."""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def count_wins(items, levels, starts, weight, wins):
    """Add to ``wins[i, j]`` the weight of the votes that put i before j.

    Vote v is ``items[starts[v] : starts[v + 1]]``, best first; items of one level are tied.
    """
    for v in range(len(weight)):
        stop = starts[v + 1]
        behind = starts[v]
        for a in range(starts[v], stop):
            while behind < stop and levels[behind] <= levels[a]:
                behind += 1
            row = wins[items[a]]
            for b in range(behind, stop):
                row[items[b]] += weight[v]


@compiled
def order_cost(wins, order):
    """Return the weight of the votes against the pairs of an order."""
    total = 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            total += wins[order[b], order[a]]
    return total


NO_LIMIT = np.iinfo(np.int64).max


class Search(NamedTuple):
    """The state of a local search over n items.

    Attributes
    ----------
    margins : float64 array of shape (n, n)
        ``margins[i, j] = -margins[j, i]`` is the gain of having i before j.
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
    """Return an integer below n from a xorshift stream with ``state`` of shape (1,)."""
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


@compiled
def order_by_subsets(losses):
    """Return the order with the smallest sum of ``losses[j, i]`` over i before j, in O(2^n n^2).

    ``losses`` is a float64 array of shape (n, n), and a subset is a number with a bit for each
    member.
    """
    n = len(losses)
    full = (1 << n) - 1
    costs, last = np.empty(full + 1), np.empty(full + 1, dtype=np.int64)
    for placed in range(full + 1):
        costs[placed] = np.inf if placed else 0.0
    for placed in range(full):
        for i in range(n):
            if not placed >> i & 1:
                cost = costs[placed]
                for j in range(n):
                    if not placed >> j & 1:
                        cost += losses[j, i]
                more = placed | 1 << i
                if cost < costs[more]:
                    costs[more] = cost
                    last[more] = i
    order = np.empty(n, dtype=np.int64)
    placed = full
    for at in range(n - 1, -1, -1):
        order[at] = last[placed]
        placed ^= 1 << order[at]
    return order


@compiled
def _write(rows, number, p, q, r, side):
    """Write a row: number by number, since numba compiles a tuple for longer."""
    rows[number, 0] = p
    rows[number, 1] = q
    rows[number, 2] = r
    rows[number, 3] = side


@compiled
def violated(turned, tolerance, first, stop, rows, count):
    """Write the violated triangles with first <= p < stop into ``rows``, from row ``count`` on.

    A row is (p, q, r, side). Return how many rows are filled then, or ``len(rows) + 1`` as soon as
    there is one more than they can hold.
    """
    n = len(turned)
    for p in range(first, stop):
        for q in range(p + 1, n - 1):
            before = turned[p, q]
            for r in range(q + 1, n):
                slack = before + turned[q, r] - turned[p, r]
                if slack < -tolerance or slack > 1 + tolerance:
                    if count == len(rows):
                        return count + 1
                    _write(rows, count, p, q, r, -1 if slack < 0 else 1)
                    count += 1
    return count


@compiled
def most_violated(turned, tolerance, first, stop, third, excess):
    """Find, for each pair (p, q) with first <= p < stop, the r whose triangle is violated most.

    ``third[p, q]`` becomes r, or -1 if no triangle is violated by more than ``tolerance``;
    ``excess[p, q]`` by how much it is violated.
    """
    n = len(turned)
    for p in range(first, stop):
        for q in range(p + 1, n):
            before = turned[p, q]
            worst, at = tolerance, -1
            for r in range(q + 1, n):
                slack = before + turned[q, r] - turned[p, r]
                beyond = max(-slack, slack - 1)
                if beyond > worst:
                    worst, at = beyond, r
            third[p, q] = at
            excess[p, q] = worst


@compiled
def pack(margins, first, stop, rows, count):
    """Take circles of three out of the margins as long as there are any with first <= p < stop.

    A circle is a triangle whose three margins go round. Any order has one of the three against it,
    so the least of them is lost, once for every circle if what a circle takes is taken from its
    margins: ``margins[p, q]``, p < q, which shrink in place and never change their signs.

    The triangles are written into ``rows`` as by `violated`, as far as there is space. Return what
    is lost, and how many rows are filled.
    """
    n = len(margins)
    lost = 0.0
    for p in range(first, stop):
        for q in range(p + 1, n - 1):
            here = margins[p, q]
            side = -1.0 if here > 0 else 1.0
            for r in range(q + 1, n):
                if here == 0:
                    break
                # Positive, all three, if the triangle is a circle.
                there, back = -side * margins[q, r], side * margins[p, r]
                if there > 0 and back > 0:
                    least = min(-side * here, there, back)
                    here += side * least
                    margins[q, r] += side * least
                    margins[p, r] -= side * least
                    lost += least
                    if count < len(rows):
                        _write(rows, count, p, q, r, np.int64(side))
                        count += 1
            margins[p, q] = here
    return lost, count
