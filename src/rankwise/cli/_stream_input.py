"""Bytes as they come: of a file, a file that grows, or standard input."""

import os
import select
import stat
import sys
import zlib
from pathlib import Path
from time import sleep

import click

# Bytes of a piece, about, and how long to wait for some, in seconds.
_PIECE, _WAIT = 2**22, 0.2
_MORE = "; --more learns on from the start of another input"


class Pieces:
    """An input that is read from its start to its end.

    Parameters
    ----------
    path : Path or None
        The file; None for standard input.
    follow : bool
        Whether to wait for more at the end of a file.

    Attributes
    ----------
    name : str
        What messages call it.
    is_file : bool
        Whether it can be read twice.
    """

    def __init__(self, path: Path | None, *, follow: bool) -> None:
        self.path, self._follow = path, follow
        self.name = "standard input" if path is None else str(path)
        self._handle = sys.stdin.fileno() if path is None else os.open(path, os.O_RDONLY)
        self.is_file = path is not None and stat.S_ISREG(os.fstat(self._handle).st_mode)
        self._ahead = b""

    def read(self) -> bytes | None:
        """Return what is ready: nothing if nothing comes for a moment, None at the end."""
        if self._ahead:
            piece, self._ahead = self._ahead, b""
            return piece
        parts: list[bytes] = []
        size = 0
        while size < _PIECE and self._is_ready(0.0 if parts else _WAIT):
            part = os.read(self._handle, _PIECE - size)
            if not part:
                if parts:
                    break
                return self._ended()
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    def look(self, size: int, lines: int, stopped: list[int]) -> bytes:
        """Return the start of the input, so many bytes and lines of it; they stay to be read."""
        found = b""
        while (len(found) < size or found.lstrip().count(b"\n") < lines) and not stopped:
            piece = self.read()
            if piece is None:
                break
            found += piece
        self._ahead = found
        return found

    def skip(self, size: int, digest: int) -> None:
        """Read what was learned before, which must be the same."""
        left, found, last = size, 0, b""
        while left:
            piece = self.read()
            if piece is None:
                raise click.ClickException(
                    f"{self.name} is shorter than what the model has learned from it{_MORE}"
                )
            if piece:
                last, self._ahead = piece[:left], piece[left:]
                found, left = zlib.crc32(last, found), left - len(last)
        if found != digest:
            raise click.ClickException(
                f"{self.name} does not begin with the rows that the model has learned{_MORE}"
            )
        if last and not last.endswith(b"\n") and self._ahead[:1] not in {b"", b"\r", b"\n"}:
            raise click.ClickException(
                f"the last line of {self.name} has grown since it was learned: give --model "
                "another file, and --follow if the file grows"
            )

    def _is_ready(self, seconds: float) -> bool:
        try:
            return bool(select.select([self._handle], [], [], seconds)[0])
        except (OSError, ValueError):  # where files can't be asked, they are waited for
            return True

    def _ended(self) -> bytes | None:
        if self.path is None or not (self._follow and self.is_file):
            return None
        here = os.lseek(self._handle, 0, os.SEEK_CUR)
        if self.path.exists() and self.path.stat().st_size < here:
            raise click.ClickException(f"{self.name} became shorter: was it replaced?{_MORE}")
        sleep(_WAIT)
        return b""
