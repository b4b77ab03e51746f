"""Check learned arrays before a compiled loop reads them, since it looks at no index; O(1)."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

FIT_AGAIN = "what was learned has been changed, or belongs to other data or parameters: fit again"


def check_shape(
    name: str, array: Any, *shape: int | None, kind: DTypeLike = np.float64, advice: str = FIT_AGAIN
) -> None:
    """Raise unless an array has this shape and type; a size of None may be any."""
    actual = getattr(array, "shape", None)
    if actual is not None and array.dtype == kind and _fits(actual, shape):
        return
    expected = ", ".join("any" if n is None else str(n) for n in shape)
    held = f"{array.dtype} of shape {actual}" if actual is not None else type(array).__name__
    raise ValueError(f"{name} is {held}, expected {np.dtype(kind)} of shape ({expected}): {advice}")


def _fits(actual: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    return len(actual) == len(shape) and all(
        n is None or n == m for n, m in zip(shape, actual, strict=True)
    )


def learned_floats(name: str, array: Any) -> NDArray[np.float64]:
    """Return real numbers as the loops read them."""
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} is {values.dtype}, expected real numbers: {FIT_AGAIN}")
    return np.ascontiguousarray(values, dtype=np.float64)
