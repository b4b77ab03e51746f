"""Validate rows, ratings and weights of estimators, with messages that name the fix."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from rankwise._core.inputs import as_floats, check_weights, ratings_of, refuse_masked, rows_of
from rankwise._core.labels import any_missing
from rankwise._core.queries import encode_queries

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
    estimator: object,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
    missing: bool = False,
) -> Ranked:
    """Validate the rows and ratings of a ranker; with ``missing``, X may hold NaN."""
    refuse_masked(y, "y")
    with explained(X, y), np.errstate(over="ignore", invalid="ignore"):
        rows, given = validate_data(
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
        ratings = np.ascontiguousarray(as_floats(given, "y"))
        if given.dtype.kind in "iu" and (rounded := ratings.astype(given.dtype) != given).any():
            row = rounded.argmax()
            raise ValueError(
                f"y holds {given[row]} in row {row}, an integer that a float rounds: subtract a "
                "constant from all ratings, for example the lowest"
            )
    n = len(ratings)
    weight, weight_unit = np.ones(n), 1.0
    if sample_weight is not None:
        weight, weight_unit = scale_weights(check_weights(sample_weight, "sample_weight", n))
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


Test = Callable[[NDArray[Any]], NDArray[np.bool_]]

IMPUTE = "drop the row or impute it, for example with sklearn.impute.SimpleImputer"
_ENCODE = (
    "make numbers of them, for example with pandas.get_dummies(X) or with a "
    "sklearn.preprocessing.OneHotEncoder in a pipeline"
)
_ORDER = (
    "give numbers, more being better, or an ordered categorical; for grades in words there is "
    "rankwise.ordinal.ThresholdRanker(label_order=[...])"
)


@contextmanager
def explained(X: Any, y: Any = None) -> Iterator[None]:
    """Say where and what to do, if scikit-learn refuses words, NaN or infinity.

    Any other error passes unchanged.
    """
    try:
        yield
    except ValueError as error:
        said = str(error)
        if "could not convert string to float" in said:
            _explain_words(error, X, y)
        for name, test in (("NaN", _missing), ("infinity", _infinite)):
            if said.startswith(f"Input X contains {name}") and (place := _find(X, test)):
                said = f"Input X contains {name} ({_said(X, place)}): {IMPUTE}"
                raise ValueError(said) from error
        raise


def _explain_words(error: ValueError, X: Any, y: Any) -> None:
    """Raise what says which of X and y holds words, if either does."""
    if place := _find(X, _words):
        word = str(_column(X, place[1])[place[0]])
        raise ValueError(f"X holds words, {word!r} in {_said(X, place)}: {_ENCODE}") from error
    labels = np.ravel(np.asarray(y))
    if (row := _first(labels, _words)) is not None:
        raise ValueError(f"y holds words, {str(labels[row])!r} in row {row}: {_ORDER}") from error


def _find(X: Any, test: Test) -> tuple[int, int] | None:
    """Return the row and the column of an entry that a test holds for, in the first such column."""
    if sparse.issparse(X):
        entries = X.tocoo()
        found = _first(entries.data, test)
        return None if found is None else (int(entries.row[found]), int(entries.col[found]))
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    for column in range(shape[1] if len(shape) == 2 else 0):
        found = _first(_column(X, column), test)
        if found is not None:
            return found, column
    return None


def _column(X: Any, column: int) -> NDArray[Any]:
    """Return a column of a frame of pandas or polars, or of anything that is an array."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, column])
    values = X if hasattr(X, "columns") else np.asarray(X)
    return np.asarray(values[:, column])


def _said(X: Any, place: tuple[int, int]) -> str:
    """Return a place in words, with the name of its column if it has one."""
    row, column = place
    names = getattr(X, "columns", None)
    return f"row {row}, column {column if names is None else repr(list(names)[column])}"


def _first(values: NDArray[Any], test: Test) -> int | None:
    """Return the place of the first value that a test holds for."""
    found = np.flatnonzero(test(values))
    return int(found[0]) if len(found) else None


def _words(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is a string that is no number."""
    return np.array([isinstance(value, str) and not _is_number(value) for value in values.tolist()])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is missing, in any of the ways that NumPy and pandas have."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    one = np.empty(1, dtype=object)
    found = np.zeros(len(values), dtype=bool)
    for row, one[0] in enumerate(values.tolist()):
        found[row] = any_missing(one)
    return found


def _infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is infinite."""
    if values.dtype.kind == "f":
        return np.isinf(values)
    return np.array([value in (np.inf, -np.inf) for value in values.tolist()])
