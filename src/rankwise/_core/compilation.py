"""Compile loops, without the GIL, and keep them on disk.

numba looks at the file of a function alone: after a change in another file that the function calls
into, old code would run. So the name of the folder holds a digest of all files that loops are made
of, ``_loops.py`` and ``_loops/*.py`` of every package, and an edit is never missed.

The folder is made in the first of these places that can be written to: where ``NUMBA_CACHE_DIR``
points, ``__pycache__`` of the package, numba's folder in the user's home. Compiled loops that came
with a read-only installation are copied there, or to a temporary folder if there is no such folder.
"""

import atexit
import hashlib
import multiprocessing
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import config, njit
from numba.misc.appdirs import AppDirs

_ROOT = Path(__file__).parents[1]
# Settings that change the code and that numba does not tell apart by itself.
_SETTINGS = ("NUMBA_BOUNDSCHECK", "NUMBA_OPT")


@cache
def folder_name() -> str:
    """Return a name that no other installation, source or setting shares: some milliseconds."""
    state = hashlib.sha256(repr([os.environ.get(name) for name in _SETTINGS]).encode())
    for path in sorted([*_ROOT.rglob("_loops.py"), *_ROOT.rglob("_loops/*.py")]):
        state.update(f"{path.relative_to(_ROOT).as_posix()}\n".encode())
        state.update(path.read_bytes())
    installation = hashlib.sha256(str(_ROOT).encode()).hexdigest()[:8]
    return f"rankwise-{installation}-{state.hexdigest()[:12]}"


@cache
def cache_folder() -> Path | None:
    """Return the folder that keeps compiled loops, or None with a warning if there is none."""
    home = AppDirs(appname="numba", appauthor=False).user_cache_dir
    places = [*filter(None, [config.CACHE_DIR]), _ROOT / "__pycache__", home]
    shipped = None
    for folder in (Path(place) / folder_name() for place in places):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                if shipped is not None:
                    shutil.copytree(shipped, folder, dirs_exist_ok=True)
                return folder
        except OSError:
            shipped = shipped or (folder if folder.is_dir() else None)
    if shipped is not None:
        temporary = tempfile.TemporaryDirectory(prefix="rankwise-")
        atexit.register(temporary.cleanup)
        return Path(shutil.copytree(shipped, temporary.name, dirs_exist_ok=True))
    # Processes that another one starts have nothing new to say.
    if multiprocessing.parent_process() is None:
        warnings.warn(
            "compiled loops can't be kept on disk, since neither the folder of rankwise nor the "
            "user's home can be written to, so each process compiles them again: set the "
            "environment variable NUMBA_CACHE_DIR to a writable folder",
            stacklevel=2,
        )
    return None


def remove_old(folder: Path) -> int:
    """Remove what earlier sources of this installation left beside a folder; return the count."""
    old = [other for other in folder.parent.glob(f"{folder.name[:-12]}*") if other != folder]
    for other in old:
        shutil.rmtree(other, ignore_errors=True)
    return len(old)


def compiled(function: Any = None, *, inner: bool = False, **options: Any) -> Any:
    """Compile a function, with more options of `numba.njit` if there are any.

    Use it as ``@compiled`` or ``@compiled(fastmath=...)``. With ``inner=True`` only other loops can
    call it: the wrapper that reads its arguments from Python is not built, which saves a fifth of
    the time to compile it.
    """
    if function is None:
        return lambda loop: compiled(loop, inner=inner, **options)
    if config.DISABLE_JIT:
        # In compiled code integers wrap around and no division warns.
        return np.errstate(all="ignore")(function)
    # Nothing here calls a loop through a pointer of C.
    options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner, **options}
    loop = njit(nogil=True, **options)(function)
    if cache_folder() is not None:
        before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
        try:
            loop.enable_caching()
        finally:
            config.CACHE_DIR = before
    return loop
