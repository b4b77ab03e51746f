"""Rankers: regressors of a score that puts rows in order, with or without a kernel."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.extmath import row_norms
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise._core._loops.rows import as_rows, scores
from rankwise._core.arguments import warn_user
from rankwise._core.inputs import (
    TOO_LARGE,
    as_floats,
    bad_row,
    check_rows,
    check_weights,
    dense,
    explained,
    ratings_of,
    refuse_masked,
    rows_of,
)
from rankwise._core.kernels import Anchored, Kernel
from rankwise._core.learned_state import check_shape, learned_floats
from rankwise._core.queries import encode_queries, group_rows, positions_in_queries
from rankwise._core.sklearn_private import num_samples


def warn_without_qid(model: Any, qid: ArrayLike | None) -> None:
    """Warn if a model that was fitted with queries is scored without them."""
    if qid is None and model.n_queries_ > 1:
        warn_user(
            f"this {type(model).__name__} was fitted with qid and is scored without it, so rows "
            "of different queries are compared, too: pass qid=... to score (in GridSearchCV "
            "and cross_val_score through metadata routing)"
        )


class RankerMixin(RegressorMixin):
    """A regressor of a score, higher is better, by which rows are put in order.

    A subclass has ``fit(X, y, *, qid=None, sample_weight=None)`` and ``predict(X)``, and sets
    ``n_queries_``, the number of queries in the fit.
    """

    # Whether X may hold NaN, a missing value.
    _accepts_missing: ClassVar[bool] = False

    n_queries_: int
    _two_targets: bool

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._accepts_missing
        kernel = getattr(self, "kernel", None)
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
        return tags

    def rank(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row, from 1, best first; ties as they come.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: positions are counted within queries.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.predict(X)
        codes, n_queries = encode_queries(qid, len(values))
        best = np.argsort(-values, kind="stable")
        order, starts = group_rows(codes[best], n_queries)
        return positions_in_queries(best[order], codes, starts)

    @available_if(lambda self: getattr(self, "_two_targets", False))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each row, as ``predict``; only after a fit on exactly two targets.

        So scikit-learn's ``scoring="roc_auc"`` and ``"average_precision"`` take the scores of a
        ranker as those of a classifier.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values: NDArray[np.float64] = self.predict(X)
        return values

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of comparable pairs that are put in the right order, a tie half.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their true ratings. Two rows are comparable if these differ.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: only rows of one query are compared.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; a pair weighs their product.
        """
        from rankwise.metrics import pairwise_misranking_loss  # noqa: PLC0415

        values = self.predict(X)
        warn_without_qid(self, qid)
        return 1.0 - pairwise_misranking_loss(
            y, values, qid=qid, sample_weight=sample_weight, ties="half"
        )


Vector = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
TRUSTED = 1e-3
"""Scores may be off by this share of the spread of y."""
ERRORS = 8.0 * EPS
"""A generous bound on the relative error of an entry."""
# Ratings and squares of rows past these would overflow in sums of squares.
_LARGEST_RATING, _LARGEST_SQUARE = 1e140, 1e290
# Rows that are predicted at a time, whose kernel values fit the cache.
_PREDICTED = 1024


def check_rows_of_queries(n: int, n_queries: int) -> None:
    """Raise if no query of n rows has two rows."""
    if n == n_queries:
        reason = "y has one sample" if n == 1 else "qid gives each row its own query"
        raise ValueError(
            f"{reason} (n_samples = {n}): ranking compares two or more rows of a query"
        )


def check_size(X: Any, y: Vector, kernel: Any, kept: NDArray[np.int64]) -> None:
    """Raise if a float can't hold the squares of ratings or rows, or the values of the kernel.

    ``kept`` are the rows' numbers among the given ones. Values that are yet to be computed are
    checked by `KernelRanker._gram`.
    """
    if np.abs(y).max(initial=0.0) > _LARGEST_RATING:
        raise ValueError(
            f"y holds {y[np.abs(y).argmax()]:.3g}, whose square is larger than a float can hold: "
            "divide the ratings by a constant"
        )
    if callable(kernel):
        return
    with np.errstate(over="ignore"):
        if kernel == "precomputed":
            squares = np.maximum(X.max(axis=1), -X.min(axis=1))
        else:
            squares = row_norms(X, squared=True)
        bad = np.flatnonzero(~(squares * len(kept) <= _LARGEST_SQUARE))
    if len(bad):
        raise ValueError(f"the square of row {kept[bad[0]]} of X is {TOO_LARGE}")


def check_learned(learned: dict[str, Any], C: float) -> None:
    """Raise if a learned value is infinite or NaN."""
    for name, value in learned.items():
        if name.endswith(("coef_", "intercept_", "objective_")) and not np.isfinite(value).all():
            raise ValueError(
                f"the learned {name} with C={C:.3g} is larger than a float can hold: scale "
                "the features, for example with sklearn.preprocessing.StandardScaler, and the "
                "ratings, or use a smaller C"
            )


def check_trusted(
    error: float, what: str, fix: str = "use a smaller C", *, spread: str = "y"
) -> None:
    """Raise if rounding may have changed an answer, by ``error`` as a share of a spread."""
    if not error <= TRUSTED:
        size = f"by {error:.2g} of the spread of {spread}" if np.isfinite(error) else "at will"
        raise ValueError(
            f"{what} can't be trusted: rounding may change them {size} (allowed: {TRUSTED:g}); "
            "scale the features, for example with sklearn.preprocessing.StandardScaler, or "
            f"{fix}"
        )


# Sums of products of four weights of this size still fit a float.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-60, 1e60


class Ranked(NamedTuple):
    """Rows to learn a ranker from, all of positive weight.

    Attributes
    ----------
    X : ndarray or csr_array of shape (m, n_features)
        The rows, in double precision.
    y, weight : ndarrays of shape (m,)
        Their ratings and weights.
    codes : ndarray of shape (m,)
        The query of each row.
    n_queries : int
        Each code below it occurs.
    kept : ndarray of shape (m,)
        Their numbers among the given rows; those without weight are left out.
    weight_unit : float
        The number that the given weights were divided by: 1, unless all are tiny or one is huge.
    """

    X: Any
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    codes: NDArray[np.int64]
    n_queries: int
    kept: NDArray[np.int64]
    weight_unit: float


def check_ranked(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
) -> Ranked:
    """Validate the rows and ratings of a ranker.

    With ``reset``, the ranker notes whether its ratings are exactly two.
    """
    refuse_masked(y, "y")
    with explained(X, y), np.errstate(over="ignore", invalid="ignore"):
        rows, checked = validate_data(
            estimator,
            rows_of(X),
            ratings_of(y, "y"),
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan" if estimator._accepts_missing else True,
            y_numeric=True,
            reset=reset,
        )
        ratings = np.ascontiguousarray(as_floats(checked, "y"))
        if (
            checked.dtype.kind in "iu"
            and (rounded := ratings.astype(checked.dtype) != checked).any()
        ):
            row = rounded.argmax()
            raise ValueError(
                f"y holds {checked[row]} in row {row}, an integer that a float rounds: subtract a "
                "constant from all ratings, for example the lowest"
            )
    n = len(ratings)
    weight, weight_unit = np.ones(n), 1.0
    if sample_weight is not None:
        weight, weight_unit = scale_weights(check_weights(sample_weight, "sample_weight", n))
    low, high = ratings.min(), ratings.max()
    estimator._two_targets = bool(reset and low < high and np.isin(ratings, (low, high)).all())
    codes, n_queries = encode_queries(qid, n)
    kept = np.flatnonzero(weight)
    if len(kept) < n:
        rows, ratings, weight = rows[kept], ratings[kept], weight[kept]
        codes, n_queries = encode_queries(codes[kept], len(kept))
    return Ranked(rows, ratings, weight, codes, n_queries, kept, weight_unit)


def scale_weights(weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return weights whose products a float can hold, and what they were divided by.

    A weight that no float can hold as a share of the largest becomes 0.
    """
    largest = float(weight.max(initial=0.0))
    if largest == 0:
        return weight, 1.0
    shares = weight / largest
    if _LEAST_WEIGHT <= largest <= _LARGEST_WEIGHT:
        return np.where(shares > 0, weight, 0.0), 1.0
    return shares, largest


class KernelRanker(RankerMixin):
    """A ranker with the parameters kernel, gamma, degree and coef0."""

    kernel: Any
    gamma: float | None
    degree: int
    coef0: float
    coef_: Vector
    dual_coef_: Vector
    intercept_: float
    _anchored: Anchored
    _constant: float

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0)

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _gram(self, anchored: Anchored, X: Any) -> tuple[Vector, Vector]:
        """Return the kernel's values between the rows of a fit, and their sizes."""
        K = anchored.gram(X)
        computed = callable(self.kernel) or self.kernel == "poly"
        if computed and not np.abs(K).max() * len(K) <= _LARGEST_SQUARE:
            raise ValueError(
                f"kernel={self.kernel!r} returned {K.flat[np.abs(K).argmax()]:.3g}: sums of such "
                f"values are {TOO_LARGE}"
            )
        return K, anchored.sizes(X, np.diagonal(K))

    def predict(self, X: ArrayLike) -> Vector:
        """Return the score of each row, higher is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        found = np.empty((rows.shape[0], 1))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.kernel == "linear":
                coef = np.atleast_2d(learned_floats("coef_", self._predicting("coef_")))
                check_shape("coef_", coef, 1, rows.shape[1])
                scores(as_rows(rows), coef, found)
                found += self.intercept_
            else:
                dual = self._predicting("dual_coef_")
                known = None if self.kernel == "precomputed" else self._predicting("X_fit_")
                if known is not None:
                    check_shape("X_fit_", known, None, rows.shape[1], kind=known.dtype)
                for start in range(0, rows.shape[0], _PREDICTED):
                    block = slice(start, start + _PREDICTED)
                    found[block, 0] = self._anchored.gram(rows[block], known) @ dual
                found += self._constant
        bad = np.flatnonzero(~np.isfinite(found[:, 0]))
        if len(bad):
            raise bad_row(rows, bad[0])
        return found[:, 0]

    def _predicting(self, name: str) -> Any:
        """Return a learned attribute, which another kernel would not have."""
        if not hasattr(self, name):
            raise ValueError(
                f"kernel={self.kernel!r} predicts by {name}, which {type(self).__name__} was not "
                "fitted with: set the kernel back to what it was, or fit again"
            )
        return getattr(self, name)

    def _check_rated(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool = True,
    ) -> Ranked:
        """Validate rows and ratings, the squares of which a float can hold."""
        data = check_ranked(self, X, y, qid, sample_weight, reset=reset)
        return data._replace(X=self._check_kernel(data.X, data.y, num_samples(y), data.kept))

    def _check_kernel(self, X: Any, y: Vector, n: int, kept: NDArray[np.int64]) -> Any:
        """Return X, or of a precomputed kernel the values between the kept of n rows."""
        if self.kernel == "precomputed":
            X = dense(X)
            if X.shape[1] != n:
                raise ValueError(
                    f"X has the shape ({n}, {X.shape[1]}), but a precomputed kernel is a square "
                    "matrix of the values between the rows"
                )
            X = X if len(kept) == n else X[:, kept]
        check_size(X, y, self.kernel, kept)
        return X
