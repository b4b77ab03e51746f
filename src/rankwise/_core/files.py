"""Files that are complete or absent, and streams that are written into."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_KINDS = {stat.S_IFDIR: "directory", stat.S_IFSOCK: "socket", stat.S_IFBLK: "block device"}


def is_stream(path: Path) -> bool:
    """Return whether a path leads to a character device or a FIFO, such as ``/dev/stdout``.

    Raises
    ------
    ValueError
        If it leads to a directory, a socket or a block device, which can't be written.
    """
    target = path if path.exists() else path.resolve()  # a/../b, and a is absent
    kind = stat.S_IFMT(target.stat().st_mode) if target.exists() else stat.S_IFREG
    if kind in _KINDS:
        raise ValueError(f"{path} is a {_KINDS[kind]}: choose another file")
    return kind != stat.S_IFREG


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path`` and rename it when the block ends well.

    It is on the disk before it has its name. A file that is replaced keeps its mode; of a link, the
    file that it leads to is replaced. A stream is written into and returned unchanged. Errors
    name ``path``.

    Raises
    ------
    ValueError
        As in `is_stream`.
    """
    if is_stream(path):
        yield path
        return
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        error.filename = str(path)
        raise
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename in {None, name}:
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
