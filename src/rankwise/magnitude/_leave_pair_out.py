r"""Exact leave-pair-out predictions of a ridge, without a refit.

Leaving out i and j with c and C as they are: with J the inverse of :math:`\tilde K + I/C`, less its
part along the means of the queries, and B the two rows, the residuals are
:math:`c_B^{-1/2} J_{BB}^{-1} \beta_B`. The user guide's theory page derives it. See
`rankwise.magnitude.statistics` for the notation.

An error E of the matrix changes J by a share of itself of :math:`C \|E\|` at most. Where that is
too much, linear rows are decomposed themselves, whose error grows with the root of C.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, svd

from rankwise._core.queries import group_rows
from rankwise._core.ranker import EPS, ERRORS, TRUSTED, check_trusted
from rankwise.magnitude._loops import block_errors, left_out_differences
from rankwise.magnitude.ridge import Gram, centre_scaled, matrix_noise, spectrum, tilde
from rankwise.magnitude.statistics import (
    TINY,
    Matrix,
    Sample,
    Vector,
    cholesky,
    moments,
    penalty,
)

_FEW_ROWS = 64
# What may be lost of an entry that is a mixture, as by rounding it to single precision, and how
# much larger the terms of the mixture may be.
_LOST, _CANCELLED = 2.0**-24, 8.0


class Basis(NamedTuple):
    """Eigenvalues and vectors of the centred Gram matrix, which serve every C.

    Attributes
    ----------
    values, U : ndarrays of shapes (k,) and (m, k)
        The vectors are all but those along the means of the queries, or those of the range.
    lift : float
        What the means of the queries were lifted by; 0: the vectors are those of the range.
    noise, root : float
        The error of the Gram matrix, or of its root: whichever was decomposed.
    """

    values: Vector
    U: Matrix
    lift: float
    noise: float
    root: float

    def error(self, C: float) -> float:
        """Return how far I / (1 + C K) may be off: as a share of itself, or without lift of 1."""
        return C * self.noise + np.sqrt(C) * self.root + ERRORS


def dual_basis(gram: Gram, sample: Sample) -> Basis:
    """Return the whole basis by one eigendecomposition, O(m^3).

    The vectors along the means of the queries are those of the largest values, by the lift, and
    left out.
    """
    K, sizes = gram()
    J, _, lift = centre_scaled(K, sample, 0.0, lifted=True)
    noise = matrix_noise(sizes, sample)
    values, U = spectrum(J, noise)
    rest = len(values) - len(sample.totals)
    return Basis(values[:rest], U[:, :rest], lift, noise, 0.0)


def primal_basis(X: Any, y: Vector, sample: Sample) -> Basis:
    """Return the basis of the range of linear rows, in O(m d^2 + d^3)."""
    values, V = spectrum(moments(X, y, sample)[0], 0.0)
    kept = values > len(values) * EPS * values[-1]
    U = np.empty((X.shape[0], int(kept.sum())))
    for rows, block in sample.blocks(X, sample.means(X)):
        U[rows] = block @ V[:, kept]
    noise = max(ERRORS, len(values) * EPS) * float(values.sum())
    return Basis(values[kept], U / np.sqrt(values[kept]), 0.0, noise, 0.0)


def rows_basis(X: Any, sample: Sample, *, whole: bool) -> Basis:
    """Return either basis from linear rows themselves: for when products hide too much."""
    Z, lift = tilde(X, sample), 0.0
    if whole:
        lift = 2.0 * float((Z * Z).sum()) or 1.0
        means = np.zeros((len(Z), len(sample.totals)))
        means[np.arange(len(Z)), sample.codes] = np.sqrt(lift) * sample.null
        Z = np.hstack([Z, means])
    U, roots, _ = svd(Z, full_matrices=whole, check_finite=False)
    root = ERRORS * float(roots.max(initial=0.0))
    if not whole:
        kept = roots > EPS * roots.max(initial=0.0)
        return Basis(roots[kept] ** 2, U[:, kept], 0.0, 0.0, root)
    values = np.zeros(len(Z))
    values[: len(roots)] = roots**2
    return Basis(values[len(sample.totals) :], U[:, len(sample.totals) :], lift, 0.0, root)


def bases(gram: Gram, X: Any, y: Vector, sample: Sample, *, primal: bool) -> Iterator[Basis]:
    """Yield a basis, and for linear rows X better ones that cost more."""
    if primal:
        yield primal_basis(X, y, sample)
        yield rows_basis(X, sample, whole=False)
    else:
        yield dual_basis(gram, sample)
    if X is not None:
        yield rows_basis(X, sample, whole=True)


def left_out_errors(
    gram: Gram, X: Any, y: Vector, sample: Sample, Cs: Vector, *, primal: bool
) -> tuple[Vector, Vector]:
    """Return mean squared error and misranking of the left-out pairs for each C.

    Parameters are those of `left_out`; ``primal`` says whether to begin with a matrix of the
    features.
    """
    for basis in bases(gram, X, y, sample, primal=primal):
        squared, misranking, error = left_out_path(basis, y, sample, Cs)
        if (error <= TRUSTED).all():
            break
    else:
        good = Cs[error <= TRUSTED]
        fix = f"give Cs up to {good.max():.3g}" if len(good) else "give smaller Cs"
        check_trusted(float(error.max()), "the left-out differences", fix)
    return squared, misranking


def left_out(gram: Gram, X: Any, y: Vector, sample: Sample, C: float) -> Matrix:
    """Return h(x_j) - h(x_i) with i and j left out.

    From the rows of a linear model in O(m^2 d) if d is far below m, else from one inverse, O(m^3).

    Parameters
    ----------
    gram : callable
        Gives the Gram matrix.
    X : ndarray, csr_array or None
        The rows of a linear kernel.
    y, sample, C
        As in `rankwise.magnitude.statistics`.
    """
    primal = X is not None and 4 * X.shape[1] < X.shape[0]
    if not primal:
        differences, error = _by_inverse(gram, y, sample, C)
        if error <= TRUSTED:
            return differences
    for basis in () if X is None else bases(gram, X, y, sample, primal=primal):
        differences, error = _by_basis(basis, y, sample, C)
        if error <= TRUSTED:
            return differences
    check_trusted(error, "the left-out differences")
    return differences


def _by_basis(basis: Basis, y: Vector, sample: Sample, C: float) -> tuple[Matrix, float]:
    """Return the differences, O(m^2) for each vector, and how far they may be off."""
    values, U, lift, _, _ = basis
    target = np.sqrt(sample.cost) * sample.centred(y)
    if lift > 0:
        shrunk = penalty(C) / (penalty(C) + values)
        J = (U * shrunk) @ U.T
        beta = U @ (shrunk * (U.T @ target))
        null, least = np.zeros_like(target), 1.0
    else:
        Z = U * np.sqrt(values / (penalty(C) + values))
        J = -(Z @ Z.T)
        J[np.diag_indices_from(J)] += 1.0
        beta, null = target - Z @ (Z.T @ target), sample.null
        least = _least(np.diagonal(J) - null * null, sample)
    error = basis.error(C) / least if least > 0 else np.inf
    return _differences(J, null, beta, y, sample, _tie(error)), error


def _by_inverse(gram: Gram, y: Vector, sample: Sample, C: float) -> tuple[Matrix, float]:
    """Return the same from one inverse, if Cholesky's factor is sound: a fifth of the time."""
    K, sizes = gram()
    error = C * matrix_noise(sizes, sample)
    if error > TRUSTED:
        return K, error
    target = np.sqrt(sample.cost) * sample.centred(y)
    J, _, lift = centre_scaled(K, sample, penalty(C), lifted=True)
    factor, sound = cholesky(J)
    if not sound:
        return _by_basis(dual_basis(gram, sample), y, sample, C)
    beta = lapack.dpotrs(factor, target, lower=0)[0]
    J = lapack.dpotri(factor, lower=0, overwrite_c=1)[0].T
    null = sample.null / np.sqrt(penalty(C) + lift)
    return _differences(J, null, beta, y, sample, _tie(error)), error


def _tie(error: float) -> float:
    """Return the relative error below which a difference is a tie: what is likely, not certain."""
    return max(1e-11, error / 8.0)


def _least(diagonal: Vector, sample: Sample) -> float:
    """Return the least of what rows keep when left out, of those in queries of three or more."""
    sizes = np.bincount(sample.codes, minlength=len(sample.totals))
    return float(diagonal[sizes[sample.codes] > 2].min(initial=1.0))


def left_out_path(
    basis: Basis, y: Vector, sample: Sample, Cs: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return mean squared error and misranking of the left-out pairs for each C, and their errors.

    Off-diagonal entries are computed in single precision, where the sum over the pairs forgets
    the rounding, and again in double precision for blocks that are nearly singular: at most a
    matrix product in single precision and a loop over the pairs for each C, and
    fewer products where the spectrum is narrow, since the values of C then see nearly the same of
    it.

    Parameters
    ----------
    basis : Basis
        Of the centred Gram matrix.
    y, sample
        As in the module's docstring.
    Cs : ndarray of shape (n_Cs,)
        The trade-offs.

    Returns
    -------
    msd, misranking, error : ndarrays of shape (n_Cs,)
        The last: how far a left-out difference may be off, as a share of the spread of y.
    """
    values, U, lift, _, _ = basis
    order, starts = group_rows(sample.codes, len(sample.totals))
    scale = 1.0 / np.sqrt(sample.cost[order])
    target = sample.centred(y)[order] / scale
    U, y, weight = U[order], y[order], sample.weight[order]
    complete = lift > 0
    ridges = np.array([penalty(C) for C in Cs])[:, None]
    filters = np.maximum((ridges if complete else values) / (ridges + values), TINY)
    sign = 1.0 if complete else -1.0
    diagonals = filters @ (U * U).T
    residuals = (filters * (U.T @ target)) @ U.T
    null = np.zeros_like(y) if complete else sample.null[order]
    if not complete:
        diagonals, residuals = 1.0 - null * null - diagonals, target - residuals
    error = np.array([basis.error(C) for C in Cs])
    if not complete:
        least = np.array([_least(diagonal, sample) for diagonal in diagonals[:, np.argsort(order)]])
        error = np.where(least > 0, error / np.where(least > 0, least, 1.0), np.inf)
    np.maximum(diagonals, 0.0, out=diagonals)
    sums = np.zeros((len(Cs), 4))
    for part, root, shapes, mix in _shared(filters, np.arange(len(Cs))):
        V = (U * np.sqrt(root)).astype(np.float32)
        for start, stop in pairwise(starts.tolist()):
            query = slice(start, stop)
            for first in range(start, stop, _FEW_ROWS):
                last = min(first + _FEW_ROWS, stop)
                parts = V[first:last] * shapes[:, None]
                parts = parts.reshape(len(parts) * (last - first), V.shape[1]) @ V[start:last].T
                entries = mix @ parts.reshape(len(shapes), -1)
                for k, J in zip(part, entries, strict=True):
                    columns = diagonals[k], null, residuals[k], scale, y, weight
                    rows = tuple(column[query] for column in columns)
                    block_errors(
                        J.reshape(last - first, last - start),
                        sign,
                        first - start,
                        rows,
                        U[query],
                        filters[k],
                        _tie(error[k]),
                        sums[k],
                    )
    with np.errstate(invalid="ignore"):
        return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 3], error


def _shared(filters: Matrix, columns: NDArray[np.int64]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the filters of all values of C, positive and a row each, as mixtures of fewer shapes.

    A part is (columns, scale, shapes, mix): ``filters[columns]`` is nearly
    ``scale * (mix @ shapes)``, the latter two in single precision. It must lose next to nothing of
    any entry, and have no entry that is a small difference of large ones; else its halves are
    tried.
    """
    mine = filters[columns]
    if len(columns) == 1 or not mine.size:
        ones = np.ones((1, mine.shape[1]), np.float32), np.ones((len(columns), 1), np.float32)
        yield columns, mine[0], *ones
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
            yield columns, scale, *kept
            return
    for half in np.array_split(columns, 2):
        yield from _shared(filters, half)


def _differences(
    J: Matrix, null: Vector, beta: Vector, y: Vector, sample: Sample, rounding: float
) -> Matrix:
    sizes = np.bincount(sample.codes, minlength=len(sample.totals))
    scale = 1.0 / np.sqrt(sample.cost)
    left_out_differences(J, sample.codes, sizes, null, beta, scale, y, rounding)
    return J
