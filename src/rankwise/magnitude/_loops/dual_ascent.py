r"""One pass of dual coordinate ascent over the points, for a Gram matrix and for linear rows.

The dual is :math:`2 \alpha \cdot y - \alpha' (K + \Lambda) \alpha` with y and K centred within
queries; ``curve`` is the diagonal of :math:`K + \Lambda`, and a step of ``1 / curve[i]`` is the
best one for coordinate i.
"""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core._loops.rows import SUMS, axpy, dot
from rankwise._core.compilation import compiled


@compiled(fastmath=SUMS)
def _inner(row, alpha):
    total = 0.0
    for j in range(len(alpha)):
        total += row[j] * alpha[j]
    return total


class Dual(NamedTuple):
    """The dual, arrays of shape (m,) each.

    ``y`` are centred targets, ``ridge`` the diagonal of Lambda, ``curve`` that of K + Lambda,
    ``step`` the length of each step and ``alpha`` the coefficients, which a pass changes.
    """

    y: np.ndarray
    ridge: np.ndarray
    curve: np.ndarray
    step: np.ndarray
    alpha: np.ndarray


class Queries(NamedTuple):
    """Rows query by query.

    ``means`` are the means of the queries, as rows. ``order`` of shape (m,) are the rows of query q
    from ``starts[q]`` to ``starts[q + 1]``. ``along`` of shape (m,) is the inner product of each
    row with its mean, ``square`` of shape (n_queries,) the squared length of each mean.
    """

    means: Any
    order: np.ndarray
    starts: np.ndarray
    along: np.ndarray
    square: np.ndarray


@compiled
def ascend_gram(K, dual):
    """Take one pass over the points, with K centred, and return what the dual gained."""
    y, ridge, curve, step, alpha = dual
    gain = 0.0
    for i in range(len(y)):
        slope = y[i] - _inner(K[i], alpha) - ridge[i] * alpha[i]
        change = step[i] * slope
        alpha[i] += change
        gain += change * (2.0 * slope - change * curve[i])
    return gain


@compiled
def ascend_rows(rows, queries, dual, w):
    """Take one pass over the points, query by query, and return what the dual gained.

    ``w`` holds the sum of alpha_i (x_i - mean of its query). A step costs the entries of one row:
    the mean is taken off w once a query.
    """
    means, order, starts, along, square = queries
    y, ridge, curve, step, alpha = dual
    gain = 0.0
    for q in range(len(starts) - 1):
        level = dot(means, q, w)
        changed = 0.0
        for position in range(starts[q], starts[q + 1]):
            i = order[position]
            score = dot(rows, i, w) - changed * along[i] - level + changed * square[q]
            slope = y[i] - score - ridge[i] * alpha[i]
            change = step[i] * slope
            alpha[i] += change
            axpy(change, rows, i, w)
            level += change * along[i]
            changed += change
            gain += change * (2.0 * slope - change * curve[i])
        axpy(-changed, means, q, w)
    return gain


@compiled
def along_means(rows, means, order, starts, along, buffer):
    """Fill ``along[i]`` with the inner product of row i and the mean of its query."""
    for q in range(len(starts) - 1):
        axpy(1.0, means, q, buffer)
        for position in range(starts[q], starts[q + 1]):
            along[order[position]] = dot(rows, order[position], buffer)
        axpy(-1.0, means, q, buffer)
