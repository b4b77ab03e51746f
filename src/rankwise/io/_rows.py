"""Rows of a delimited text, one by one: the slow and literal reading, which says what is wrong."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rankwise.io._dialect import Dialect

_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x0c\x0e-\x1f]")
_QUOTED = re.compile(rb'[ \t]*"((?:[^"]|"")*+)"[ \t]*')


class Row(NamedTuple):
    """A row: its line, where it ends, its cells, and what is wrong with it."""

    line: int
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
        content = text[start:end].strip()
        if not content or (comment and content.startswith(comment)):
            start, line = end + 1, line + 1
            continue
        fields, past, problem = _split(text, start, end, sep, bool(dialect.quote))
        past = end if problem else past
        inside = text.count(b"\n", start, past)
        yield Row(line, past + 1, fields, problem)
        start, line = past + 1, line + 1 + inside


def _split(
    text: bytes, start: int, end: int, sep: bytes, quote: bool
) -> tuple[list[str], int, str]:
    """Return the cells of the row at an offset, where it ends, and what is wrong."""
    fields: list[str] = []
    while True:
        if quote and text[start:end].lstrip(b" \t").startswith(b'"'):
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
        if _CONTROL.search(field):
            return fields, end, "a control character: is this a text file?"
        fields.append(field.decode("utf-8", "replace"))
        if past >= end or text[past:end] == b"\r":
            return fields, end, ""
        if not text.startswith(sep, past):
            return fields, end, "text after a closing quote"
        start = past + len(sep)


def is_regular(text: bytes, start: int, dialect: "Dialect") -> bool:
    """Return whether a fast parser reads a text as `split_rows` does.

    That is: no control characters, carriage returns before newlines alone, no comments, and quotes
    around whole cells.
    """
    data = np.frombuffer(text, np.uint8, offset=start)
    low = int(np.count_nonzero(data < 32))
    known = text.count(b"\n", start) + text.count(b"\t", start)
    returns = text.count(b"\r", start)
    if low != known + returns or returns != text.count(b"\r\n", start):
        return False
    if dialect.comment and text.find(dialect.comment.encode(), start) >= 0:
        return False
    if not dialect.quote or text.find(b'"', start) < 0:
        return True
    at = np.flatnonzero(data == ord('"'))
    if len(at) % 2:
        return False
    padded = np.concatenate([[10], data, [10]]).astype(np.uint8)
    borders = np.frombuffer((dialect.sep or ",").encode() + b'\r\n"', np.uint8)
    return bool(
        np.isin(padded[at[::2]], borders).all() and np.isin(padded[at[1::2] + 2], borders).all()
    )


def row_ends(text: bytes, quote: bool) -> np.ndarray:
    """Return the offsets past the newlines that end rows: those outside of quotes."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if quote and b'"' in text:
        quotes = np.flatnonzero(data == ord('"'))
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return ends + 1
