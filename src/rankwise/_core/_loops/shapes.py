"""Checks before a compiled loop is entered, which would read or write beside its arrays.

All of them cost O(1).
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

FIT_ANEW = "what was learned has been changed, or belongs to other data or parameters: fit anew"

EACH = "each row has one"


def check_shape(
    name: str, array: Any, *shape: int | None, kind: DTypeLike = np.float64, advice: str = FIT_ANEW
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
        raise ValueError(f"{name} is {values.dtype}, wanted real numbers: {FIT_ANEW}")
    return np.ascontiguousarray(values, dtype=np.float64)


def row_count(rows: Any) -> int:
    """Return how many rows there are: of an array, a CSR or KernelRows."""
    if isinstance(rows, np.ndarray):
        return len(rows)
    return len(rows.values) if has_kernel_values(rows) else len(rows.indptr) - 1


def has_kernel_values(rows: Any) -> bool:
    """Return whether rows are `rankwise.ordinal._loops.kernel_rows.KernelRows`."""
    return hasattr(rows, "values")


def row_width(rows: Any, *, learning: bool) -> int:
    """Return how long a direction must be: the features, or the places of the rows kept.

    One that learns has room for all rows that may be kept, one that scores for those that are.
    """
    if isinstance(rows, np.ndarray):
        return rows.shape[1]
    if has_kernel_values(rows):
        return rows.values.shape[1] if learning else int(rows.kept[0])
    return rows.n_columns
