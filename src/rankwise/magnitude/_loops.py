r"""Loops of the ridge: passes of dual ascent, centring, and leave-pair-out predictions.

The dual is :math:`2 \alpha \cdot y - \alpha' (K + \Lambda) \alpha` with y and K centred within
queries. A step of 1 over the diagonal of :math:`K + \Lambda` is the best one for a coordinate.

Rows have codes: the query that each belongs to. Only pairs of one query are pairs.
"""

import numpy as np

from rankwise._core._loops.rows import SUMS, axpy, dot
from rankwise._core.compilation import compiled

# A 2 x 2 determinant below this share of its diagonal product is rounding, or nearly so.
SINGULAR = 1e-13
NEARLY = 1e-3
# The relative error of matrix entries in single precision, generously.
SINGLE = 4e-6
_TILE = 64


@compiled(fastmath=SUMS)
def _inner(row, alpha):
    total = 0.0
    for j in range(len(alpha)):
        total += row[j] * alpha[j]
    return total


@compiled
def ascend_gram(K, dual):
    """Take one pass over the points, with K centred, and return how much the dual gained.

    ``dual`` are arrays of shape (m,): centred targets y, the diagonals of Lambda and of
    K + Lambda, the length of each step, and alpha, which a pass changes.
    """
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
    """Take one pass over the points, query by query, and return how much the dual gained.

    ``queries`` are the means of the queries, as rows; the rows query by query, those of query q
    from ``starts[q]`` to ``starts[q + 1]``; the inner product of each row with its mean; and the
    squared length of each mean. ``dual`` is as in `ascend_gram`. ``w`` holds the sum of
    alpha_i (x_i - mean of its query). A step costs the entries of one row: the mean is taken off w
    once a query.
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


@compiled(error_model="numpy")
def centre(K, codes, means, grand, scale, null, ridge, full):
    """Centre K within the queries, scale rows and columns, and add ridge and null, in place.

    ``means[q, j]`` is the mean of ``K[:, j]`` over query q and ``grand[q, r]`` that of the means.
    ``null null'`` is added within each query. Only the triangle below the diagonal is written
    unless ``full``.
    """
    m = len(codes)
    columns = means.T.copy()
    shift = np.empty(len(grand))
    for i in range(m):
        mine = means[codes[i]]
        for q in range(len(shift)):
            shift[q] = columns[i, q] - grand[codes[i], q]
        if len(shift) == 1:
            for j in range(m if full else i + 1):
                K[i, j] = (K[i, j] - mine[j] - shift[0]) * (scale[i] * scale[j]) + null[i] * null[j]
        else:
            for j in range(m if full else i + 1):
                K[i, j] = (K[i, j] - mine[j] - shift[codes[j]]) * (scale[i] * scale[j])
                if codes[i] == codes[j]:
                    K[i, j] += null[i] * null[j]
        K[i, i] += ridge


@compiled(error_model="numpy")
def _missed(a, b, c, e, f, s, t, pair):
    """Return the left-out residual of the second row less that of the first.

    The residuals solve [[a, c], [c, b]] (r, u) = (e, f) and are scaled by s and t. If that is
    singular, as it is when the two are all of their query, the pseudo-inverse answers.
    """
    determinant = a * b - c * c
    if determinant > SINGULAR * a * b and not pair:
        return (t * (a * f - c * e) - s * (b * e - c * f)) / determinant
    trace = a + b
    if trace <= 0.0:
        return 0.0
    return (t * (c * e + b * f) - s * (a * e + c * f)) / (trace * trace)


@compiled(error_model="numpy")
def _slack(a, b, c, e, f, s, t, missed, gap, pair):
    """Return how far off a difference is, for each unit of relative error of the entries."""
    determinant = a * b - c * c
    if pair or determinant <= SINGULAR * a * b:
        return abs(gap) + abs(missed)
    wide = 0.5 * (a + b)
    return abs(gap) + wide * (abs(t * e) + abs(s * f) + 2.0 * abs(c * missed)) / determinant


@compiled(error_model="numpy")
def left_out_differences(J, codes, sizes, null, residual, scale, y, rounding):
    """Turn J into h(x_j) - h(x_i) with i and j left out, in place; nan across queries.

    Parameters
    ----------
    J : ndarray of shape (m, m)
        Read on and below the diagonal. ``J - null null'`` within each query is the matrix whose
        2 x 2 blocks are solved with.
    codes, sizes : ndarrays of shapes (m,) and (n_queries,)
        The query of each row, and the rows of each query.
    null, residual, scale, y : ndarrays of shape (m,)
        See J; the right-hand side; what a solution is multiplied by; the targets.
    rounding : float
        The relative error of entries of J; a difference that may be due to it is a tie.
    """
    m = len(y)
    diagonal = np.empty(m)
    for i in range(m):
        diagonal[i] = max(J[i, i] - null[i] * null[i], 0.0)
        J[i, i] = 0.0
    for top in range(0, m, _TILE):
        for left in range(0, top + 1, _TILE):
            for i in range(top, min(top + _TILE, m)):
                for j in range(left, min(left + _TILE, i)):
                    if codes[i] != codes[j]:
                        J[i, j] = J[j, i] = np.nan
                        continue
                    a, e, s = diagonal[i], residual[i], scale[i]
                    b, f, t = diagonal[j], residual[j], scale[j]
                    c, gap = J[i, j] - null[i] * null[j], y[j] - y[i]
                    pair = sizes[codes[i]] == 2
                    missed = _missed(a, b, c, e, f, s, t, pair)
                    predicted = gap - missed
                    if abs(predicted) <= rounding * _slack(a, b, c, e, f, s, t, missed, gap, pair):
                        predicted = 0.0
                    J[i, j] = predicted
                    J[j, i] = -predicted


@compiled(error_model="numpy")
def block_errors(J, sign, first, rows, U, g, rounding, sums):
    """Add the errors of the left-out pairs of some rows of one query to ``sums``.

    ``rows`` are arrays of shape (m,): the diagonal of the matrix whose 2 x 2 blocks are solved
    with, ``null``, the right-hand side, the scale of a solution, the targets and the row weights.
    ``sign * J[i, j]``, in single precision, is the entry for row ``first + i`` and a row j before
    it, from which the part of ``null`` is taken off. Where a block is nearly singular or the
    prediction nearly a tie, the entry is summed again in double precision, as the sum over k of
    ``sign * U[i, k] g[k] U[j, k]``, whose relative error is ``rounding``. ``sums`` are weighted:
    squares, wrong pairs, all pairs, and pairs with different targets.
    """
    diagonal, null, residual, scale, y, weight = rows
    pair, coarse = len(diagonal) == 2, max(SINGLE, rounding)
    misses, unsure = np.empty(len(y)), np.empty(len(y), dtype=np.bool_)
    for row in range(J.shape[0]):
        i = first + row
        a, e, s = diagonal[i], residual[i], scale[i]
        any_unsure = 0
        for j in range(i):
            b, f, t = diagonal[j], residual[j], scale[j]
            c, gap = sign * J[row, j] - null[i] * null[j], y[j] - y[i]
            determinant = a * b - c * c
            missed = (t * (a * f - c * e) - s * (b * e - c * f)) / determinant
            wide = 0.5 * (a + b) * (abs(t * e) + abs(s * f) + 2.0 * abs(c * missed))
            near = abs(gap - missed) * determinant <= coarse * (abs(gap) * determinant + wide)
            unsure[j] = near | (determinant <= NEARLY * a * b) | pair
            any_unsure += unsure[j]
            misses[j] = missed
        for j in range(i if any_unsure else 0):
            if unsure[j]:
                b, f, t = diagonal[j], residual[j], scale[j]
                c, gap = sign * _entry(U[i], g, U[j]) - null[i] * null[j], y[j] - y[i]
                missed = _missed(a, b, c, e, f, s, t, pair)
                slack = _slack(a, b, c, e, f, s, t, missed, gap, pair)
                misses[j] = gap if abs(gap - missed) <= rounding * slack else missed
        squares, wrong, total, comparable = _row_errors(misses, y, weight, i)
        sums[0] += weight[i] * squares
        sums[1] += weight[i] * wrong
        sums[2] += weight[i] * total
        sums[3] += weight[i] * comparable


@compiled(inner=True, fastmath=SUMS)
def _entry(u, g, v):
    """Return the sum of ``u[k] g[k] v[k]``."""
    total = 0.0
    for k in range(len(g)):
        total += u[k] * g[k] * v[k]
    return total


@compiled(inner=True, fastmath=SUMS)
def _row_errors(misses, y, weight, i):
    """Return what the pairs of row i and the rows before it add to ``sums``."""
    squares = wrong = total = comparable = 0.0
    for j in range(i):
        gap = y[j] - y[i]
        squares += weight[j] * misses[j] * misses[j]
        total += weight[j]
        comparable += weight[j] * (gap != 0.0)
        wrong += weight[j] * ((gap != 0.0) & ((gap - misses[j]) * gap <= 0.0))
    return squares, wrong, total, comparable
