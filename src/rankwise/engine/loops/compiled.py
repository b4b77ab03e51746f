"""The decorator of all loops: compiled, without the GIL, and kept on disk where that is possible.

`rankwise.engine.loops.cache` says where they are kept. Without a folder that can be written to, the
loops are compiled in each process.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import config, njit

from rankwise.engine.loops.cache import ENGINE, warn_once

try:
    from rankwise.engine.loops.numba_cache import EngineCache
except ImportError:  # pragma: no cover
    EngineCache = None  # type: ignore[misc, assignment]

_NO_FOLDER = "no locator available"


def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a function, with more options of `numba.njit` if there are any.

    Use it as ``@compiled`` or ``@compiled(fastmath=...)``.
    """
    if function is None:
        return lambda given: compiled(given, **options)
    if config.DISABLE_JIT:
        # In compiled code whole numbers wrap around and no division warns.
        return np.errstate(all="ignore")(function)
    loop = njit(nogil=True, **options)(function)
    source = Path(function.__code__.co_filename)
    if EngineCache is not None and ENGINE in source.parents and source.is_file():
        loop._cache = EngineCache(function)
        return loop
    try:
        loop.enable_caching()
    except RuntimeError as error:
        if _NO_FOLDER not in str(error):
            raise
        warn_once()
    return loop
