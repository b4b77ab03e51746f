"""Kernels for the online loops: a row is its kernel values with the rows that were kept.

A direction is then a coefficient for each kept row, its inner product with a row a sum over them,
and a step along a row adds to that row's coefficient: with these meanings of `dot` and `axpy` every
loop that is written for plain rows learns with a kernel.

A budget keeps B rows at most. When one more is needed, an old row goes and leaves its least-squares
image on the others. What that loses at the rows met lately is smallest for the row that goes: the
squared length of what the others can't say of its part, times how near it was lately. Without the
first factor a removal would cost accuracy, without the second a stream that moves on would find
the places taken.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.rows import SUMS, axpy, dot, dot4, held_length, lengthen, settle, square

# Added to the diagonal of the kept rows' kernel matrix, in units of the newest entry: twins would
# make it singular.
RIDGE = 1e-4
# How fast the memory of what was near lately fades: over some ten times B rows learned from.
FADING = 0.1


class Faced(NamedTuple):
    """Some rows of a stream, as their kernel values.

    Attributes
    ----------
    values : (t, capacity), with the rows kept
    within : (t, t) or larger, with each other
    slots : (t,), where a row is kept, or -1
    kept : how many rows are kept, how many of them are part of ``inverse``, and how many are one
        too many, B + 1
    source : (capacity,), what is kept in a slot: row ``source`` of these, or, if negative, what was
        kept in slot ``-1 - source`` before
    inverse : (capacity, capacity), begins with that of the kernel matrix of the rows kept; empty
        without a budget
    length : (1,), the squared length of the direction, for the steps that need it
    recent : (2, capacity), for each row kept, its mean squared cosine with the rows learned from
        lately, and its squared length
    """

    values: np.ndarray
    within: np.ndarray
    slots: np.ndarray
    kept: np.ndarray
    source: np.ndarray
    inverse: np.ndarray
    length: np.ndarray
    recent: np.ndarray


def _is_faced(rows):
    return isinstance(rows, types.NamedTuple) and rows.instance_class is Faced


@overload(dot, jit_options={"fastmath": SUMS})
def _dot(rows, i, w):
    if not _is_faced(rows):
        return None

    def faced(rows, i, w):
        total = 0.0
        for s in range(rows.kept[0]):
            total += rows.values[i, s] * w[s]
        return total

    return faced


@overload(dot4, jit_options={"fastmath": SUMS})
def _dot4(rows, i, W, a, b, c, d):
    if not _is_faced(rows):
        return None

    def faced(rows, i, W, a, b, c, d):
        p, q, r, t = 0.0, 0.0, 0.0, 0.0
        for s in range(rows.kept[0]):
            x = rows.values[i, s]
            p += x * W[a, s]
            q += x * W[b, s]
            r += x * W[c, s]
            t += x * W[d, s]
        return p, q, r, t

    return faced


@overload(axpy)
def _axpy(a, rows, i, w):
    if not _is_faced(rows):
        return None

    def faced(a, rows, i, w):
        if a != 0.0:
            if rows.slots[i] < 0:
                _keep(rows, i)
            w[rows.slots[i]] += a

    return faced


@overload(square)
def _square(rows, i):
    if not _is_faced(rows):
        return None
    return lambda rows, i: rows.within[i, i]


@overload(held_length)
def _held_length(rows, w):
    if not _is_faced(rows):
        return None
    return lambda rows, w: rows.length[0]


@overload(lengthen)
def _lengthen(rows, i, keep, score, step):
    if not _is_faced(rows):
        return None

    def faced(rows, i, keep, score, step):
        grown = step * (2.0 * keep * score + step * rows.within[i, i])
        rows.length[0] = max(0.0, keep * keep * rows.length[0] + grown)

    return faced


@overload(settle)
def _settle(rows, held):
    if not _is_faced(rows):
        return None

    def faced(rows, held):
        n = rows.kept[0]
        if rows.inverse.shape[0] > 0 and rows.kept[1] < n:
            newest = rows.values[rows.source[n - 1]]
            _enter(rows.inverse, newest, n - 1)
            _meet(rows.recent, newest, n - 1, FADING / rows.kept[2])
            if n == rows.kept[2]:
                _forget(rows, held)
            rows.kept[1] = rows.kept[0]

    return faced


@compiled
def _keep(rows, i):
    slot = rows.kept[0]
    rows.kept[0] += 1
    rows.slots[i] = slot
    rows.source[slot] = i
    for q in range(rows.values.shape[0]):
        rows.values[q, slot] = rows.within[q, i]


@compiled(fastmath=SUMS)
def _enter(inverse, row, n):
    """Make the inverse of the first n rows that of n + 1; ``row`` are the values of the last."""
    image = np.empty(n)
    gap = row[n] * (1.0 + RIDGE)
    for s in range(n):
        total = 0.0
        for t in range(n):
            total += inverse[s, t] * row[t]
        image[s] = total
        gap -= total * row[s]
    # Rounding aside, the gap is at least the ridge.
    gap = max(gap, row[n] * RIDGE)
    if not gap > 0.0:
        gap = RIDGE
    for s in range(n):
        part = image[s] / gap
        for t in range(n):
            inverse[s, t] += part * image[t]
        inverse[s, n] = inverse[n, s] = -part
    inverse[n, n] = 1.0 / gap


@compiled
def _meet(recent, row, n, share):
    """Take note of the newest row, which begins as near as the others were on average."""
    recent[0, n] = recent[0, :n].mean() if n > 0 else 1.0
    recent[1, n] = row[n]
    for s in range(n):
        product = recent[1, s] * row[n]
        cosine = row[s] * row[s] / product if product > 0.0 else 0.0
        recent[0, s] += share * (cosine - recent[0, s])


@compiled(fastmath=SUMS)
def _forget(rows, held):
    """Let go the old row whose part in ``held[0]`` will be missed least."""
    inverse, last = rows.inverse, rows.kept[0] - 1
    weights = _weights(held[0], last + 1)
    found = 0
    least = np.inf
    for s in range(last):
        loss = weights[s] / inverse[s, s] * rows.recent[0, s]
        if loss < least:
            found, least = s, loss
    whole = inverse[found, found]
    # The ridge is not part of the length, but of what the removal takes from it.
    rows.length[0] += RIDGE * (weights * rows.recent[1, : last + 1]).sum() - weights[found] / whole
    for directions in held:
        for m in range(directions.shape[0]):
            part = directions[m, found] / whole
            for s in range(last + 1):
                directions[m, s] -= part * inverse[s, found]
            directions[m, found] = directions[m, last]
            directions[m, last] = 0.0
    column = inverse[found, : last + 1].copy()
    for s in range(last + 1):
        part = column[s] / whole
        for t in range(last + 1):
            inverse[s, t] -= part * column[t]
    inverse[found, : last + 1] = inverse[last, : last + 1]
    inverse[: last + 1, found] = inverse[: last + 1, last]
    for q in range(rows.values.shape[0]):
        rows.values[q, found] = rows.values[q, last]
        if rows.slots[q] == found:
            rows.slots[q] = -1
        elif rows.slots[q] == last:
            rows.slots[q] = found
    rows.recent[:, found] = rows.recent[:, last]
    rows.source[found] = rows.source[last]
    rows.kept[0] -= 1
    rest = (_weights(held[0], last) * rows.recent[1, :last]).sum()
    rows.length[0] = max(0.0, rows.length[0] - RIDGE * rest)


@compiled
def _weights(directions, n):
    """Return the sums of the squares of the first n coefficients."""
    weights = np.zeros(n)
    for m in range(directions.shape[0]):
        for s in range(n):
            weights[s] += directions[m, s] * directions[m, s]
    return weights
