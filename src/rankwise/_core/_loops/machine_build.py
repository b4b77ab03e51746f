"""Whether this machine and this llvmlite can build an intrinsic."""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.errors import NumbaError

# numba and LLVM refuse by the first two; another llvmlite may lack a name or an argument.
_REFUSALS = (NumbaError, RuntimeError, AttributeError, TypeError, ValueError)


def can_be_built(function: Callable[..., Any], *kinds: Any) -> bool:
    """Return whether a function that calls an intrinsic compiles for arguments of these types."""
    try:
        njit(function).compile(kinds)
    except _REFUSALS:
        return False
    return True
