"""Checks of tables and item features that models take, and tables with ratings added."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import shortened
from rankwise._core.inputs import as_floats
from rankwise.recommend._build import build_matrix
from rankwise.recommend._ids import Ids
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


def _joined(times: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return the times of two tables, dates beside numbers as seconds since 1970."""
    if (times.dtype.kind == "M") != (more.dtype.kind == "M"):
        times, more = (
            part.astype("M8[us]").astype(np.int64) / 1e6 if part.dtype.kind == "M" else part
            for part in (times, more)
        )
    return np.concatenate([times, more])


def add_ratings(table: RatingTable, more: RatingTable) -> tuple[RatingTable, NDArray[np.int64]]:
    """Return a table with more ratings of its items, and where its people are in that.

    The last rating of an item by a person counts.
    """
    low, high = table.scale
    if more.has_ratings and not (low <= more.matrix.data.min() and more.matrix.data.max() <= high):
        raise ValueError(f"table holds ratings outside of the scale {table.scale} of this model")
    counts = np.diff(more.matrix.indptr)
    present = np.flatnonzero(counts)
    used = np.unique(more.matrix.indices)
    column = np.zeros(more.n_items, dtype=np.int64)
    column[used] = table.item_index(more.items[used])
    ids, places = Ids.encode([*table.users.tolist(), *more.users[present].tolist()], "users")
    before, after = places[: table.n_users], places[table.n_users :]
    rows = np.concatenate(
        [
            np.repeat(before, np.diff(table.matrix.indptr)),
            np.repeat(after, counts[present]),
        ]
    )
    columns = np.concatenate([table.matrix.indices, column[more.matrix.indices]])
    values = np.concatenate([table.matrix.data, more.matrix.data])
    times = None
    if table.times is not None and more.times is not None:
        times = _joined(table.times, more.times)
    matrix, times = build_matrix(rows, columns, values, times, (ids, table._item_ids), "last")
    parts: dict[str, Any] = {"has_ratings": table.has_ratings, "scale": table.scale}
    return RatingTable._of(matrix, ids, table._item_ids, times=times, **parts), before
