"""Delimited text to columns: a compiled pass, and a literal one that explains a bad row."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import check_text
from rankwise.datasets._loops import (
    BACKSLASH,
    DOUBLED,
    ID,
    NONE,
    REAL,
    TEXT,
    WHOLE,
    scan_table,
)
from rankwise.io.files import BadRows, Source

Array = NDArray[Any]

MAX_COLUMNS = 10_000

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(rb"[0-9]{1,15}")
_ID = re.compile(rb"0|-?[1-9][0-9]{0,14}")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")
_ENDING = re.compile(rb"\r?\n")
_BLANK = re.compile(rb"(?:\r?\n)*+")
_ESCAPED = re.compile(r"\\(.)")
_QUOTED = {
    BACKSLASH: re.compile(rb'(?:[^"\\]|\\[^\x00-\x1f])*+(?=")'),
    DOUBLED: re.compile(rb'(?:[^"]|"")*+(?=")'),
}


class NotAnIdError(ValueError):
    """A field of the kind ID is no whole number as it is usually written."""

    def __init__(self, column: str, shown: str) -> None:
        super().__init__(f"{column} is {shown!r}, wanted a whole number of at most 15 digits")
        self.column = column


class Column(NamedTuple):
    """A column: its kind, and what its numbers must satisfy, with the words for a refusal."""

    name: str
    kind: int
    holds: Callable[[Array], Array] | None = None
    wanted: str = ""


@dataclass(frozen=True)
class Layout:
    """How a table is written.

    Parameters
    ----------
    columns : sequence of Column
        The fields of a row.
    separator : bytes
        Between fields: one byte, or one byte twice.
    quotes : int
        NONE, BACKSLASH or DOUBLED.
    header : bytes
        The line of names, if the file may begin with one.
    """

    columns: Sequence[Column]
    separator: bytes
    quotes: int = NONE
    header: bytes = b""


def read_table(
    source: Source, layout: Layout, bad: BadRows, *, encoding: str = "latin-1"
) -> tuple[dict[str, Any], Array]:
    """Read the columns of a table from a clean source.

    Returns
    -------
    columns : dict
        float64 arrays for REAL, int64 for WHOLE and ID, lists of str for TEXT.
    lines : ndarray of int64
        The line of each row.
    """
    raw = source.raw
    kinds = np.array([column.kind for column in layout.columns])
    numbers, spans, lines, refused = scan(raw, layout, kinds, stop=bad.stop)
    keep = np.ones(len(lines), bool)
    problems = []
    for column, values in zip(layout.columns, numbers, strict=True):
        if column.holds is not None and not (good := column.holds(values)).all():
            row = int(np.argmin(good))
            why = f"{column.name} is {values[row]:.15g}, wanted {column.wanted}"
            problems.append((int(lines[row]), why))
            keep &= good
    count, line, offset = refused
    if count:
        problems.append((line, str(problem_of(raw, offset, layout))))
    if problems:
        bad.refuse(*min(problems), count=count + int(len(keep) - keep.sum()))
        numbers, spans, lines = numbers[:, keep], spans[:, keep], lines[keep]
    columns: dict[str, Any] = {}
    for c, column in enumerate(layout.columns):
        if column.kind == TEXT:
            columns[column.name] = texts(raw, spans[2 * c], spans[2 * c + 1], layout, encoding)
        else:
            columns[column.name] = numbers[c].astype(float if column.kind == REAL else np.int64)
    return columns, lines


def first_row(raw: bytes, layout: Layout) -> tuple[int, int]:
    """Return where the first row begins, past blank lines and the header, and its line."""
    blank = _BLANK.match(raw)
    start = blank.end() if blank else 0
    end = raw.find(b"\n", start) + 1
    head = raw[start:end].rstrip(b"\r\n").replace(b'"', b"")
    if layout.header and head == layout.header:
        start = end
    return start, 1 + raw.count(b"\n", 0, start)


def first_refusal(source: Source, layout: Layout) -> ValueError | None:
    """Return what is wrong with the first row that can't be read, or None."""
    kinds = np.array([column.kind for column in layout.columns])
    *_, (count, _, offset) = scan(source.raw, layout, kinds, stop=True)
    return problem_of(source.raw, offset, layout) if count else None


def problem_of(raw: bytes, offset: int, layout: Layout) -> ValueError:
    """Return why the row at an offset can't be read."""
    try:
        literal_row(raw, offset, layout)
    except ValueError as error:
        return error
    return ValueError("not a row of this table")


def scan(
    raw: bytes, layout: Layout, kinds: Array, *, stop: bool
) -> tuple[Array, Array, Array, tuple[int, int, int]]:
    start, line = first_row(raw, layout)
    # a row has a byte for each field at least; the last place is for one that ends too early
    rows = min(raw.count(b"\n"), len(raw) // len(kinds) + 1)
    data = np.frombuffer(raw, np.uint8)
    numbers = np.empty((len(kinds), rows))
    spans = np.empty((2 * len(kinds) if TEXT in kinds else 0, rows), np.int64)
    lines = np.empty(rows, np.int64)
    room = 16
    while True:
        hard = np.empty((room, 4), np.int64)
        read, count, bad_line, offset, room = scan_table(
            data,
            start,
            line,
            layout.separator[0],
            len(layout.separator),
            layout.quotes,
            kinds,
            stop,
            (numbers, spans, lines, hard),
        )
        if room <= len(hard):
            break
    for column, row, first, past in hard[:room]:
        numbers[column, row] = float(raw[first:past])
    return numbers[:, :read], spans[:, :read], lines[:read], (count, bad_line, offset)


def texts(raw: bytes, first: Array, past: Array, layout: Layout, encoding: str) -> list[str]:
    spans = zip(first.tolist(), past.tolist(), strict=True)
    if encoding == "latin-1" or raw.isascii():
        text = raw.decode("latin-1")
        found = [text[i:j] for i, j in spans]
    else:
        found = [raw[i:j].decode(encoding) for i, j in spans]
    if layout.quotes == DOUBLED and b'""' in raw:
        return [text.replace('""', '"') for text in found]
    if layout.quotes == BACKSLASH and b"\\" in raw:
        return [_ESCAPED.sub(r"\1", text) if "\\" in text else text for text in found]
    return found


def text_encoding(source: Source, encoding: str | None) -> str:
    """Check the encoding; without one, choose UTF-8 if the bytes are valid, else Latin-1."""
    if encoding is not None:
        check_text(encoding, "encoding")
    try:
        source.raw.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding is None:
            return "latin-1"
        line = 1 + source.raw.count(b"\n", 0, error.start)
        raise ValueError(f"{source.label}:{line}: not {encoding}: {error.reason}") from error
    except (LookupError, ValueError) as error:  # the latter is for a name with a NUL in it
        raise ValueError(f"encoding={encoding!r} is not known to Python") from error
    return encoding or "utf-8"


def is_number(text: str) -> bool:
    """Tell whether a text is a number of those that the compiled readers take."""
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) < 1e308


def literal_row(raw: bytes, offset: int, layout: Layout) -> tuple[list[bytes], int]:
    """Split the row at an offset into its fields, one by one; a ValueError says what is wrong.

    Returns the fields as they are written, and where the next row begins.
    """
    fields: list[bytes] = []
    names = [column.name for column in layout.columns]
    end = raw.index(b"\n", offset)
    while True:
        field, offset = _literal_field(raw, offset, end, layout)
        if offset > end:
            end = raw.index(b"\n", offset)
        if len(fields) == len(names):
            raise ValueError(f"more than {len(names)} fields, wanted {_list(names)}")
        column = layout.columns[len(fields)]
        shown = field[:40].decode("latin-1")
        if column.kind == WHOLE and not _WHOLE.fullmatch(field):
            raise ValueError(f"{column.name} is {shown!r}, wanted 1 to 15 digits")
        if column.kind == ID and not _ID.fullmatch(field):
            raise NotAnIdError(column.name, shown)
        if column.kind == REAL and not is_number(field.decode("latin-1")):
            raise ValueError(f"{column.name} is {shown!r}, wanted a number")
        fields.append(field)
        if ending := _ENDING.match(raw, offset):
            break
        if not raw.startswith(layout.separator, offset):
            raise ValueError(f"{column.name}: text after the closing quote")
        offset += len(layout.separator)
    if len(fields) < len(names):
        fields_word = "field" if len(fields) == 1 else "fields"
        raise ValueError(
            f"{len(fields)} {fields_word} between {layout.separator.decode()!r}, "
            f"wanted {len(names)}: {_list(names)}"
        )
    return fields, ending.end()


def _list(names: Sequence[str]) -> str:
    return ", ".join([*names[:8], "..."] if len(names) > 9 else names)


def _literal_field(raw: bytes, offset: int, end: int, layout: Layout) -> tuple[bytes, int]:
    """Return the field at an offset, and where it ends; the line ends at ``end``."""
    if layout.quotes != NONE and raw[offset : offset + 1] == b'"':
        match = _QUOTED[layout.quotes].match(raw, offset + 1)
        if match is None:
            raise ValueError("a quote that is never closed")
        if _CONTROL.search(match.group().replace(b"\r", b"")):
            raise ValueError("a control character inside quotes: is this a text file?")
        return match.group(), match.end() + 1
    past = raw.find(layout.separator, offset, end)
    field = raw[offset:past] if past >= 0 else raw[offset:end].removesuffix(b"\r")
    if _CONTROL.search(field):
        raise ValueError("a control character: is this a text file?")
    if layout.quotes != NONE and b'"' in field:
        raise ValueError("a quote in the middle of a field")
    return field, offset + len(field)
