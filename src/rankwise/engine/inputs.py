"""What a caller's array means before it is read as numbers: masks, categoricals, sparse rows.

The one place for these, for estimators, metrics and validation alike. Nothing here writes to what
it was given.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.engine.labels import any_missing, ordered_categories, to_ranks


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array with a masked entry: what lies under the mask is no data.

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
    if np.ma.is_masked(values):
        place = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        where = f"row {place[0]}" if len(place) == 1 else f"place {place}"
        raise ValueError(
            f"{name} has a masked entry ({where}), which has no value: drop the row, or fill it "
            f"with {name}.filled(...)"
        )


def rows_of(X: Any, name: str = "X") -> Any:
    """Return sparse rows as a CSR matrix that is safe to read, and anything else unchanged.

    Its indices lie inside its shape and rise within a row; entries that were given twice are added.
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
            f"anew, for example with scipy.sparse.coo_array"
        ) from error
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _checked(X: Any) -> Any:
    """Return a matrix of the same arrays as X, after a look at all its indices."""
    if X.format == "coo":
        return sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    kinds = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}
    if X.format not in kinds:
        return X
    same = kinds[X.format]((X.data, X.indices, X.indptr), shape=X.shape)
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
    column = _only_column(y)
    if not _is_categorical(column):
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
                f"{name} is a categorical without an order that holds {label!r}, which is no "
                f"number: order its categories (pandas: {name}.cat.set_categories([...], "
                "ordered=True), polars: cast it to pl.Enum([...])), lowest first"
            )
    return np.array(labels)


def _only_column(y: Any) -> Any:
    """Return the column of a table of one column, and anything else unchanged."""
    if getattr(y, "ndim", 2) != 2 or getattr(y, "shape", (0, 0))[1:] != (1,):
        return y
    if hasattr(y, "iloc"):
        return y.iloc[:, 0]
    return y.to_series(0) if hasattr(y, "to_series") else y


def _is_categorical(y: Any) -> bool:
    """Whether y is a categorical of pandas or polars, neither of which need be installed."""
    dtype = getattr(y, "dtype", None)
    name = getattr(dtype, "__name__", type(dtype).__name__)
    return name in {"CategoricalDtype", "Categorical", "Enum"}
