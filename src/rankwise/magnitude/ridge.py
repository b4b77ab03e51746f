r"""Ridge regression with a free intercept for each query: the minimum of squared pair differences.

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

Products of rows and kernel values are rounded. An error E of the matrix changes the scores by
:math:`\|E \beta\|` at most, and :math:`\beta` is C times the residuals: so every solver returns
how far the scores may be off.

The dual can also be climbed point by point, without an inverse:

.. math::

    \max_\alpha \; 2 \alpha \cdot y - \alpha' \left(K + \mathrm{diag}(1 / C c_i)\right) \alpha

with y and K centred within queries. A pass takes each point in turn and moves its coordinate by
``2 eta`` times its gradient, or to the best place for it: O(m^2) a pass with a Gram matrix,
O(entries) with linear rows.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas, eigh, lapack, svd
from sklearn.utils.extmath import row_norms

from rankwise._core._loops.rows import as_rows
from rankwise._core.queries import group_rows
from rankwise._core.ranker import EPS, ERRORS, check_trusted
from rankwise.magnitude._loops.dual_ascent import (
    Dual,
    Queries,
    along_means,
    ascend_gram,
    ascend_rows,
)
from rankwise.magnitude._loops.leave_pair_out import centre

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_ROWS = 512
# An eigenvalue this far below 0, as a share of the largest, is no rounding.
_INDEFINITE = 1e-6
_TINY = 1e-300
# Rows of a doubtful linear fit are decomposed if they have at most so many entries.
_ENTRIES = 50_000_000

Gram = Callable[[], tuple[Matrix, Vector]]
"""Returns a new Gram matrix, which is overwritten, and the sizes of its rows: an entry [i, j] is
known to some rounding errors of the root of ``sizes[i] * sizes[j]``."""


def penalty(C: float) -> float:
    """Return 1 / C; past what a float can hold, scores are 0 anyway."""
    return min(1.0 / float(C), 1e290)


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
        weight = np.maximum(weight / weight.max(), _TINY)
        totals = np.bincount(codes, weights=weight, minlength=n_queries).astype(np.float64)
        cost = np.maximum(2.0 * weight * totals[codes] / (totals @ totals), _TINY)
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
        for _ in range(2):  # the first mean is rounded to the digits of y, which may be large
            sums = np.bincount(self.codes, weights=self.weight * y, minlength=len(self.totals))
            y = y - (sums / self.totals)[self.codes]
        return y

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
    """Return w from the moments, and how far its scores may be off as a share of the spread of y.

    The diagonal of the system is made 1, so that features of any scale keep their digits.
    """
    ridge = penalty(C)
    unit = np.sqrt(np.diagonal(stats.xx) + ridge)
    system = stats.xx / unit / unit[:, None]
    system[np.diag_indices_from(system)] = 1.0
    norm = float(np.abs(system).sum(axis=0).max())
    factor, sound = cholesky(system)
    if not sound:
        return np.zeros_like(unit), np.inf
    w = np.zeros_like(unit)
    for _ in range(2):
        left = stats.xy - stats.xx @ w - ridge * w
        w += lapack.dpotrs(factor, left / unit, lower=0)[0] / unit
    inverse = 1.0 / (lapack.dpocon(factor, norm)[0] * norm)
    spread = max(np.sqrt(stats.yy), _TINY)
    length = float(np.linalg.norm(unit * w))
    return w, ERRORS * np.sqrt(len(w) * inverse) * length / spread


def moments_objective(stats: Moments, w: Vector, C: float) -> float:
    """Return the objective at w."""
    cost = float(stats.yy - 2.0 * stats.xy @ w + w @ stats.xx @ w)
    return float(w @ w) + C * max(cost, 0.0)


def solve_rows(X: Any, y: Vector, sample: Sample, C: float) -> tuple[Vector, float]:
    """Return the same as `solve_primal` from the rows themselves: for when products hide too much.

    A singular value decomposition, O(m d min(m, d)): the error grows with the root of C.
    """
    target = np.sqrt(sample.cost) * sample.centred(y)
    U, values, V = svd(tilde(X, sample), full_matrices=False, check_finite=False)
    along, squares = U.T @ target, values * values
    inverse = values / (squares + penalty(C))
    w = V.T @ (along * inverse)
    missed = target - U @ (along * values * inverse)
    length = np.linalg.norm(w) + inverse.max(initial=0.0) * np.linalg.norm(missed)
    spread = max(float(np.linalg.norm(target)), _TINY)
    return w, float(ERRORS * values.max(initial=0.0) * length / spread)


def solve_dual(
    gram: Gram, y: Vector, sample: Sample, C: float
) -> tuple[Vector, float, float, float]:
    """Solve the dual by Cholesky's factor and a refined solution, O(m^3).

    Return the coefficients, which add to 0 in each query, the mean of the scores over the rows, the
    objective, and how far scores may be off as a share of the spread of y.

    The residual is that of the values that were given; their rounding is a part of the error that
    no later precision could take away.
    """
    target = np.sqrt(sample.cost) * sample.centred(y)
    top = float(np.abs(target).max(initial=0.0))
    if top == 0:
        return np.zeros_like(y), 0.0, 0.0, 0.0
    target /= top
    root, ridge = np.sqrt(sample.cost), penalty(C)
    K, sizes = gram()
    diagonal = np.diagonal(K).copy()
    K, means, _ = centre_scaled(K, sample, ridge)
    factor, sound = cholesky(K)
    if sound:
        beta, left = np.zeros_like(target), target
        for _ in range(2):
            beta = _projected(beta + lapack.dpotrs(factor, left, lower=0)[0], sample)
            fitted = root * sample.centred(_product(K, diagonal, root * beta))
            left = target - fitted - ridge * beta
        missed = float(np.linalg.norm(left))
    else:
        # the penalty is hidden by rounding: so is the target along some eigenvectors
        K, means, _ = centre_scaled(gram()[0], sample, 0.0)
        values, U = spectrum(K, matrix_noise(sizes, sample))
        along = U.T @ target
        lost = values + ridge <= len(values) * EPS * values[-1]
        beta = U @ np.where(lost, 0.0, along / np.where(lost, 1.0, values + ridge))
        beta, missed = _projected(beta, sample), float(np.linalg.norm(along[lost]))
    alpha = top * (root * beta)
    error = missed / float(np.linalg.norm(target)) + rounding(alpha, sizes, y, sample)
    objective = top * (top * (float(beta @ target) + C * missed * missed))
    return alpha, float(sample.overall(means) @ alpha), objective, error


def matrix_noise(sizes: Vector, sample: Sample) -> float:
    """Return the length of an error of the scaled Gram matrix whose entries are independent."""
    squares = sample.cost * sizes
    return ERRORS * float(np.sqrt(squares.max(initial=0.0) * squares.sum()))


def rounding(alpha: Vector, sizes: Vector, y: Vector, sample: Sample) -> float:
    """Return how far the scores of coefficients may be off, as a share of the spread of y."""
    spread = np.sqrt(sample.cost) * sample.centred(y)
    if not alpha.any():
        return 0.0
    top = np.abs(alpha).max()
    noise = np.sqrt(sample.cost @ sizes) * np.linalg.norm(np.sqrt(sizes) * (alpha / top))
    return float(ERRORS * noise / np.linalg.norm(spread / top))


def _projected(beta: Vector, sample: Sample) -> Vector:
    """Return beta with coefficients that add to 0 in each query."""
    share = np.bincount(sample.codes, sample.null * beta, len(sample.totals))
    return beta - sample.null * share[sample.codes]


def _product(K: Matrix, diagonal: Vector, v: Vector) -> Vector:
    """Multiply with the matrix whose values are left above the diagonal of a factor."""
    places = np.diag_indices_from(K)
    kept = K[places]
    K[places] = diagonal
    product = blas.dsymv(1.0, K.T, v, lower=1)
    K[places] = kept
    return product


def tilde(X: Any, sample: Sample) -> Matrix:
    """Return all rows with a tilde, dense."""
    if X.shape[0] * X.shape[1] > _ENTRIES:
        check_trusted(np.inf, "products of rows")
    Z = np.empty(X.shape)
    for rows, block in sample.blocks(X, sample.means(X)):
        Z[rows] = block
    return Z


def centre_scaled(
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


def cholesky(matrix: Matrix) -> tuple[Matrix, bool]:
    """Return the Cholesky factor of a matrix, which is overwritten, and whether to trust it."""
    factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
    pivots = np.diagonal(factor) ** 2
    return factor, info == 0 and bool(pivots.min() > len(pivots) * EPS * pivots.max())


def spectrum(matrix: Matrix, noise: float) -> tuple[Vector, Matrix]:
    """Return the eigenvalues, none below 0, and vectors of a matrix given below its diagonal.

    ``noise`` is by how much the matrix may be off.
    """
    driver = "evd" if len(matrix) > 1 else "ev"  # which SciPy 1.11 fails to call with one
    values, U = eigh(matrix.T, lower=False, driver=driver, overwrite_a=True, check_finite=False)
    rounded = max(_INDEFINITE * max(values[-1], -values[0]), len(values) * noise, _TINY)
    if values[0] < -rounded:
        raise ValueError(
            f"the kernel has an eigenvalue of {values[0]:.2g} beside {values[-1]:.2g}: it is not "
            "positive semi-definite; use another kernel or a smaller C"
        )
    return np.maximum(values, 0.0), U


Pass = tuple[float, float, Vector]
"""The value of the dual after a pass, which is at most the objective, the gain of the pass, and the
coefficients of centred rows, which the next pass changes."""


def gram_passes(
    K: Matrix, y: Vector, sample: Sample, C: float, eta: float | None = None
) -> Iterator[Pass]:
    """Yield pass after pass over a Gram matrix that `centre_gram` has centred."""
    ridge = np.minimum(penalty(C) / sample.cost, 1e290)
    curve = np.diagonal(K) + ridge
    step = _steps(curve, eta)
    dual, value = Dual(sample.centred(y), ridge, curve, step, np.zeros(len(y))), 0.0
    while True:
        gain = ascend_gram(K, dual)
        value += gain
        yield value, gain, dual.alpha


def row_passes(
    X: Any, y: Vector, sample: Sample, C: float, w: Vector, eta: float | None = None
) -> Iterator[Pass]:
    """Yield pass after pass over linear rows, dense or CSR; ``w`` starts at 0 and is kept up."""
    means = sample.means(X)
    rows, centres = as_rows(X), as_rows(means)
    order, starts = group_rows(sample.codes, len(sample.totals))
    along = np.empty(len(y))
    along_means(rows, centres, order, starts, along, np.zeros(X.shape[1]))
    square = row_norms(means, squared=True)
    ridge = np.minimum(penalty(C) / sample.cost, 1e290)
    distance = row_norms(X, squared=True) - 2 * along + square[sample.codes]
    curve = np.maximum(distance, 0.0) + ridge
    step = _steps(curve, eta)
    queries = Queries(centres, order, starts, along, square)
    dual, value = Dual(sample.centred(y), ridge, curve, step, np.zeros(len(y))), 0.0
    while True:
        gain = ascend_rows(rows, queries, dual, w)
        value += gain
        yield value, gain, dual.alpha


def centre_gram(K: Matrix, sample: Sample) -> Matrix:
    """Centre a Gram matrix within queries, in place, and return the means it had."""
    means = sample.means(K)
    grand = sample.means(np.ascontiguousarray(means.T))
    ones = np.ones(len(K))
    centre(K, sample.codes, means, grand, ones, np.zeros(len(K)), 0.0, True)
    return means


def of_raw_rows(alpha: Vector, sample: Sample) -> Vector:
    """Return the coefficients of rows that are not centred, from those of centred ones."""
    sums = np.bincount(sample.codes, weights=alpha, minlength=len(sample.totals))
    return alpha - sample.null**2 * sums[sample.codes]


def _steps(curve: Vector, eta: float | None) -> Vector:
    if eta is None:
        return 1.0 / curve
    if eta * curve.max() >= 1.0:
        raise ValueError(
            f"eta={eta} makes the steps overshoot for these rows and this C: it must be below "
            f"{1.0 / curve.max():.3g}, or None for the best step of each point"
        )
    return np.full(len(curve), 2.0 * eta)
