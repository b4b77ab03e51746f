r"""The score that thresholds cut if none is given: a smooth one, for tables of any columns.

Ridge on the kernel values of some rows, the landmarks, for every penalty at once.

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
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from rankwise._core.inputs import TOO_LARGE, check_rows, dense

N_LANDMARKS = 300
CS = 10.0 ** (np.arange(-2, 13) / 2)
# The quartiles of a normal variable are so many standard deviations apart.
_QUARTILES = 1.349
# Numbers in a block of dense rows.
_BLOCK = 1 << 22
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
) -> tuple[float, Vector, Vector, float, Vector]:
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

    Returns
    -------
    C : float
        That of the least left-out error, of equal errors the first. What follows is for it.
    errors : ndarray of shape (n_Cs,)
        The mean squared error of left-out rows for each C.
    coef : ndarray of shape (p,)
        Coefficients of the kernel values of the landmarks.
    intercept : float
        Added to them.
    left_out : ndarray of shape (m,)
        The scores of rows by models that did not see them.
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
    return float(Cs[best]), errors, coef, intercept, left_out[:, best].copy()


class LandmarkRidge(RegressorMixin, BaseEstimator):
    """Kernel ridge on 300 landmarks whose C is chosen by exact leave-one-out.

    See the module for kernel, objective and cost. A column x becomes
    asinh((x - median) / scale), scale the distance of its quartiles in standard deviations of a
    normal one, and is then standardised: next to a line in the middle, a logarithm in the tails. If
    the quartiles are equal, scale is its standard deviation. The landmarks are a random sample of
    the rows, always the same; all rows if there are fewer.

    Attributes
    ----------
    C_ : float
        The chosen C, of 0.1 to 1,000,000 in half decades.
    errors_ : ndarray of shape (15,)
        The mean squared error of left-out rows for each.
    landmarks_ : ndarray of shape (p, n_features)
        The landmarks, after the change of columns.
    columns_ : ndarray of shape (4, n_features)
        Median and scale of each column, and mean and standard deviation of what these make of it.
    dual_coef_ : ndarray of shape (p,)
        Coefficients of their kernel values.
    intercept_ : float
        Added to them.
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a score."""
        self.fit_left_out(X, y, sample_weight)
        return self

    def fit_left_out(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Vector:
        """Learn a score, and return those of the rows by models that did not see them.

        Rows without weight are scored by the model, which did not see them either.
        """
        rows = check_rows(self, X, reset=True)
        target = np.asarray(y, dtype=np.float64)
        weight = (
            np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        )
        weight = weight / weight.max()
        kept = np.flatnonzero(weight > 0)
        seen = rows if len(kept) == len(target) else rows[kept]
        self.columns_ = _columns(seen)
        places: Any = slice(None)
        if len(kept) > N_LANDMARKS:
            places = np.random.default_rng(0).choice(len(kept), N_LANDMARKS, replace=False)
        self.landmarks_ = self._changed(dense(seen[places]))
        if not np.isfinite(self.landmarks_).all():
            raise ValueError(f"the landmarks of X are {TOO_LARGE}")
        self.C_, self.errors_, self.dual_coef_, self.intercept_, left_out = fit_landmarks(
            lambda: self._blocks(seen), self.landmarks_, target[kept], weight[kept], CS
        )
        if len(kept) == len(target):
            return left_out
        scores = self.predict(rows)
        scores[kept] = left_out
        return scores

    def predict(self, X: ArrayLike) -> Vector:
        """Return the scores of rows."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        scores = np.empty(rows.shape[0])
        for part, block in self._blocks(rows):
            scores[part] = landmark_kernel(block, self.landmarks_) @ self.dual_coef_
        return scores + self.intercept_

    def _changed(self, rows: Matrix) -> Matrix:
        median, scale, mean, sd = self.columns_
        Z: Matrix = np.arcsinh((rows - median) / scale)
        Z -= mean
        Z /= sd
        return Z

    def _blocks(self, rows: Any) -> Iterator[tuple[slice, Matrix]]:
        size = max(1, _BLOCK // (rows.shape[1] + N_LANDMARKS))
        for start in range(0, rows.shape[0], size):
            part = slice(start, min(start + size, rows.shape[0]))
            yield part, self._changed(dense(rows[part]))

    def _check_loaded(self) -> None:
        """Refuse arrays that do not belong together."""
        d = self.n_features_in_
        if self.landmarks_.shape[1:] != (d,) or self.columns_.shape != (4, d):
            raise ValueError(f"landmarks_ and columns_ must be of {d} features")
        if self.dual_coef_.shape != self.landmarks_.shape[:1]:
            raise ValueError("dual_coef_ must have an entry for each of the landmarks_")


def _columns(rows: Any) -> Matrix:
    """Return median and scale of each column, and mean and sd of what these make of it."""
    found = np.empty((4, rows.shape[1]))
    size = max(1, _BLOCK // rows.shape[0])
    columns = rows.tocsc() if issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, rows.shape[1], size):
            part = slice(start, start + size)
            values = dense(columns[:, part])
            low, median, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
            scale = (high - low) / _QUARTILES
            sd = values.std(axis=0)
            scale = np.where(scale > 0, scale, np.where(sd > 0, sd, 1.0))
            changed = np.arcsinh((values - median) / scale)
            sd = changed.std(axis=0)
            found[:, part] = median, scale, changed.mean(axis=0), np.where(sd > 1e-9, sd, 1.0)
    return found
