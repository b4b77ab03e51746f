r"""Ridge regression with a free intercept for each query: what minimises squared pair differences.

With residuals r, row weights a and :math:`A_q` their total in query q,

.. math::

    \sum_{i,j \in q} a_i a_j (r_j - r_i)^2 = 2 A_q \sum_{i \in q} a_i (r_i - \bar r_q)^2,

so the mean over all pairs inside queries is :math:`\sum_i c_i (r_i - \bar r_q)^2` with
:math:`c_i = 2 a_i A_q / \sum_q A_q^2`, and :math:`\|w\|^2 + C \cdot` mean is a ridge over rows
that are centred within their queries. Below, a tilde means centred and multiplied by
:math:`\sqrt{c_i}`:

- primal: :math:`(\tilde X' \tilde X + I/C)\, w = \tilde X' \tilde y`, O(m d^2 + d^3);
- dual: :math:`(\tilde K + I/C)\, \beta = \tilde y`, O(m^3), with
  :math:`w = \sum_i \alpha_i \phi(x_i)` for :math:`\alpha_i = \sqrt{c_i} \beta_i`. The
  coefficients of each query add to 0, so scores need no centring.

Leaving out i and j with c and C as they are: with J the inverse of :math:`\tilde K + I/C`, less its
part along the means of the queries, and B the two rows, the residuals are
:math:`c_B^{-1/2} J_{BB}^{-1} \beta_B`. The user guide's theory page derives it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh, lapack

from rankwise.engine.loops.left_out import block_errors, centre, left_out_differences
from rankwise.engine.queries import group_rows

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_ROWS = 512
_FEW_ROWS = 64
# What may be lost of an entry that is a mixture, as by rounding it to single precision, and how
# much larger the terms of the mixture may be.
_LOST, _CANCELLED = 2.0**-24, 8.0
# An eigenvalue this far below 0, as a share of the largest, is no rounding.
_INDEFINITE = 1e-6
_EPS = float(np.finfo(np.float64).eps)


class Sample(NamedTuple):
    """Rows with positive weights in queries.

    Attributes
    ----------
    codes : ndarray of shape (m,)
        The query of each row, all of 0..n_queries-1.
    weight : ndarray of shape (m,)
        Row weights a.
    totals : ndarray of shape (n_queries,)
        Their sums by query, A.
    cost : ndarray of shape (m,)
        The c of the module's docstring.
    null : ndarray of shape (m,)
        Unit vectors along the queries' means: the root of a_i / A_q.
    """

    codes: NDArray[np.int64]
    weight: Vector
    totals: Vector
    cost: Vector
    null: Vector

    @classmethod
    def of(cls, codes: NDArray[np.int64], n_queries: int, weight: Vector) -> "Sample":
        """Describe a sample by the queries and weights of its rows."""
        weight = weight / weight.max()
        totals = np.bincount(codes, weights=weight, minlength=n_queries).astype(np.float64)
        cost = 2.0 * weight * totals[codes] / (totals @ totals)
        return cls(codes, weight, totals, cost, np.sqrt(weight / totals[codes]))

    def means(self, values: Any) -> Any:
        """Return the weighted means within queries, a row a query, sparse if the values are."""
        share = self.weight / self.totals[self.codes]
        if len(self.totals) == 1 and not sparse.issparse(values):
            return (share @ values)[None]
        order, starts = group_rows(self.codes, len(self.totals))
        shape = len(self.totals), len(share)
        return sparse.csr_array((share[order], order, starts), shape=shape) @ values

    def overall(self, means: Any) -> Any:
        """Return the weighted mean over all rows, from those within queries."""
        return (self.totals / self.totals.sum()) @ means

    def centred(self, y: Vector) -> Vector:
        """Return y less the weighted mean of its query."""
        sums = np.bincount(self.codes, weights=self.weight * y, minlength=len(self.totals))
        return y - (sums / self.totals)[self.codes]

    def blocks(self, X: Any, means: Any) -> Iterator[tuple[slice, Matrix]]:
        """Yield dense blocks of centred rows times the root of their cost."""
        for start in range(0, X.shape[0], _ROWS):
            rows = slice(start, start + _ROWS)
            block, centres = X[rows], means[self.codes[rows]]
            if sparse.issparse(X):
                block, centres = block.toarray(), centres.toarray()
            yield rows, (block - centres) * np.sqrt(self.cost[rows])[:, None]


class Moments(NamedTuple):
    """Products of the rows and targets with a tilde."""

    xx: Matrix
    xy: Vector
    yy: float


def moments(X: Any, y: Vector, sample: Sample) -> Moments:
    """Return the moments of centred rows, dense or CSR, in O(m d^2)."""
    target = np.sqrt(sample.cost) * sample.centred(y)
    means = sample.means(X)
    d = X.shape[1]
    if not sparse.issparse(X):
        xx, xy = np.zeros((d, d)), np.zeros(d)
        for rows, block in sample.blocks(X, means):
            xx += block.T @ block
            xy += target[rows] @ block
        return Moments(xx, xy, float(target @ target))
    # Rows are not centred, which would fill them; the means of small queries are sparse, too.
    weighed = X.multiply(sample.cost[:, None]).tocsr()
    share = np.sqrt(np.bincount(sample.codes, weights=sample.cost))
    shift = sparse.csr_array(means.multiply(share[:, None]))
    if 10 * shift.nnz > np.prod(shift.shape):
        shift = shift.toarray()
    xx = (X.T @ weighed).toarray() - shift.T @ shift
    return Moments(xx, weighed.T @ sample.centred(y), float(target @ target))


def solve_primal(stats: Moments, C: float) -> tuple[Vector, float]:
    """Return w and the objective from the moments."""

    def system() -> Matrix:
        matrix = stats.xx.copy()
        matrix[np.diag_indices_from(matrix)] += 1.0 / C
        return matrix

    w, _ = _solve(system, stats.xy, 1.0 / C)
    cost = float(stats.yy - 2.0 * stats.xy @ w + w @ stats.xx @ w)
    return w, float(w @ w) + C * max(cost, 0.0)


def solve_dual(
    gram: Callable[[], Matrix], y: Vector, sample: Sample, C: float
) -> tuple[Vector, float, float]:
    """Return alpha, the mean of the scores over the rows, and the objective.

    Parameters
    ----------
    gram : callable
        Returns a new Gram matrix, which is overwritten.
    y, sample, C
        As in the module's docstring.
    """
    level = np.empty(0)

    def system() -> Matrix:
        nonlocal level
        K, means, _ = _centred(gram(), sample, 1.0 / C)
        level = sample.overall(means)
        return K

    target = np.sqrt(sample.cost) * sample.centred(y)
    beta, lost = _solve(system, target, 1.0 / C)
    alpha = np.sqrt(sample.cost) * beta
    return alpha, float(level @ alpha), float(beta @ target + C * lost)


def left_out_dual(gram: Callable[[], Matrix], y: Vector, sample: Sample, C: float) -> Matrix:
    """Return h(x_j) - h(x_i) with i and j left out, from one inverse: O(m^3) and no refit."""
    target = np.sqrt(sample.cost) * sample.centred(y)
    J, _, lift = _centred(gram(), sample, 1.0 / C, lifted=True)
    factor, sound = _factor(J)
    if sound:
        beta = lapack.dpotrs(factor, target, lower=0)[0]
        J = lapack.dpotri(factor, lower=0, overwrite_c=1)[0].T
    else:
        J, _, lift = _centred(gram(), sample, 0.0, lifted=True)
        values, U = _spectrum(J)
        values += 1.0 / C
        beta = U @ ((U.T @ target) / values)
        J = (U / values) @ U.T
    null = sample.null / np.sqrt(1.0 / C + lift)
    return _left_out(J, null, beta, y, sample, _rounding(C, lift))


def left_out_primal(X: Any, y: Vector, sample: Sample, C: float) -> Matrix:
    """Return the same from the rows of a linear model, in O(m^2 d): for d below m."""
    stats = moments(X, y, sample)
    target = np.sqrt(sample.cost) * sample.centred(y)
    values, V = _spectrum(stats.xx)
    Z = np.empty((X.shape[0], len(values)))
    for rows, block in sample.blocks(X, sample.means(X)):
        Z[rows] = block @ V
    Z /= np.sqrt(values + 1.0 / C)
    J = Z @ Z.T
    np.negative(J, out=J)
    J[np.diag_indices_from(J)] += 1.0
    return _left_out(J, sample.null, target - Z @ (Z.T @ target), y, sample, _rounding(C, 0.0))


def left_out_path(
    basis: tuple[Vector, Matrix, float], y: Vector, sample: Sample, Cs: Vector
) -> tuple[Vector, Vector]:
    """Return the mean squared error and the misranking of the left-out pairs for each C.

    Off-diagonal entries are computed in single precision, where the sum over the pairs forgets
    the rounding, and anew in double precision for blocks that are nearly singular: at most a matrix
    product in single precision and a loop over the pairs for each C, and fewer products where the
    spectrum is narrow, since the values of C then see nearly the same of it.

    Parameters
    ----------
    basis : tuple
        As from `dual_basis` or `primal_basis`.
    y, sample
        As in the module's docstring.
    Cs : ndarray of shape (n_Cs,)
        The trade-offs.

    Returns
    -------
    msd, misranking : ndarrays of shape (n_Cs,)
    """
    values, U, lift = basis
    order, starts = group_rows(sample.codes, len(sample.totals))
    scale = 1.0 / np.sqrt(sample.cost[order])
    target = sample.centred(y)[order] / scale
    U, y, weight = U[order], y[order], sample.weight[order]
    complete = lift > 0
    shrunk = 1.0 / (1.0 + np.outer(Cs, values))
    filters = shrunk if complete else np.outer(Cs, values) * shrunk
    sign = 1.0 if complete else -1.0
    diagonals = filters @ (U * U).T
    residuals = (filters * (U.T @ target)) @ U.T
    null = np.zeros_like(y) if complete else sample.null[order]
    if not complete:
        diagonals, residuals = 1.0 - null * null - diagonals, target - residuals
    np.maximum(diagonals, 0.0, out=diagonals)
    sums = np.zeros((len(Cs), 4))
    for shared in _shared(filters, np.arange(len(Cs))):
        V = (U * np.sqrt(shared.scale)).astype(np.float32)
        for start, stop in pairwise(starts.tolist()):
            query = slice(start, stop)
            for first in range(start, stop, _FEW_ROWS):
                last = min(first + _FEW_ROWS, stop)
                parts = V[first:last] * shared.shapes[:, None]
                parts = parts.reshape(-1, V.shape[1]) @ V[start:last].T
                entries = shared.mix @ parts.reshape(len(shared.shapes), -1)
                for k, J in zip(shared.columns, entries, strict=True):
                    block_errors(
                        J.reshape(last - first, last - start),
                        sign,
                        first - start,
                        diagonals[k, query],
                        null[query],
                        residuals[k, query],
                        scale[query],
                        y[query],
                        weight[query],
                        U[query],
                        filters[k],
                        _rounding(Cs[k], lift),
                        sums[k],
                    )
    with np.errstate(invalid="ignore"):
        return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 3]


class _Shared(NamedTuple):
    """Filters as mixtures of fewer: ``filters[columns]`` is nearly ``scale * (mix @ shapes)``."""

    columns: NDArray[np.int64]
    scale: Vector
    shapes: NDArray[np.float32]
    mix: NDArray[np.float32]


def _shared(filters: Matrix, columns: NDArray[np.int64]) -> Iterator[_Shared]:
    """Yield the filters of all values of C, positive and a row each, in parts that share shapes.

    A part must lose next to nothing of any entry, and have no entry that is a small difference of
    large ones; else its halves are tried.
    """
    mine = filters[columns]
    if len(columns) == 1 or not mine.size:
        shapes, mix = np.ones((1, mine.shape[1])), np.ones((len(columns), 1))
        yield _Shared(columns, mine[0], shapes.astype(np.float32), mix.astype(np.float32))
        return
    scale = np.exp(np.log(mine).mean(axis=0))
    size = np.exp(np.log(mine / scale).mean(axis=1))[:, None]
    even = mine / scale / size
    mix, lengths, shapes = np.linalg.svd(even, full_matrices=False)
    mix *= lengths
    for n in range(1, len(columns)):
        lost = np.abs(mix[:, n:] @ shapes[n:]) / even
        cancelled = np.abs(mix[:, :n]) @ np.abs(shapes[:n]) / even
        if lost.max() <= _LOST and cancelled.max() <= _CANCELLED:
            kept = shapes[:n].astype(np.float32), (size * mix[:, :n]).astype(np.float32)
            yield _Shared(columns, scale, *kept)
            return
    for half in np.array_split(columns, 2):
        yield from _shared(filters, half)


def dual_basis(K: Matrix, sample: Sample) -> tuple[Vector, Matrix, float]:
    """Return eigenvalues and vectors of the centred Gram matrix, which serve every C; O(m^3).

    Those along the means of the queries are the largest, by the lift, and left out.
    """
    J, _, lift = _centred(K, sample, 0.0, lifted=True)
    values, U = _spectrum(J)
    rest = len(values) - len(sample.totals)
    return values[:rest], U[:, :rest], lift


def primal_basis(X: Any, y: Vector, sample: Sample) -> tuple[Vector, Matrix, float]:
    """Return the same for the range of linear rows, in O(m d^2 + d^3)."""
    values, V = _spectrum(moments(X, y, sample).xx)
    kept = values > len(values) * _EPS * values[-1]
    U = np.empty((X.shape[0], int(kept.sum())))
    for rows, block in sample.blocks(X, sample.means(X)):
        U[rows] = block @ V[:, kept]
    return values[kept], U / np.sqrt(values[kept]), 0.0


def _centred(
    K: Matrix, sample: Sample, ridge: float, *, lifted: bool = False
) -> tuple[Matrix, Matrix, float]:
    """Centre and scale K below the diagonal, in place; return it, the means and the lift.

    Along the means of the queries the matrix is null. Its inverse would be the ridge's there, far
    more than elsewhere if C is large, and would hide the rest. Lifted, it has twice the trace
    there, above all else.
    """
    means = sample.means(K)
    grand = sample.means(np.ascontiguousarray(means.T))
    rows = np.arange(len(sample.codes))
    diagonal = K[rows, rows] - 2 * means[sample.codes, rows] + grand[sample.codes, sample.codes]
    lift = 2.0 * float(np.maximum(diagonal, 0.0) @ sample.cost) if lifted else 0.0
    lift = 1.0 if lifted and lift == 0 else lift
    null = np.sqrt(lift) * sample.null
    centre(K, sample.codes, means, grand, np.sqrt(sample.cost), null, ridge, False)
    return K, means, lift


def _solve(system: Callable[[], Matrix], target: Vector, ridge: float) -> tuple[Vector, float]:
    """Solve a system given below its diagonal; return the solution and what it can't reach.

    Where rounding hides the ridge, the part of the target along such eigenvectors is given up, and
    its squared length is returned.
    """
    factor, sound = _factor(system())
    if sound:
        return lapack.dpotrs(factor, target, lower=0)[0], 0.0
    matrix = system()
    matrix[np.diag_indices_from(matrix)] -= ridge
    values, U = _spectrum(matrix)
    along = U.T @ target
    lost = values + ridge <= len(values) * _EPS * values[-1]
    solution = U @ np.where(lost, 0.0, along / np.where(lost, 1.0, values + ridge))
    return solution, float((along[lost] ** 2).sum())


def _factor(matrix: Matrix) -> tuple[Matrix, bool]:
    """Return the Cholesky factor of a matrix, which is overwritten, and whether to trust it."""
    factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
    pivots = np.diagonal(factor) ** 2
    return factor, info == 0 and bool(pivots.min() > len(pivots) * _EPS * pivots.max())


def _spectrum(matrix: Matrix) -> tuple[Vector, Matrix]:
    """Return the eigenvalues, none below 0, and vectors of a matrix given below its diagonal."""
    driver = "evd" if len(matrix) > 1 else "ev"  # which SciPy 1.11 fails to call with one
    values, U = eigh(matrix.T, lower=False, driver=driver, overwrite_a=True, check_finite=False)
    if values[0] < -_INDEFINITE * max(values[-1], -values[0]):
        raise ValueError(
            f"the kernel has an eigenvalue of {values[0]:.2g} beside {values[-1]:.2g}: it is not "
            "positive semi-definite; use another kernel or a smaller C"
        )
    return np.maximum(values, 0.0), U


def _rounding(C: float, lift: float) -> float:
    """Return the relative error of an inverse, which grows with C trace, half of C lift."""
    return max(1e-11, 0.5 * _EPS * C * lift)


def _left_out(
    J: Matrix, null: Vector, beta: Vector, y: Vector, sample: Sample, rounding: float
) -> Matrix:
    sizes = np.bincount(sample.codes, minlength=len(sample.totals))
    scale = 1.0 / np.sqrt(sample.cost)
    left_out_differences(J, sample.codes, sizes, null, beta, scale, y, rounding)
    return J
