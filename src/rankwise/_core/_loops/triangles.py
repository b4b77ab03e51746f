"""Triangles that an order, whole or fractional, violates.

``turned``, a float64 array of shape (n, n), says for p < q how far q is before p: 0 is not at all,
1 is wholly. ``rows`` is an int64 array of shape (room, 4). Each triangle p < q < r has two
inequalities, both about ``slack = turned[p, q] + turned[q, r] - turned[p, r]``: it is not below 0
(side -1) and not above 1 (side 1). All loops take a range of p, so that a search can be broken off.
"""

import numpy as np

from rankwise._core.compilation import compiled


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

    The triangles are written into ``rows`` as by `violated`, as far as there is room. Return what
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
