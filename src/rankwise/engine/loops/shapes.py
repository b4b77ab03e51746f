"""What is looked at before a compiled loop is entered: it would read or write beside its arrays.

All of it costs O(1), but for the ranks of a stream, of which the largest is looked at.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_ADVICE = "what was learned has been changed, or belongs to other data or parameters: fit anew"

EACH = "each row has one"


def check_shape(
    name: str, array: Any, *shape: int | None, kind: DTypeLike = np.float64, advice: str = _ADVICE
) -> None:
    """Refuse all but an array of this shape and type; a size of None may be any."""
    given = getattr(array, "shape", None)
    if given is not None and array.dtype == kind and _fits(given, shape):
        return
    wanted = ", ".join("any" if n is None else str(n) for n in shape)
    held = f"{array.dtype} of shape {given}" if given is not None else type(array).__name__
    raise ValueError(f"{name} is {held}, wanted {np.dtype(kind)} of shape ({wanted}): {advice}")


def _fits(given: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    return len(given) == len(shape) and all(
        n is None or n == m for n, m in zip(shape, given, strict=True)
    )


def as_floats(name: str, array: Any) -> NDArray[np.float64]:
    """Return real numbers as the loops read them; refuse anything else."""
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} is {values.dtype}, wanted real numbers: {_ADVICE}")
    return np.ascontiguousarray(values, dtype=np.float64)


def check_stream(
    rows: Any, ranks: NDArray[np.int64], order: NDArray[np.int64] | None, n_ranks: int
) -> None:
    """Refuse a stream whose arrays don't fit each other or the number of ranks."""
    n = row_count(rows)
    check_shape("ranks", ranks, n, kind=np.int64)
    if order is not None:
        check_shape("order", order, n, kind=np.int64)
    if n and not 0 <= ranks.min() <= ranks.max() < n_ranks:
        raise ValueError(f"a row has rank {ranks.max() + 1} of {n_ranks}: {_ADVICE}")


def check_records(rows: Any, counts: NDArray[np.int64], guesses: NDArray[np.int64]) -> None:
    """Refuse what a pass over the rows keeps its counts and guesses in, unless it fits."""
    check_shape("counts", counts, 3, kind=np.int64)
    check_shape("guesses", guesses, row_count(rows) if len(guesses) else 0, kind=np.int64)


def row_count(rows: Any) -> int:
    """Return how many rows there are, as `rankwise.engine.loops.rows.as_rows` or faced."""
    if isinstance(rows, np.ndarray):
        return len(rows)
    return len(rows.values) if is_faced(rows) else len(rows.indptr) - 1


def is_faced(rows: Any) -> bool:
    """Return whether rows are kernel values with others, `rankwise.engine.loops.supports`."""
    return hasattr(rows, "values")


def row_width(rows: Any, *, learning: bool) -> int:
    """Return how long a direction must be: the features, or the places of the rows kept.

    One that learns has room for all rows that may be kept, one that scores for those that are.
    """
    if isinstance(rows, np.ndarray):
        return rows.shape[1]
    if is_faced(rows):
        return rows.values.shape[1] if learning else int(rows.kept[0])
    return rows.n_columns
