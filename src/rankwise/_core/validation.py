"""What all estimators check of their input, and the promise that a refusal changes nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from rankwise._core.inputs import as_floats, check_weights, ratings_of, refuse_masked, rows_of
from rankwise._core.queries import encode_queries
from rankwise._core.sklearn_messages import IMPUTE, explained

Method = TypeVar("Method", bound=Callable[..., Any])

# Sums of products of four weights of this size still fit a float.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-60, 1e60
TOO_LARGE = (
    "larger than a float can hold: scale the features, for example with "
    "sklearn.preprocessing.StandardScaler"
)


def unchanged_on_error(learn: Method) -> Method:
    """Decorate a method that learns: if it raises, the model is left as it was.

    Every attribute is put back, those of scikit-learn's validation included. The method must
    replace what it has learned before, not write into it.
    """

    @wraps(learn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return learn(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(Method, method)


def check_rows(
    estimator: object,
    X: ArrayLike,
    *,
    reset: bool,
    dtype: Any = np.float64,
    finite: bool | str = True,
) -> Any:
    """Return X as a C-ordered float array or a CSR matrix without an entry twice.

    ``finite`` is scikit-learn's ``ensure_all_finite``: True, False or "allow-nan".
    """
    # scikit-learn adds the numbers to see whether all are finite.
    with explained(X), np.errstate(over="ignore", invalid="ignore"):
        return validate_data(
            estimator,
            rows_of(X),
            accept_sparse="csr",
            dtype=dtype,
            order="C",
            ensure_all_finite=finite,
            reset=reset,
        )


def bad_row(X: Any, row: int) -> ValueError:
    """Return the error for a row whose score is not finite."""
    values = X[[row]].toarray()[0] if hasattr(X, "toarray") else X[row]
    for name, found in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))):
        if found.any():
            return ValueError(
                f"Input X contains {name} (row {row}, column {np.flatnonzero(found)[0]}): {IMPUTE}"
            )
    return ValueError(f"the score of row {row} of X is {TOO_LARGE}")


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
        Which of the given rows these are; those without weight are left out.
    weight_unit : float
        What the given weights were divided by: 1, unless all are tiny or one is huge.
    """

    X: Any
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    codes: NDArray[np.int64]
    n_queries: int
    kept: NDArray[np.int64]
    weight_unit: float

    @property
    def given_weight(self) -> NDArray[np.float64]:
        """The weights as they were given."""
        return self.weight if self.weight_unit == 1 else self.weight * self.weight_unit


def check_ranked(
    estimator: object,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
    missing: bool = False,
) -> Ranked:
    """Validate what a ranker learns from; with ``missing``, X may hold NaN."""
    refuse_masked(y, "y")
    with explained(X, y), np.errstate(over="ignore", invalid="ignore"):
        rows, ratings = validate_data(
            estimator,
            rows_of(X),
            ratings_of(y, "y"),
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan" if missing else True,
            y_numeric=True,
            reset=reset,
        )
        given_ratings, ratings = ratings, np.ascontiguousarray(as_floats(ratings, "y"))
        if given_ratings.dtype.kind in "iu":
            rounded = np.flatnonzero(ratings.astype(given_ratings.dtype) != given_ratings)
            if len(rounded):
                raise ValueError(
                    f"y holds {given_ratings[rounded[0]]} in row {rounded[0]}, an integer that a "
                    "float rounds: subtract a constant from all ratings, for example the lowest"
                )
    given = 1.0 if sample_weight is None else sample_weight
    weight = check_weights(given, "sample_weight", len(ratings))
    codes, n_queries = encode_queries(qid, len(ratings))
    weight, weight_unit = scale_weights(weight)
    kept = np.flatnonzero(weight)
    if len(kept) < len(weight):
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
