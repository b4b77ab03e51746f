r"""Solvers of the ridge over centred rows: the dual, the rows themselves, and dual ascent.

See `rankwise.magnitude.statistics` for the objective, the costs c of the rows, the tilde and the
primal. The dual is :math:`(\tilde K + I/C)\, \beta = \tilde y`, O(m^3), with
:math:`w = \sum_i \alpha_i \phi(x_i)` for :math:`\alpha_i = \sqrt{c_i} \beta_i`. The coefficients of
each query add to 0, so scores need no centring.

Products of rows and kernel values are rounded. An error E of the matrix changes the scores by
:math:`\|E \beta\|` at most, and :math:`\beta` is C times the residuals: so every solver returns
how far the scores may be off. An ill-conditioned problem has one fallback, in `MPRank.fit`: where
that is too far, the rows or the Gram matrix are decomposed instead.

The dual can also be climbed point by point, without an inverse:

.. math::

    \max_\alpha \; 2 \alpha \cdot y - \alpha' \left(K + \mathrm{diag}(1 / C c_i)\right) \alpha

with y and K centred within queries. A pass takes each point in turn and moves its coordinate by
``2 eta`` times its gradient, or to the best place for it: O(m^2) a pass with a Gram matrix,
O(entries) with linear rows.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh, lapack, svd
from sklearn.utils.extmath import row_norms

from rankwise._core._loops.rows import as_rows
from rankwise._core.queries import group_rows
from rankwise._core.ranker import EPS, ERRORS, check_trusted
from rankwise.magnitude._loops import along_means, ascend_gram, ascend_rows, centre
from rankwise.magnitude.statistics import TINY, Matrix, Sample, Vector, cholesky, penalty

# An eigenvalue this far below 0, as a share of the largest, is not rounding.
_INDEFINITE = 1e-6
# Rows of a doubtful linear fit are decomposed if they have at most this number of entries.
_ENTRIES = 50_000_000

Gram = Callable[[], tuple[Matrix, Vector]]
"""Returns a new Gram matrix, which is overwritten, and the sizes of its rows: an entry [i, j] is
known to some rounding errors of the root of ``sizes[i] * sizes[j]``."""


def decompose_rows(X: Any, y: Vector, sample: Sample, C: float) -> tuple[Vector, float]:
    """Return what `solve_primal` returns from the rows themselves: where products hide too much.

    A singular value decomposition, O(m d min(m, d)): the error grows with the root of C.
    """
    target = np.sqrt(sample.cost) * sample.centred(y)
    U, values, V = svd(tilde(X, sample), full_matrices=False, check_finite=False)
    along, squares = U.T @ target, values * values
    inverse = values / (squares + penalty(C))
    w = V.T @ (along * inverse)
    missed = target - U @ (along * values * inverse)
    length = np.linalg.norm(w) + inverse.max(initial=0.0) * np.linalg.norm(missed)
    spread = max(float(np.linalg.norm(target)), TINY)
    return w, float(ERRORS * values.max(initial=0.0) * length / spread)


def solve_dual(
    gram: Gram, y: Vector, sample: Sample, C: float, *, decompose: bool = False
) -> tuple[Vector, float, float, float]:
    """Solve the dual by Cholesky's factor and a refined solution, or by eigenvectors, O(m^3).

    Return the coefficients, which add to 0 in each query, the mean of the scores over the rows, the
    objective, and how far scores may be off as a share of the spread of y, infinite if the factor
    is not sound.

    The residual is that of the values that were given; their rounding is a part of the error that
    no later precision could take away.
    """
    target = np.sqrt(sample.cost) * sample.centred(y)
    top = float(np.abs(target).max(initial=0.0)) or 1.0
    target /= top
    root, ridge = np.sqrt(sample.cost), penalty(C)
    K, sizes = gram()
    diagonal = np.diagonal(K).copy()
    K, means, _ = centre_scaled(K, sample, 0.0 if decompose else ridge)
    if decompose:
        # the penalty is hidden by rounding: so is the target along some eigenvectors
        values, U = spectrum(K, matrix_noise(sizes, sample))
        along = U.T @ target
        lost = values + ridge <= len(values) * EPS * values[-1]
        beta = U @ np.where(lost, 0.0, along / np.where(lost, 1.0, values + ridge))
        beta, missed = _projected(beta, sample), float(np.linalg.norm(along[lost]))
    else:
        factor, sound = cholesky(K)
        beta, left = np.zeros_like(target), target
        for _ in range(2 if sound else 0):
            beta = _projected(beta + lapack.dpotrs(factor, left, lower=0)[0], sample)
            fitted = root * sample.centred(_product(K, diagonal, root * beta))
            left = target - fitted - ridge * beta
        missed = float(np.linalg.norm(left)) if sound else np.inf
    alpha = top * (root * beta)
    error = missed / max(float(np.linalg.norm(target)), TINY) + rounding(alpha, sizes, y, sample)
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


def spectrum(matrix: Matrix, noise: float) -> tuple[Vector, Matrix]:
    """Return the eigenvalues, none below 0, and vectors of a matrix given below its diagonal.

    ``noise`` is by how much the matrix may be off.
    """
    driver = "evd" if len(matrix) > 1 else "ev"  # which SciPy 1.11 fails to call with one
    values, U = eigh(matrix.T, lower=False, driver=driver, overwrite_a=True, check_finite=False)
    rounded = max(_INDEFINITE * max(values[-1], -values[0]), len(values) * noise, TINY)
    if values[0] < -rounded:
        raise ValueError(
            f"the kernel has eigenvalues from {values[0]:.2g} to {values[-1]:.2g}: it is not "
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
    alpha, value = np.zeros(len(y)), 0.0
    dual = sample.centred(y), ridge, curve, step_lengths(curve, eta), alpha
    while True:
        gain = ascend_gram(K, dual)
        value += gain
        yield value, gain, alpha


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
    alpha, value = np.zeros(len(y)), 0.0
    dual = sample.centred(y), ridge, curve, step_lengths(curve, eta), alpha
    while True:
        gain = ascend_rows(rows, (centres, order, starts, along, square), dual, w)
        value += gain
        yield value, gain, alpha


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


def step_lengths(curve: Vector, eta: float | None) -> Vector:
    """Return the best step of each coordinate, 1 over its curvature, or 2 eta if that is safe."""
    if eta is None:
        return 1.0 / curve
    if eta * curve.max() >= 1.0:
        raise ValueError(
            f"eta={eta} makes the steps overshoot for these rows and this C: it must be below "
            f"{1.0 / curve.max():.3g}, or None for the best step of each point"
        )
    return np.full(len(curve), 2.0 * eta)
