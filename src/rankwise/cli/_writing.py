"""Places that are written to, looked at before any work is done."""

import errno
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import click

from rankwise._core.files import is_stream


def check_writable(path: Path, option: str, *read: Path) -> None:
    """Raise if a path can't be written, or is one of those that the command reads."""
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
        if not is_stream(path):
            with NamedTemporaryFile(dir=path.resolve().parent, prefix=f".{path.name}."):
                pass
    except ValueError as error:
        raise click.ClickException(f"{option} {error}") from error
    except OSError as error:
        raise click.ClickException(
            f"{option} {path}: it can't be written ({error.strerror}); choose another file"
        ) from error


def check_regular(path: Path, option: str) -> None:
    """Raise if a path exists and is not a regular file, which can be read again."""
    if path.exists() and not path.is_file():
        raise click.ClickException(
            f"{option} {path} is not a regular file, so it can't be read again: choose another file"
        )
