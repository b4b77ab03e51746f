"""Kernels for the online loops: a row is its kernel values with the rows that were kept.

A direction is then a coefficient for each kept row, its inner product with a row a sum over them,
and a step along a row adds to that row's coefficient: with these versions of `dot` and `axpy` every
loop that is written for plain rows learns with a kernel.

A budget keeps B rows at most. When one more is needed, an old row is removed, and the others take
over the part of it that they can express, by least squares. The row to remove is the one with the
smallest loss: the squared length of the part that the others can't express, times how near the row
was to the rows learned from lately. Without the first factor a removal would cost accuracy. Without
the second, a stream that moves on would find all places taken.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core._loops.rows import (
    SUMS,
    axpy,
    direction_square,
    dot,
    dot4,
    end_update,
    record_step,
    row_square,
)
from rankwise._core.compilation import compiled

# Added to the diagonal of the kept rows' kernel matrix, in units of the newest entry: twins would
# make it singular.
RIDGE = 1e-4
# How fast old cosines fade: over some ten times B rows learned from.
FADING = 0.1


class KernelRows(NamedTuple):
    """Some rows of a stream, as their kernel values.

    Attributes
    ----------
    values : (t, capacity)
        Their values with the rows kept.
    within : (t, t) or larger
        Their values with each other.
    slots : (t,) int64
        Where a row is kept, or -1.
    kept : (3,) int64
        How many rows are kept, how many of them are part of ``inverse``, and how many are one too
        many, B + 1; the last two are for a budget.
    source : (capacity,) int64
        What is kept in a slot: row ``source`` of these, or, if negative, what was kept in slot
        ``-1 - source`` before.
    length : (1,)
        The squared length of the direction, for the steps that need it.
    """

    values: np.ndarray
    within: np.ndarray
    slots: np.ndarray
    kept: np.ndarray
    source: np.ndarray
    length: np.ndarray


class BudgetRows(NamedTuple):
    """`KernelRows` of which a budget is kept.

    A separate class, so that without a budget its code is not compiled.

    Attributes
    ----------
    inverse : (capacity, capacity)
        Begins with the inverse of the kernel matrix of the rows kept.
    recent : (4, capacity)
        For each row kept, its mean squared cosine with the rows learned from lately, and its
        squared length. The last two rows hold intermediate results.
    """

    values: np.ndarray
    within: np.ndarray
    slots: np.ndarray
    kept: np.ndarray
    source: np.ndarray
    length: np.ndarray
    inverse: np.ndarray
    recent: np.ndarray


@dot.register(BudgetRows)
@dot.register(KernelRows)
def _dot(rows, i, w):
    total = 0.0
    for s in range(rows.kept[0]):
        total += rows.values[i, s] * w[s]
    return total


@dot4.register(BudgetRows)
@dot4.register(KernelRows)
def _dot4(rows, i, W, a, b, c, d):
    p, q, r, t = 0.0, 0.0, 0.0, 0.0
    for s in range(rows.kept[0]):
        x = rows.values[i, s]
        p += x * W[a, s]
        q += x * W[b, s]
        r += x * W[c, s]
        t += x * W[d, s]
    return p, q, r, t


@axpy.register(BudgetRows)
@axpy.register(KernelRows)
def _axpy(a, rows, i, w):
    if a != 0.0:
        if rows.slots[i] < 0:
            slot = rows.kept[0]
            rows.kept[0] = slot + 1
            rows.slots[i] = slot
            rows.source[slot] = i
            for q in range(rows.values.shape[0]):
                rows.values[q, slot] = rows.within[q, i]
        w[rows.slots[i]] += a


@row_square.register(BudgetRows)
@row_square.register(KernelRows)
def _row_square(rows, i):
    return rows.within[i, i]


@direction_square.register(BudgetRows)
@direction_square.register(KernelRows)
def _direction_square(rows, w):
    return rows.length[0]


@record_step.register(BudgetRows)
@record_step.register(KernelRows)
def _record_step(rows, i, keep, score, step):
    grown = step * (2.0 * keep * score + step * rows.within[i, i])
    rows.length[0] = max(0.0, keep * keep * rows.length[0] + grown)


@end_update.register(KernelRows)
def _keep_all(rows, directions, others):
    """No row is removed."""


@end_update.register(BudgetRows)
def _keep_budget(rows, directions, others):
    values, _, slots, kept, source, length, inverse, recent = rows
    last = kept[0] - 1
    if kept[1] > last:
        return
    _add_to_inverse(inverse, recent, values[source[last]], last, FADING / kept[2])
    kept[1] = last + 1
    if kept[1] < kept[2]:
        return
    weights, column = recent[2], recent[3]
    _sum_squares(directions, weights)
    found = 0
    for s in range(1, last):
        loss = weights[s] / inverse[s, s] * recent[0, s]
        if loss < weights[found] / inverse[found, found] * recent[0, found]:
            found = s
    for s in range(last + 1):
        column[s] = inverse[found, s]
    # The ridge is not part of the length, but of what the removal takes from it.
    length[0] += RIDGE * _inner(weights, recent[1], last + 1) - weights[found] / column[found]
    for matrix in (directions, others):
        for m in range(matrix.shape[0]):
            part = matrix[m, found] / column[found]
            for s in range(last + 1):
                matrix[m, s] -= part * inverse[s, found]
            matrix[m, found] = matrix[m, last]
            matrix[m, last] = 0.0
    _add_outer(inverse, column, last + 1, -column[found])
    # The last row takes the slot.
    for s in range(last):
        inverse[found, s] = inverse[last, s]
        inverse[s, found] = inverse[s, last]
    inverse[found, found] = inverse[last, last]
    recent[0, found], recent[1, found] = recent[0, last], recent[1, last]
    source[found] = source[last]
    for q in range(values.shape[0]):
        values[q, found] = values[q, last]
        if slots[q] == found:
            slots[q] = -1
        elif slots[q] == last:
            slots[q] = found
    _sum_squares(directions, weights)
    length[0] = max(0.0, length[0] - RIDGE * _inner(weights, recent[1], last))
    kept[0] = kept[1] = last


@compiled(inner=True)
def _add_to_inverse(inverse, recent, row, n, share):
    """Make the inverse of the first n rows that of n + 1; ``row`` are the values of the last.

    Record its cosines, too: it begins as near as the others were on average.
    """
    image, gap, total = recent[3], row[n] * (1.0 + RIDGE), 0.0
    for s in range(n):
        image[s] = _inner(inverse[s], row, n)
        gap -= image[s] * row[s]
        total += recent[0, s]
        product = recent[1, s] * row[n]
        cosine = row[s] * row[s] / product if product > 0.0 else 0.0
        recent[0, s] += share * (cosine - recent[0, s])
    recent[0, n] = total / n if n > 0 else 1.0
    recent[1, n] = row[n]
    # Rounding aside, the gap is at least the ridge.
    gap = max(gap, row[n] * RIDGE)
    if not gap > 0.0:
        gap = RIDGE
    _add_outer(inverse, image, n, gap)
    for s in range(n):
        inverse[s, n] = inverse[n, s] = -(image[s] / gap)
    inverse[n, n] = 1.0 / gap


@compiled(inner=True)
def _sum_squares(matrix, out):
    """Fill ``out`` with the sums of the squares of each column of a matrix."""
    for s in range(matrix.shape[1]):
        out[s] = 0.0
        for m in range(matrix.shape[0]):
            out[s] += matrix[m, s] * matrix[m, s]


@compiled(inner=True)
def _add_outer(matrix, vector, n, divisor):
    """Add the outer product of n numbers with themselves, divided by another, to a matrix."""
    for s in range(n):
        part = vector[s] / divisor
        for t in range(n):
            matrix[s, t] += part * vector[t]


@compiled(inner=True, fastmath=SUMS)
def _inner(first, second, n):
    """Return the inner product of the first n numbers of two arrays."""
    total = 0.0
    for s in range(n):
        total += first[s] * second[s]
    return total
