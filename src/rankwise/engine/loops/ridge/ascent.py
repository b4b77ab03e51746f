r"""One pass of dual coordinate ascent over the points, for a Gram matrix and for linear rows.

The dual is :math:`2 \alpha \cdot y - \alpha' (K + \Lambda) \alpha` with y and K centred within
queries; ``curve`` is the diagonal of :math:`K + \Lambda`, and a step of ``1 / curve[i]`` is the
best one for coordinate i.
"""

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.rows import SUMS, axpy, dot


@compiled(fastmath=SUMS)
def _inner(row, alpha):
    total = 0.0
    for j in range(len(alpha)):
        total += row[j] * alpha[j]
    return total


@compiled
def ascend_gram(K, y, ridge, curve, step, alpha):
    """Take one pass over the points, with K centred, and return what the dual gained."""
    gain = 0.0
    for i in range(len(y)):
        slope = y[i] - _inner(K[i], alpha) - ridge[i] * alpha[i]
        move = step[i] * slope
        alpha[i] += move
        gain += move * (2.0 * slope - move * curve[i])
    return gain


@compiled
def ascend_rows(rows, means, order, starts, along, square, y, ridge, curve, step, alpha, w):
    """Take one pass over the points, query by query, and return what the dual gained.

    ``w`` holds the sum of alpha_i (x_i - mean of its query). A step costs the entries of one row:
    the mean is taken off w once a query. ``along[i]`` is the inner product of row i with its mean,
    ``square[q]`` the squared length of a mean.
    """
    gain = 0.0
    for q in range(len(starts) - 1):
        level = dot(means, q, w)
        moved = 0.0
        for position in range(starts[q], starts[q + 1]):
            i = order[position]
            score = dot(rows, i, w) - moved * along[i] - level + moved * square[q]
            slope = y[i] - score - ridge[i] * alpha[i]
            move = step[i] * slope
            alpha[i] += move
            axpy(move, rows, i, w)
            level += move * along[i]
            moved += move
            gain += move * (2.0 * slope - move * curve[i])
        axpy(-moved, means, q, w)
    return gain


@compiled
def along_means(rows, means, order, starts, along, buffer):
    """Fill ``along[i]`` with the inner product of row i and the mean of its query."""
    for q in range(len(starts) - 1):
        axpy(1.0, means, q, buffer)
        for position in range(starts[q], starts[q + 1]):
            along[order[position]] = dot(rows, order[position], buffer)
        axpy(-1.0, means, q, buffer)
