"""Compile loops, without the GIL, and keep them on disk.

numba looks at the file of a function alone: after a change in another file that the function calls
into, old code would run. So the loops of a package have a folder whose name holds a digest of all
files that they are made of: ``_loops.py`` and ``_loops/*.py`` of the package and of ``_core``. A
loop calls no others (a test of the import statements), so an edit is never missed.

The folders are made in the first of these places that can be written to: where ``NUMBA_CACHE_DIR``
points, ``__pycache__`` of the package, numba's folder in the user's home. Compiled loops that came
with a read-only installation are copied there, or to a temporary folder if all of these fail.
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
def folder_name(package: str) -> str:
    """Return the name of a package's folder, which depends on sources and settings: a millisecond.

    The package "" stands for code outside of rankwise, which may call all loops.
    """
    state = hashlib.sha256(repr([os.environ.get(name) for name in _SETTINGS]).encode())
    folders = [_ROOT / part for part in sorted({package, package and "_core"})]
    loops = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    for path in loops:
        if "_loops" in (path.stem, path.parent.name):
            state.update(f"{path.relative_to(_ROOT).as_posix()}\n".encode())
            state.update(path.read_bytes())
    return f"{package}-{state.hexdigest()[:12]}"


@cache
def cache_folder() -> Path | None:
    """Return the folder that keeps those of all packages, or None with a warning if there is none.

    Its name is that of the installation, which another one does not share.
    """
    name = f"rankwise-{hashlib.sha256(str(_ROOT).encode()).hexdigest()[:8]}"
    user_cache = AppDirs(appname="numba", appauthor=False).user_cache_dir
    parents = [*filter(None, [config.CACHE_DIR]), _ROOT / "__pycache__", user_cache]
    shipped = None
    for folder in (Path(parent) / name for parent in parents):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder if shipped is None else _copy(shipped, folder)
        except OSError:
            shipped = shipped or (folder if folder.is_dir() else None)
    if shipped is not None:
        temporary = tempfile.TemporaryDirectory(prefix="rankwise-")
        atexit.register(temporary.cleanup)
        return _copy(shipped, Path(temporary.name))
    # Processes that another one starts have nothing new to say.
    if multiprocessing.parent_process() is None:
        warnings.warn(
            "compiled loops can't be kept on disk, since neither the folder of rankwise nor the "
            "user's home can be written to, so each process compiles them again: set the "
            "environment variable NUMBA_CACHE_DIR to a writable folder",
            stacklevel=2,
        )
    return None


def _copy(shipped: Path, folder: Path) -> Path:
    """Copy what today's sources can use, each folder at once: other processes may be reading."""
    for source in filter(is_current, shipped.iterdir()):
        if not (folder / source.name).exists():
            partial = Path(tempfile.mkdtemp(dir=folder))
            shutil.copytree(source, partial, dirs_exist_ok=True)
            try:
                partial.rename(folder / source.name)
            except OSError:  # Another process was faster.
                shutil.rmtree(partial)
    return folder


def is_current(folder: Path) -> bool:
    """Return whether a package's folder belongs to today's sources and settings."""
    return folder.name == folder_name(folder.name.rpartition("-")[0])


def remove_old(folder: Path) -> int:
    """Remove what earlier sources left in the folder of an installation; return the count."""
    old = [each for each in folder.iterdir() if not is_current(each)]
    for each in old:
        shutil.rmtree(each, ignore_errors=True)
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
    folder = cache_folder()
    if folder is not None:
        top, _, rest = function.__module__.partition(".")
        package = rest.partition(".")[0] if top == "rankwise" else ""
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder / folder_name(package))
        try:
            loop.enable_caching()
        finally:
            config.CACHE_DIR = before
    return loop
