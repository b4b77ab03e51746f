"""The decorator of all loops: compiled, without the GIL, and kept on disk where that is possible.

Caching needs a folder that can be written to: ``NUMBA_CACHE_DIR``, the ``__pycache__`` beside the
source, or numba's folder in the user's home. Without any, the loops are compiled in each process.
"""

import multiprocessing
import warnings
from functools import cache
from typing import Any

from numba import njit

_NO_FOLDER = "no locator available"


def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a function, with more options of `numba.njit` if there are any.

    Use it as ``@compiled`` or ``@compiled(fastmath=...)``.
    """
    if function is None:
        return lambda given: compiled(given, **options)
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError as error:
        if _NO_FOLDER not in str(error):
            raise
    _tell_once()
    return njit(nogil=True, **options)(function)


@cache
def _tell_once() -> None:
    """Warn in the first process only: those that it starts have nothing new to say."""
    if multiprocessing.parent_process() is not None:
        return
    warnings.warn(
        "compiled loops can't be kept on disk, since neither the folder of rankwise nor the "
        "user's home can be written to, so each process compiles them anew: set the environment "
        "variable NUMBA_CACHE_DIR to a folder that can be written to",
        stacklevel=3,
    )
