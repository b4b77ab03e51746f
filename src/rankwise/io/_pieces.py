"""Open files a piece at a time: bytes, text in UTF-8, and chunks of whole rows."""

import codecs
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

from rankwise.io.dialect import START, Dialect, is_regular, row_ends, split_rows
from rankwise.io.files import guess_encoding

_PIECE = 2**22
# A chunk of so many bytes may have fewer rows than asked for.
_MOST = 2**24
# A row of so many bytes is no row.
_LONGEST = 2**26


def opened(path: Any) -> tuple[Any, str]:
    """Return an open file, and what messages call it."""
    if hasattr(path, "read"):
        name = getattr(path, "name", None)
        return path, name if isinstance(name, str) else "open file"
    if sys.stdin.isatty():
        raise ValueError("- is the standard input, which is a terminal: pipe a table into it")
    return sys.stdin.buffer, "standard input"


class Pieces:
    """The bytes of an open file, some at a time; a look ahead stays to be read.

    ``live`` says that the input is not a file: what has arrived is given, and not waited for.
    """

    closed = False

    def __init__(self, file: Any, *, live: bool | None = None) -> None:
        self._file = file
        self._ahead = b""
        self.live = hasattr(file, "read1") and not file.seekable() if live is None else live

    def read(self, size: int = _PIECE) -> bytes:
        """Return the next bytes, at most ``size``; none at the end."""
        if self._ahead:
            piece, self._ahead = self._ahead[:size], self._ahead[size:]
            return piece
        piece = self._file.read1(size) if self.live else self._file.read(size)
        return piece.encode() if isinstance(piece, str) else piece

    def close(self) -> None:
        """Do nothing: the file belongs to the caller."""

    def look(self) -> bytes:
        """Return the start: two lines at least, if there are; one of JSON lines."""
        start = b""
        while len(start) < START and (
            len(start) < 8 or start.lstrip().count(b"\n") < 2 - (start.lstrip()[:1] == b"{")
        ):
            piece = self.read()
            if not piece:
                break
            start += piece
        self._ahead = start + self._ahead
        return start

    def rest(self) -> bytes:
        """Return all that is left."""
        return b"".join(iter(self.read, b""))

    def whole(self) -> Any:
        """Return a file to seek in, from the start."""
        if not getattr(self._file, "seekable", bool)():
            return BytesIO(self.rest())
        self._file.seek(0)
        return self._file


class Lines:
    """The text of an open file in UTF-8, in chunks of whole rows.

    Parameters
    ----------
    pieces : Pieces
        The bytes.
    label : str
        What messages call the file.
    encoding : str or None
        None: guessed from the first bytes.
    """

    def __init__(self, pieces: Pieces, label: str, encoding: str | None) -> None:
        self._pieces, self.label = pieces, label
        self.encoding = (encoding or guess_encoding(pieces.look(), whole=False)).lower()
        self._decoder = codecs.getincrementaldecoder(self.encoding)()
        self._text, self._line, self._ended = b"", 1, False
        self._more()
        self._text = self._text.removeprefix(codecs.BOM_UTF8)

    def _more(self) -> None:
        """Take one more piece."""
        piece = self._pieces.read()
        self._ended = not piece
        try:
            self._text += self._decoder.decode(piece, final=self._ended).encode()
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            line = self._line + self._text.count(b"\n") + piece.count(b"\n", 0, start)
            raise ValueError(
                f"{self.label}: line {line}: not {self.encoding}; pass another encoding"
            ) from error

    def look(self) -> bytes:
        """Return the start of the text."""
        while not self._ended and self._text.lstrip().count(b"\n") < 2:
            self._more()
        if not self._text.strip():
            raise ValueError(f"{self.label}: the file is empty")
        return self._text

    def skip(self, size: int) -> None:
        """Pass over the first bytes."""
        self._line += self._text.count(b"\n", 0, size)
        self._text = self._text[size:]

    def chunks(self, rows: int, dialect: Dialect | None = None) -> Iterator[tuple[bytes, int]]:
        """Yield pieces of at most that many whole rows, each with the number of its first line."""
        while self._text or not self._ended:
            ends = self._row_ends(dialect)
            ready = self._ended or self._pieces.live or len(self._text) > _MOST
            if len(ends) >= rows or (len(ends) and ready):
                size = int(ends[min(rows, len(ends)) - 1])
                text, line = self._text[:size], self._line
                self.skip(size)
                if text.strip():
                    yield text, line
            elif self._ended:
                break
            elif len(self._text) > _LONGEST and not len(ends):
                raise ValueError(
                    f"{self.label}: line {self._line}: a row of more than {_LONGEST:,} bytes"
                )
            else:
                self._more()

    def _row_ends(self, dialect: Dialect | None) -> Any:
        """Return where complete rows end; the last row of all need not have a line end."""
        quote = dialect is not None and bool(dialect.quote)
        if dialect is not None and quote and b'"' in self._text:
            ends = row_ends(self._text, quote=True)
            known = self._text[: int(ends[-1])] if len(ends) else b""
            if not is_regular(known, replace(dialect, start=0)):
                rows = split_rows(self._text, dialect, 0, 1)
                found = [min(row.end, len(self._text)) for row in rows]
                return found if self._ended else found[:-1]
        else:
            ends = row_ends(self._text, quote=False)
        if self._ended and (not len(ends) or ends[-1] < len(self._text)):
            return [*ends, len(self._text)]
        return ends
