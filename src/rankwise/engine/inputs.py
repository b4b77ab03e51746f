"""What a caller's array means before it is read as numbers: masks and categoricals.

The one place for both, for estimators, metrics and validation alike.
"""

from numbers import Real
from typing import Any

import numpy as np

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
    # arrays of pandas have a mask, too, for values that they call missing
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        where = f"row {place[0]}" if len(place) == 1 else f"place {place}"
        raise ValueError(
            f"{name} has a masked entry ({where}), which has no value: drop the row, or fill it "
            f"with {name}.filled(...)"
        )


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
