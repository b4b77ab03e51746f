"""What models of people are given, checked: a table, and features of its items."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import shortened
from rankwise._core.inputs import as_floats
from rankwise.recommend._table import RatingTable

# A feature that varies by less, in units of its largest value, is constant.
_CONSTANT = 1e-9


def check_table(table: Any) -> None:
    """Refuse all but a table with a rating at least; parts of a table may have none."""
    if not isinstance(table, RatingTable):
        raise ValueError(
            f"table={shortened(table)} must be a RatingTable: make one with "
            "RatingTable.from_frame or RatingTable.from_arrays"
        )
    if table.n_ratings == 0:
        raise ValueError(f"table={table!r} is empty: give one with a rating at least")


def check_features(item_features: ArrayLike, table: RatingTable) -> NDArray[np.float64]:
    """Return features of the items as numbers, a row for each item of a table."""
    X = as_floats(item_features, "item_features")
    if X.ndim != 2 or len(X) != table.n_items:
        raise ValueError(
            f"item_features has the shape {X.shape}: give a row for each of the {table.n_items} "
            "items of the table, in the order of table.items"
        )
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0].tolist()
        raise ValueError(
            f"item_features holds {X[row, column]} (row {row}, column {column}): impute it"
        )
    return X


def standardise(item_features: ArrayLike, table: RatingTable) -> NDArray[np.float64]:
    """Return features of the items with mean 0 and deviation 1, without those that are constant."""
    X = check_features(item_features, table)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.abs(X).max(axis=0, initial=0.0)
        X = X / np.where(scale > 0, scale, 1.0)
        X = X - X.mean(axis=0)
        deviation = X.std(axis=0)
    useful = deviation > _CONSTANT
    return X[:, useful] / deviation[useful]
