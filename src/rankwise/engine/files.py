"""Files that are complete or absent."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` and rename it when the block ends well.

    It is on the disk before it has its name. A file that is replaced keeps its mode; of a link, the
    file that it leads to is replaced. What fails, as on a full disk, is told of ``path``.
    """
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
