"""The result of a bound, and checks and lengths that the bounds share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from rankwise._core.arguments import is_finite_number
from rankwise._core.inputs import rows_of
from rankwise._core.kernels import checked_kernel

Floats = NDArray[np.float64]

# Squares of numbers up to this power of 2 can be summed.
_WIDE = 400


def check_rows(X: Any, *, sparse: bool = True) -> Any:
    """Return rows of finite numbers, as an array or a CSR matrix."""
    rows = rows_of(X)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return check_array(
                rows, accept_sparse="csr" if sparse else False, dtype=np.float64, input_name="X"
            )
    except OverflowError as error:
        raise ValueError(f"X must be numbers that a float can hold: {error}") from error


def check_delta(delta: Any) -> None:
    """Raise if delta does not lie between 0 and 1."""
    if not (is_finite_number(delta) and 0 < delta < 1):
        raise ValueError(f"delta={delta!r} must be between 0 and 1, such as 0.05")


def product(*factors: float) -> float:
    """Return a product that no factor alone makes too large or small; infinite if it is."""
    parts = [math.frexp(factor) for factor in factors]
    try:
        return math.ldexp(math.prod(part for part, _ in parts), sum(e for _, e in parts))
    except OverflowError:
        return math.inf


def shrink(rows: Any) -> tuple[Any, int]:
    """Return rows divided by 2^e, and e, so that their squares can be summed."""
    data = rows if isinstance(rows, np.ndarray) else rows.data
    exponent = math.frexp(float(np.abs(data).max(initial=0.0)))[1]
    if abs(exponent) <= _WIDE:
        return rows, 0
    if isinstance(rows, np.ndarray):
        return np.ldexp(rows, -exponent), exponent
    less = rows.copy()
    less.data = np.ldexp(less.data, -exponent)
    return less, exponent


def kernel_diagonal(rows: Any, caller: str, kernel: Any, *options: Any) -> tuple[Floats, int]:
    """Return K(x, x) / 4^e of the rows, and e; ``caller`` is who takes the kernel's parameters."""
    chosen = checked_kernel(caller, kernel, *options)
    rows, exponent = shrink(rows) if kernel == "linear" else (rows, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.asarray(chosen.diagonal(rows), dtype=np.float64)
    if not np.isfinite(squares).all():
        raise ValueError(
            f"kernel={kernel!r} has a K(x, x) larger than a float can hold: scale the features"
        )
    if squares.min() < 0:
        raise ValueError(f"kernel={kernel!r} has a negative K(x, x): use another kernel")
    return squares, exponent


def grow(number: float, exponent: int) -> float:
    """Return a number times 2^exponent; raise if it overflows."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        raise ValueError(
            "the rows of X are longer than a float can hold: scale the features"
        ) from None


@dataclass(frozen=True)
class Bound:
    """A bound, the pieces it is made of, and whether it says anything.

    Attributes
    ----------
    value : float
        The bound; ``float(bound)`` is the same.
    trivial : float
        What holds without any theorem.
    pieces : mapping of str to float
        The quantities that enter the bound.
    """

    value: float
    trivial: float
    pieces: Mapping[str, float]

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than what is trivially true."""
        return not self.value < self.trivial

    def __float__(self) -> float:
        return self.value
