r"""Ridge on the kernel values of some rows, the landmarks, for every penalty at once.

The kernel is that of a smooth function and of a line,

.. math::

    k(x, x') = (1 + r) e^{-r} + x \cdot x' / d , \qquad r^2 = 0.3\, \|x - x'\|^2 / d ,

Matern's of order 3/2 and a linear one, for columns of mean 0 and standard deviation 1. With
:math:`R^\top R` the matrix of the p landmarks, the coordinates of a row are
:math:`\phi(x) = R^{-\top} k(L, x)`, and the score :math:`w \cdot \phi(x) + b` minimises

.. math::

    \sum_i a_i (s_i - y_i)^2 + \lambda \|w\|^2 , \qquad \lambda = \frac{m}{2 C} ,

for weights a of mean 1. If all rows are landmarks, this is ridge with that kernel, and C that of
MPRank. One eigendecomposition of the scatter of :math:`\phi` serves all C. With h the diagonal of
the hat matrix, intercept included, the residual of a row that is left out, all else being equal, is
that of the row divided by :math:`1 - h_i`: exact, and nothing is refitted.

Cost: O(m p (d + p) + p^3) time; rows are read in blocks, twice if they are many.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
# Parts of the rows and their values, from the first to the last.
Blocks = Callable[[], Iterator[tuple[slice, Matrix]]]

_WIDTH = 0.3
# What is added to the diagonal of the landmarks' matrix, as a share of it: rows may be there twice.
_JITTER = 1e-8
# Rows whose coordinates are kept from the first reading to the second.
_KEPT = 4096
_EPS = float(np.finfo(np.float64).eps)


class LandmarkFit(NamedTuple):
    """What was learned, with the C of the least left-out error.

    Attributes
    ----------
    C : float
        Of equal errors the first.
    coef : ndarray of shape (p,)
        Coefficients of the kernel values of the landmarks.
    intercept : float
        Added to them.
    errors : ndarray of shape (n_Cs,)
        The mean squared error of left-out rows for each C.
    left_out : ndarray of shape (m,)
        The scores of rows by models that did not see them.
    """

    C: float
    coef: Vector
    intercept: float
    errors: Vector
    left_out: Vector


def landmark_kernel(X: Matrix, landmarks: Matrix) -> Matrix:
    """Return the kernel values of rows and landmarks, of shape (n, p)."""
    d = X.shape[1]
    line = X @ landmarks.T
    r = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", landmarks, landmarks)
    r -= 2.0 * line
    np.maximum(r, 0.0, out=r)
    r *= _WIDTH / d
    np.sqrt(r, out=r)
    values = np.exp(-r)
    values *= 1.0 + r
    values += line / d
    return values


def fit_landmarks(
    blocks: Blocks, landmarks: Matrix, y: Vector, weight: Vector, Cs: Vector
) -> LandmarkFit:
    """Fit the ridge for every C and return that of the least left-out error.

    Parameters
    ----------
    blocks : callable
        Returns the rows in order, as pairs of a slice and its rows.
    landmarks : ndarray of shape (p, d)
        Some of them.
    y, weight : ndarrays of shape (m,)
        What is learned, and how much each row counts; weights are positive.
    Cs : ndarray of shape (n_Cs,)
        The trade-offs.
    """
    m, a = len(y), weight / weight.mean()
    K = landmark_kernel(landmarks, landmarks)
    K[np.diag_indices_from(K)] += _JITTER * np.trace(K) / len(K)
    root = cholesky(K, check_finite=False)

    def mapped() -> Iterator[tuple[slice, Matrix]]:
        for part, rows in blocks():
            values = landmark_kernel(rows, landmarks)
            yield part, solve_triangular(root, values.T, trans=1, check_finite=False).T

    kept = list(mapped()) if m <= _KEPT else None
    level = float(a @ y) / m
    total, scatter = np.zeros(len(K)), np.zeros_like(K)
    target = np.zeros(len(K))
    for part, F in kept or mapped():
        weighted = F.T * a[part]
        total += weighted.sum(axis=1)
        scatter += weighted @ F
        target += weighted @ (y[part] - level)
    mean = total / m
    scatter -= np.outer(mean, total)
    values, V = eigh(scatter, driver="evd", check_finite=False)
    # 1 / (eigenvalue + penalty) for each eigenvector and C
    shrink = 1.0 / (np.maximum(values, 0.0)[:, None] + 0.5 * m / Cs)
    W = V @ (shrink * (V.T @ target)[:, None])
    left_out = np.empty((m, len(Cs)))
    for part, F in kept or mapped():
        centred = F - mean
        residual = y[part, None] - level - centred @ W
        leverage = a[part, None] * (1.0 / m + np.square(centred @ V) @ shrink)
        left_out[part] = y[part, None] - residual / np.maximum(1.0 - leverage, _EPS)
    errors = a @ np.square(left_out - y[:, None]) / m
    best = int(errors.argmin())
    coef = solve_triangular(root, W[:, best], check_finite=False)
    intercept = level - float(mean @ W[:, best])
    return LandmarkFit(float(Cs[best]), coef, intercept, errors, left_out[:, best].copy())
