"""Where compiled loops are kept, and when they are out of date.

numba keeps compiled functions in files, but it looks at the file of the function alone: after a
change in another file that the function calls into, old code would run. Here the names of the files
hold a digest of all source files of the engine, so that changed sources never find them.

Compiled loops are written to the first of these folders that can be written to, and read from it
and those before it:

1. the folder that the environment variable ``NUMBA_CACHE_DIR`` names;
2. ``__pycache__`` beside the source file;
3. numba's folder in the user's home.

So a read-only installation, or a read-only image of a container, can hold compiled loops.
"""

import hashlib
import multiprocessing
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path

from numba import config
from numba.misc.appdirs import AppDirs

ENGINE = Path(__file__).parents[1]
# Settings that change the code and that numba does not tell apart by itself.
_SETTINGS = ("NUMBA_BOUNDSCHECK", "NUMBA_OPT", "RANKWISE_PLAIN_LOOPS")


@cache
def digest() -> str:
    """Return a digest of the names and contents of the engine's source files: some milliseconds."""
    found = hashlib.sha256(repr([os.environ.get(name) for name in _SETTINGS]).encode())
    for path in sorted(ENGINE.rglob("*.py")):
        found.update(f"{path.relative_to(ENGINE).as_posix()}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def folders(source: Path) -> tuple[list[Path], Path | None]:
    """Return the folders that hold the compiled functions of a source file, best first.

    And the one that they are written to, the last of these, or None if there is none.
    """
    # Two installations never share a folder.
    place = hashlib.sha256(str(source.parent).encode()).hexdigest()[:16]
    named = [config.CACHE_DIR] if config.CACHE_DIR else []
    home = AppDirs(appname="numba", appauthor=False).user_cache_dir
    named, home = ([Path(top) / f"rankwise-{place}" for top in tops] for tops in (named, [home]))
    possible = [*named, source.parent / "__pycache__", *home]
    for number, folder in enumerate(possible, start=1):
        if can_write(folder):
            return possible[:number], folder
    return possible, None


@cache
def can_write(folder: Path) -> bool:
    """Return whether files can be written to a folder, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def remove_old(folder: Path) -> int:
    """Remove compiled loops of other sources than today's; return how many files that were."""
    old = [path for path in folder.glob("*.nb[ci]") if f"-{digest()}." not in path.name]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


@cache
def warn_once() -> None:
    """Warn in the first process only: those that it starts have nothing new to say."""
    if multiprocessing.parent_process() is not None:
        return
    warnings.warn(
        "compiled loops can't be kept on disk, since neither the folder of rankwise nor the "
        "user's home can be written to, so each process compiles them anew: set the environment "
        "variable NUMBA_CACHE_DIR to a folder that can be written to",
        stacklevel=2,
    )
