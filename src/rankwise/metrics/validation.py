"""What the measures of scores take."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core import inputs
from rankwise._core.inputs import as_floats, ratings_of

Floats = NDArray[np.float64]

# Integers up to this are floats.
_EXACT = 2.0**53


def check_numbers(values: Any, name: str, n: int | None = None, *, shift: bool = False) -> Floats:
    """Return a 1-D array of finite floats, of length n if it is given.

    An ordered categorical means the places of its categories; see
    `rankwise._core.inputs.ratings_of`. With ``shift``, a constant is taken off integers that
    floats would round.
    """
    array = as_floats(ratings_of(values, name), name)
    if shift and array.size and np.abs(array).max() >= _EXACT:
        integers = np.asarray(values)
        if integers.ndim and integers.dtype.kind in "iu":
            array = (integers.astype(object) - int(integers.min())).astype(np.float64)
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
    """Return row weights, or None."""
    return None if values is None else inputs.check_weights(values, "sample_weight", n)


def exponent_of(*arrays: Floats) -> int:
    """Return the smallest e such that all numbers lie between -2^e and 2^e, 0 if all are 0."""
    return math.frexp(max(max(array.max(), -array.min()) for array in arrays))[1]


def scaled(values: Floats, exponent: int) -> Floats:
    """Return the values divided by 2^exponent, which is exact but where that is below any float."""
    return np.ldexp(values, -exponent) if exponent else values
