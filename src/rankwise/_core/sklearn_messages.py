"""Where a table holds what is no number: scikit-learn says that it does, but not where."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.labels import any_missing

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
