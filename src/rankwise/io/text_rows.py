"""Rows of a delimited text, one by one: the slow and literal reading, which says what is wrong."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rankwise.io.dialect import Dialect

_BLOCK = 2**18
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")
_QUOTED = re.compile(rb'[ \t]*"((?:[^"]|"")*+)"[ \t]*')


class Row(NamedTuple):
    """A row: its line, where it starts and ends, its cells, and what is wrong with it."""

    line: int
    start: int
    end: int
    fields: list[str]
    problem: str = ""


def split_rows(text: bytes, dialect: "Dialect", start: int, line: int) -> Iterator[Row]:
    """Yield the rows from an offset on; blank lines and comments are passed over.

    The row after a bad one begins with the next line.
    """
    sep, comment = (dialect.sep or ",").encode(), (dialect.comment or "").encode()
    while start < len(text):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        content = text[start:end].rstrip(b"\r")
        # a line of blanks is a row where it may be cells
        content = content.strip() if len(dialect.columns or ()) > 1 and sep.strip() else content
        if not content or (comment and content.lstrip().startswith(comment)):
            start, line = end + 1, line + 1
            continue
        fields, past, problem = _split(text, start, end, sep, dialect)
        past = end if problem else past
        inside = text.count(b"\n", start, past)
        yield Row(line, start, past + 1, fields, problem)
        start, line = past + 1, line + 1 + inside


def _split(
    text: bytes, start: int, end: int, sep: bytes, dialect: "Dialect"
) -> tuple[list[str], int, str]:
    """Return the cells of the row at an offset, where it ends, and what is wrong."""
    fields: list[str] = []
    while True:
        is_quoted = dialect.quote and text[start:end].lstrip(b" \t").startswith(b'"')
        if is_quoted:
            match = _QUOTED.match(text, start)
            if match is None:
                return fields, end, "a quote that is never closed"
            field, past = match[1].replace(b'""', b'"'), match.end()
            if past > end:
                end = text.find(b"\n", past)
                end = len(text) if end < 0 else end
        else:
            past = text.find(sep, start, end)
            past = end if past < 0 else past
            field = text[start:past].removesuffix(b"\r") if past == end else text[start:past]
        if dialect.strict:
            if _CONTROL.search(field.replace(b"\r", b"") if is_quoted else field):
                return fields, end, "a control character: is this a text file?"
            if dialect.quote and not is_quoted and b'"' in field:
                return fields, end, "a quote in the middle of a field"
        fields.append(field.decode("utf-8", "replace"))
        if past >= end or text[past:end] == b"\r":
            return fields, end, ""
        if not text.startswith(sep, past):
            return fields[:-1], end, "text after the closing quote"
        start = past + len(sep)


def as_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows as plain CSV: commas, and every cell in quotes."""
    out = StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


def is_regular(text: bytes, dialect: "Dialect") -> bool:
    """Return whether a fast parser reads a text as `split_rows` does.

    It does not if there are carriage returns without a newline, comments, or quotes that are not
    around whole cells.
    """
    start = dialect.start
    if dialect.comment and text.find(dialect.comment.encode(), start) >= 0:
        return False
    data = np.frombuffer(text, np.uint8, offset=start)
    returns = text.find(b"\r", start) >= 0
    quotes = bool(dialect.quote) and text.find(b'"', start) >= 0
    border = np.zeros(256, bool)
    border[list((dialect.sep or ",").encode() + b'\r\n"')] = True
    n_quotes = 0
    for first in range(0, len(data) if dialect.strict or returns or quotes else 0, _BLOCK):
        block = data[first : first + _BLOCK]
        if dialect.strict:
            known = sum(map(np.count_nonzero, (block == ord(byte) for byte in "\n\t\r")))
            if np.count_nonzero(block < ord(" ")) > known:
                return False
        if returns:
            after = first + 1 + np.flatnonzero(block == ord("\r"))
            if (data.take(after, mode="clip") != ord("\n")).any():
                return False
        if quotes:
            at = first + np.flatnonzero(block == ord('"'))
            opening, closing = at[n_quotes % 2 :: 2], at[1 - n_quotes % 2 :: 2]
            n_quotes += len(at)
            before = data.take(opening - 1, mode="clip")  # the first byte of all is a quote itself
            if not (border[before].all() and border[data.take(closing + 1, mode="clip")].all()):
                return False
    return n_quotes % 2 == 0


def count_byte(text: bytes, byte: bytes, start: int = 0) -> int:
    """Return how often a byte occurs from an offset on."""
    data = np.frombuffer(text, np.uint8, offset=start)
    blocks = range(0, len(data), _BLOCK)
    return sum(int(np.count_nonzero(data[at : at + _BLOCK] == ord(byte))) for at in blocks)


def byte_places(data: NDArray[np.uint8], byte: bytes) -> NDArray[np.int64]:
    """Return the places of a byte."""
    blocks = range(0, len(data), _BLOCK)
    return np.concatenate(
        [np.empty(0, np.int64)]
        + [np.flatnonzero(data[at : at + _BLOCK] == ord(byte)) + at for at in blocks]
    )


def row_ends(text: bytes, start: int = 0, *, quote: bool) -> NDArray[np.int64]:
    """Return the offsets past the newlines that end rows: those outside of quotes."""
    data = np.frombuffer(text, np.uint8, offset=start)
    ends = byte_places(data, b"\n")
    if quote and text.find(b'"', start) >= 0:
        ends = ends[np.searchsorted(byte_places(data, b'"'), ends) % 2 == 0]
    return ends + 1 + start
