"""Validate rows, ratings and weights that callers pass in, with messages that name the fix.

Nothing here writes to its arguments.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from rankwise._core.arguments import as_array, only_column
from rankwise._core.labels import any_missing, is_missing, ordered_categories, to_ranks

Method = TypeVar("Method", bound=Callable[..., Any])
TOO_LARGE = (
    "larger than a float can hold: scale the features, for example with "
    "sklearn.preprocessing.StandardScaler"
)
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


def refuse_masked(values: Any, name: str) -> None:
    """Raise if a masked array has a masked entry, which has no value.

    Parameters
    ----------
    values : object
        What the caller passed in. A masked array without a masked entry is an array like any other.
    name : str
        The argument's name, for the message.

    Raises
    ------
    ValueError
        If an entry is masked. The message names the first one.
    """
    # arrays of pandas have a mask, too, for values that they call missing
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        index = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        where = f"row {index[0]}" if len(index) == 1 else f"place {index}"
        raise ValueError(
            f"{name} has a masked entry ({where}), which has no value: drop the row, or fill it "
            f"with {name}.filled(...)"
        )


def as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Return an array of floats, of any shape; what no float can hold becomes infinite.

    Raises
    ------
    ValueError
        If something is not a real number.
    """
    refuse_masked(values, name)
    array = values if hasattr(values, "dtype") else as_array(values, name)
    kind = getattr(array.dtype, "kind", "")
    mixed = kind == "O" and any(isinstance(value, complex) for value in np.ravel(array))
    if mixed or kind in {"c", "m", "M"}:
        raise ValueError(f"{name} must be numbers on a line, but its type is {array.dtype}")
    try:
        with np.errstate(over="ignore"):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error


def check_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Return a 1-D array of finite floats, which may be empty.

    Raises
    ------
    ValueError
        If it is not 1-D, or an entry is not a finite number. The message names the first.
    """
    array = as_floats(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, a list of numbers, but its shape is {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(
            f"{name} must be finite numbers, but contains {array[bad[0]]} (row {bad[0]}): drop it "
            "or correct it"
        )
    return array


def as_weights(values: Any, name: str, n: int, unit: str = "row") -> NDArray[np.float64]:
    """Return the weights of n rows, or other units; a single number is the weight of each.

    Raises
    ------
    ValueError
        If they are not n finite numbers of at least 0. The message names the first.
    """
    weight = as_floats(ratings_of(values, name), name)
    if weight.ndim == 0:
        weight = np.full(n, weight)
    elif weight.shape == (n, 1):
        weight = weight[:, 0]
    if weight.shape != (n,):
        raise ValueError(
            f"{name} has the shape {weight.shape} for {n} {unit}s: give one number per {unit}"
        )
    if not (weight.min(initial=0.0) >= 0 and weight.max(initial=0.0) < np.inf):
        bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0]
        raise ValueError(
            f"{name}[{bad}] is {weight[bad]}: expected a finite number of at least 0; drop the "
            f"{unit} or give it weight 0"
        )
    return np.ascontiguousarray(weight)


def check_weights(values: Any, name: str, n: int, unit: str = "row") -> NDArray[np.float64]:
    """Return weights as `as_weights` does, of which at least one is positive."""
    weight = as_weights(values, name, n, unit)
    if not weight.any():
        raise ValueError(f"{name} is zero for every {unit}: give at least one a positive weight")
    return weight


def as_times(times: Any, name: str, rows: Any = None) -> NDArray[Any]:
    """Return times that compare exactly: integers, floats or NumPy's dates.

    Integers and dates keep their resolution; as floats, those of the same microsecond or past 2^53
    would be equal. Dates with a zone are in UTC.

    Parameters
    ----------
    times : array-like of shape (n,)
    name : str
        The argument's name, for the message.
    rows : array-like of shape (n,), default=None
        What the message calls the rows; by default 0 to n - 1.

    Raises
    ------
    ValueError
        If it is not 1-D, or something is neither a finite number nor a date. The message names the
        first.
    """
    refuse_masked(times, name)
    values = as_array(times, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be 1-D, one value for each row, but its shape is {values.shape}"
        )
    rows = range(len(values)) if rows is None else rows
    if any_missing(values):
        at = next(i for i in range(len(values)) if any_missing(values[i : i + 1]))
        raise ValueError(f"{name} is missing in row {rows[at]}: drop the row, or leave {name} out")
    if values.dtype.kind == "O" and len(values):
        listed = values.tolist()
        if all(isinstance(value, date | np.datetime64) for value in listed):
            values = np.array([_in_utc(value) for value in listed])
        elif all(isinstance(value, Integral) for value in listed):
            values = as_array(listed, name)
    if values.dtype.kind in "iuM":
        return values
    try:
        numbers = as_floats(values, name)
    except ValueError as error:
        raise ValueError(f"{error}; give numbers or dates, such as datetime or M8[ns]") from error
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"{name} holds {numbers[bad[0]]} (row {rows[bad[0]]}): drop the row")
    return numbers


def _in_utc(value: Any) -> np.datetime64:
    """Return a date without a zone, in its own resolution."""
    if isinstance(value, datetime) and (offset := value.utcoffset()) is not None:
        value = value.replace(tzinfo=None) - offset
    # pandas has nanoseconds, which the conversion of a datetime leaves out
    return value.to_datetime64() if hasattr(value, "to_datetime64") else np.datetime64(value)


def rows_of(X: Any, name: str = "X") -> Any:
    """Return sparse rows as a CSR matrix that is safe to read, and anything else unchanged.

    Its indices lie inside its shape and rise within a row; duplicated entries are added.
    It shares the arrays of X where these are so already.

    Parameters
    ----------
    X : object
        Any sparse matrix, or anything.
    name : str
        The argument's name, for the message.

    Raises
    ------
    ValueError
        If X is masked, or a sparse matrix whose arrays contradict each other.
    """
    refuse_masked(X, name)
    if not sparse.issparse(X):
        return X
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a sparse array of shape {X.shape} instead: {name} has a row "
            f"for each sample; reshape it, for example with {name}.reshape(1, -1)"
        )
    try:
        rows = _checked(_checked(X).tocsr())
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is a sparse matrix whose arrays contradict each other ({error}): build it "
            f"again, for example with scipy.sparse.coo_array"
        ) from error
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def dense(rows: Any) -> Any:
    """Return rows as an array, those of a sparse matrix filled up."""
    return rows.toarray() if sparse.issparse(rows) else rows


def _checked(X: Any) -> Any:
    """Return a matrix of the same arrays as X, after a look at all its indices."""
    if X.format == "coo":
        return sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    kinds = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}
    if X.format not in kinds:
        return X
    same = kinds[X.format]((X.data, X.indices, X.indptr), shape=X.shape)
    # SciPy looks no further if the last number is negative, and its differences overflow.
    if (same.indptr[1:] < same.indptr[:-1]).any():
        raise ValueError("indptr must not fall")
    same.check_format(full_check=True)
    return same


def ratings_of(y: Any, name: str) -> Any:
    """Return the numbers that a categorical means, and anything else unchanged.

    An ordered categorical means its order: the places of its categories 0..k-1, lowest first,
    categories that do not occur included. One without an order means its categories if they are
    numbers, and nothing otherwise.

    Parameters
    ----------
    y : object
        A pandas or polars categorical, as an array, a column or a table of one column, or anything.
    name : str
        The argument's name, for the message.

    Returns
    -------
    ndarray of shape (n,) or y itself

    Raises
    ------
    ValueError
        If a categorical has a missing value, or neither an order nor numbers.
    """
    column = y if isinstance(y, np.ndarray) else only_column(y)
    dtype = getattr(column, "dtype", None)
    # the names of the types, as neither pandas nor polars need be installed
    kind = getattr(dtype, "__name__", type(dtype).__name__)
    if kind not in {"CategoricalDtype", "Categorical", "Enum"}:
        return y
    values = np.asarray(column)
    if any_missing(values):
        row = next(i for i in range(len(values)) if any_missing(values[i : i + 1]))
        raise ValueError(f"{name} has a missing value (row {row}): drop the row or correct it")
    categories = ordered_categories(column)
    if categories is not None:
        return to_ranks(values, categories, name)
    labels = values.tolist()
    for label in labels:
        if not isinstance(label, Real):
            raise ValueError(
                f"{name} is a categorical without an order that holds {label!r}, which is not "
                f"a number: order its categories (pandas: {name}.cat.set_categories([...], "
                "ordered=True), polars: cast it to pl.Enum([...])), lowest first"
            )
    return np.array(labels)


def check_pairs(pairs: ArrayLike, n_rows: int, name: str = "pairs") -> NDArray[np.int64]:
    """Return pairs (worse, better) of rows below ``n_rows``, one or more, as integers."""
    refuse_masked(pairs, name)
    array = as_array(pairs, name)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers of shape (n_pairs, 2), the rows (worse, better) of one "
            f"or more pairs, but its shape is {array.shape} and its dtype {array.dtype}"
        )
    wrong = np.flatnonzero(((array < 0) | (array >= n_rows)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] is {array[wrong[0]].tolist()}, but there are the rows 0 to "
            f"{n_rows - 1}"
        )
    return array.astype(np.int64)


def check_pair_labels(y: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return the labels of n pairs: 1 if the second row is better, -1 the first, 0 neither."""
    labels = np.ones(n) if y is None else as_floats(y, "y")
    if labels.shape != (n,):
        raise ValueError(f"y has the shape {labels.shape} for {n} pairs: give one label per pair")
    if not (known := np.isin(labels, (-1, 0, 1))).all():
        at = int(known.argmin())
        raise ValueError(
            f"y[{at}] is {labels[at]:g}: expected 1 if the second row of the pair is better, -1 if "
            "the first is, or 0"
        )
    return labels


def check_weighted_pairs(
    pairs: ArrayLike, pair_weight: ArrayLike | None, n_rows: int, y: ArrayLike | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Return the pairs (worse, better) that tell an order, their weights, and how many do not."""
    checked = check_pairs(pairs, n_rows)
    labels = check_pair_labels(y, len(checked))
    checked[labels < 0] = checked[labels < 0, ::-1]
    weight = as_weights(
        1.0 if pair_weight is None else pair_weight, "pair_weight", len(checked), "pair"
    )
    kept = (weight > 0) & (labels != 0) & (checked[:, 0] != checked[:, 1])
    if not kept.any():
        raise ValueError(
            "pairs has no pair of two different rows with a positive weight and a label other "
            "than 0: there is nothing to learn from"
        )
    return checked[kept], weight[kept], int((~kept).sum())


def unchanged_on_error(learn: Method) -> Method:
    """Decorate a method that learns: if it raises, the model stays unchanged.

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
    """Return X as a C-ordered float array or a CSR matrix without duplicated entries.

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
    for name, matches in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))):
        if matches.any():
            column = np.flatnonzero(matches)[0]
            return ValueError(f"Input X contains {name} (row {row}, column {column}): {IMPUTE}")
    return ValueError(f"the score of row {row} of X is {TOO_LARGE}")


@contextmanager
def explained(X: Any, y: Any = None) -> Iterator[None]:
    """Name the place and the fix if scikit-learn raises for words, NaN or infinity.

    Any other error passes unchanged.
    """
    try:
        yield
    except ValueError as error:
        message = str(error)
        if "could not convert string to float" in message:
            _explain_words(error, X, y)
        for name, test in (("NaN", _missing), ("infinity", _infinite)):
            if message.startswith(f"Input X contains {name}") and (cell := _find(X, test)):
                message = f"Input X contains {name} ({_said(X, cell)}): {IMPUTE}"
                raise ValueError(message) from error
        raise


def _explain_words(error: ValueError, X: Any, y: Any) -> None:
    """Raise what says which of X and y holds words, if either does."""
    if cell := _find(X, _words):
        word = str(_column(X, cell[1])[cell[0]])
        raise ValueError(f"X holds words, {word!r} in {_said(X, cell)}: {_ENCODE}") from error
    labels = np.ravel(np.asarray(y))
    if (row := _first(labels, _words)) is not None:
        raise ValueError(f"y holds words, {str(labels[row])!r} in row {row}: {_ORDER}") from error


def _find(X: Any, test: Test) -> tuple[int, int] | None:
    """Return the row and the column of an entry that a test holds for, in the first such column."""
    if sparse.issparse(X):
        entries = X.tocoo()
        row = _first(entries.data, test)
        return None if row is None else (int(entries.row[row]), int(entries.col[row]))
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    for column in range(shape[1] if len(shape) == 2 else 0):
        row = _first(_column(X, column), test)
        if row is not None:
            return row, column
    return None


def _column(X: Any, column: int) -> NDArray[Any]:
    """Return a column of a frame of pandas or polars, or of anything that is an array."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, column])
    values = X if hasattr(X, "columns") else np.asarray(X)
    return np.asarray(values[:, column])


def _said(X: Any, cell: tuple[int, int]) -> str:
    """Return a place in words, with the name of its column if it has one."""
    row, column = cell
    names = getattr(X, "columns", None)
    return f"row {row}, column {column if names is None else repr(list(names)[column])}"


def _first(values: NDArray[Any], test: Test) -> int | None:
    """Return the place of the first value that a test holds for."""
    rows = np.flatnonzero(test(values))
    return int(rows[0]) if len(rows) else None


def _words(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is a string that is not a number."""
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
    return np.array([is_missing(value) for value in values.tolist()])


def _infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is infinite."""
    if values.dtype.kind == "f":
        return np.isinf(values)
    return np.array([value in (np.inf, -np.inf) for value in values.tolist()])
