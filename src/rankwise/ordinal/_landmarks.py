"""The score that thresholds cut if none is given: a smooth one, for tables of any columns."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from rankwise._core.inputs import TOO_LARGE, check_rows, dense
from rankwise.ordinal._landmark_solver import Matrix, Vector, fit_landmarks, landmark_kernel

N_LANDMARKS = 300
CS = 10.0 ** (np.arange(-2, 13) / 2)
# The quartiles of a normal variable are so many standard deviations apart.
_QUARTILES = 1.349
# Numbers in a block of dense rows.
_BLOCK = 1 << 22


class LandmarkRidge(RegressorMixin, BaseEstimator):
    """Kernel ridge on 300 landmarks whose C is chosen by exact leave-one-out.

    See `rankwise.ordinal._landmark_solver` for kernel, objective and cost. A column x becomes
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
            raise ValueError(f"what was learned from X is {TOO_LARGE}")
        found = fit_landmarks(
            lambda: self._blocks(seen), self.landmarks_, target[kept], weight[kept], CS
        )
        self.C_, self.errors_ = found.C, found.errors
        self.dual_coef_, self.intercept_ = found.coef, found.intercept
        if len(kept) == len(target):
            return found.left_out
        scores = self.predict(rows)
        scores[kept] = found.left_out
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
