"""More ratings for a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.recommend._build import build_matrix
from rankwise.recommend._ids import Ids
from rankwise.recommend._table import RatingTable


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
