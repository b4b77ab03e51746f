"""Places that are written to, looked at before any work is done."""

import errno
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import click


def check_writable(path: Path, option: str, *read: Path) -> None:
    """Refuse a file that can't be replaced, or is one of those that the command reads."""
    for other in read:
        if path.resolve() == other.resolve() or (
            path.exists() and other.exists() and path.samefile(other)
        ):
            raise click.ClickException(
                f"{option} {path}: {other} would be overwritten; choose another file"
            )
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it may not be written to")
        with NamedTemporaryFile(dir=path.resolve().parent, prefix=f".{path.name}."):
            pass
    except OSError as error:
        raise click.ClickException(
            f"{option} {path}: it can't be written ({error.strerror}); choose another file"
        ) from error
