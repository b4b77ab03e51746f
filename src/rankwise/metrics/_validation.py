"""What the measures of scores take."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def check_numbers(values: Any, name: str, n: int | None = None) -> Floats:
    """Return a 1-D array of finite floats, of length n if it is given."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one number a row, but its shape is {array.shape}")
    if n is not None and len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} rows: give one number a row")
    if not len(array):
        raise ValueError(f"{name} is empty: a mean needs at least one row")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.dot(array, array)
    # squares need no temporary, but those of finite numbers may overflow
    if not np.isfinite(squares) and not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} contains {array[row]} (row {row}): drop the row or correct it")
    return np.ascontiguousarray(array)


def check_weights(values: Any, n: int) -> Floats | None:
    """Return row weights, not negative and not all zero, or None."""
    if values is None:
        return None
    weights = check_numbers(values, "sample_weight", n)
    if weights.min() < 0 or not weights.any():
        raise ValueError(
            f"sample_weight must not be negative nor all zero, but its lowest is {weights.min()}"
        )
    return weights
