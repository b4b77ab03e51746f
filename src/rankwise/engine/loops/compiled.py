"""The decorator of all loops: compiled, without the GIL, and kept on disk where that is possible.

`rankwise.engine.loops.cache` says where they are kept. Without a folder that can be written to, the
loops are compiled in each process.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import config, njit

from rankwise.engine.loops.cache import SOURCES, warn_once

try:
    from rankwise.engine.loops.numba_cache import EngineCache
except ImportError:  # pragma: no cover
    EngineCache = None  # type: ignore[misc, assignment]

_NO_FOLDER = "no locator available"


def compiled(function: Any = None, *, inner: bool = False, **options: Any) -> Any:
    """Compile a function, with more options of `numba.njit` if there are any.

    Use it as ``@compiled`` or ``@compiled(fastmath=...)``. With ``inner=True`` only other loops can
    call it: what reads its arguments from Python is not built, a fifth of the time to compile it.
    """
    if function is None:
        return lambda given: compiled(given, inner=inner, **options)
    if config.DISABLE_JIT:
        # In compiled code whole numbers wrap around and no division warns.
        return np.errstate(all="ignore")(function)
    # Nothing here calls a loop through a pointer of C.
    options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner, **options}
    loop = njit(nogil=True, **options)(function)
    source = Path(function.__code__.co_filename)
    of_engine = source.is_file() and any(folder in source.parents for folder in SOURCES)
    if EngineCache is not None and of_engine:
        loop._cache = EngineCache(function)
        return loop
    try:
        loop.enable_caching()
    except RuntimeError as error:
        if _NO_FOLDER not in str(error):
            raise
        warn_once()
    return loop
