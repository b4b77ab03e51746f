"""Tables whose columns are known: a row that does not fit is an error or skipped."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.io._text import parse_regular
from rankwise.io.dialect import Dialect, is_number
from rankwise.io.files import BadRows, Source, need
from rankwise.io.text_rows import Row, as_csv, byte_places, count_byte, is_regular, split_rows

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[Any]

INTEGER, NUMBER, TEXT, ID = "integer", "number", "text", "id"
MAX_COLUMNS = 10_000
# No integer of so many digits, and no number of this size, is data.
_INTEGERS, _NUMBERS = 10**15, 1e308

_INTEGER = re.compile("-?[0-9]{1,99}")
_BLANK = re.compile(rb"(?:\r?\n)*+")
_ID = "^(0|-?[1-9][0-9]{0,14})$"


class Column(NamedTuple):
    """A column: its kind, and what its numbers must satisfy, with words for the message.

    An ID is text; `read_columns` makes integers of a column of them if all are.
    """

    name: str
    kind: str
    holds: Callable[[Array], Array] | None = None
    expected: str = ""


@dataclass(frozen=True)
class Layout:
    """The layout of a table in a file.

    Parameters
    ----------
    columns : sequence of Column
        The cells of a row.
    separator : str
        Between cells.
    quote : bool
        Whether a cell may be in quotes, a quote in it doubled.
    header : str
        The line of names, without quotes, if the file may begin with one.
    """

    columns: Sequence[Column]
    separator: str
    quote: bool = False
    header: str = ""


def read_layout(source: Source, layout: Layout, on_bad_rows: str) -> "DataFrame":
    """Read the columns of a table as `read_columns`; ``attrs`` counts the rows skipped."""
    bad = BadRows(source, on_bad_rows)
    frame, _ = read_columns(source, layout, bad)
    bad.finish(len(frame))
    frame.attrs["skipped_rows"] = bad.count
    return frame


def read_columns(source: Source, layout: Layout, bad: BadRows) -> tuple["DataFrame", Array]:
    """Read the columns of a table from a clean source.

    Returns
    -------
    frame : pandas.DataFrame
        float64 for NUMBER, int64 for INTEGER and for an ID that is an integer in every row, else
        str.
    lines : ndarray of int64
        The line of each row.
    """
    need("pandas")
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    text = source.raw
    start, line = first_row(text, layout)
    names = tuple(column.name for column in layout.columns)
    dialect = Dialect(
        layout.separator, ".", columns=names, quote=layout.quote, comment="", missing=(),
        start=start, line=line, strict=True,
    )  # fmt: skip
    kinds = {INTEGER: pa.int64(), NUMBER: pa.float64()}
    types = {column.name: kinds.get(column.kind, pa.string()) for column in layout.columns}
    lines: Array | None = None
    table = None
    if is_regular(text, dialect):
        try:
            table = parse_regular(text, dialect, types)
        except pa.ArrowInvalid:
            table = None
    if table is None or not all(_is_inside(table.column(c.name), c.kind) for c in layout.columns):
        text, lines, problems = _good_rows(text, dialect, layout, stop=bad.stop)
        plain = Dialect(",", ".", columns=names, quote=True, missing=())
        table = parse_regular(text, plain, types)
    else:
        problems = []
        lines = np.arange(line, line + len(table))
        if len(table) != count_byte(text, b"\n", start):  # some are empty, or belong to one row
            lines = line + _filled_lines(text[start:])
        if len(table) != len(lines):
            rows = split_rows(text, dialect, start, line)
            lines = np.array([row.line for row in rows], np.int64)
    for place, column in enumerate(layout.columns):
        if column.kind in {TEXT, ID}:
            cells = pc.utf8_trim_whitespace(table.column(column.name))
            if column.kind == ID and pc.all(pc.match_substring_regex(cells, _ID)).as_py():
                cells = cells.cast(pa.int64())
            table = table.set_column(place, column.name, cells)
    frame: DataFrame = table.to_pandas(split_blocks=True)
    return _checked(frame, lines, layout, bad, problems)


def _filled_lines(text: bytes) -> Array:
    """Return the places of the lines that are not empty."""
    data = np.frombuffer(text, np.uint8)
    ends = byte_places(data, b"\n")
    before = data[ends - 1] if len(ends) else ends  # of the first line: any byte
    sizes = np.diff(ends, prepend=-1) - 1
    return np.flatnonzero((sizes > 1) | ((sizes == 1) & (before != ord("\r"))))


def _checked(
    frame: "DataFrame", lines: Array, layout: Layout, bad: BadRows, problems: list[tuple[int, str]]
) -> tuple["DataFrame", Array]:
    """Report the rows that can't be read, and those with a value out of range."""
    keep = np.ones(len(frame), bool)
    n_unread = len(problems)
    for column in layout.columns:
        if column.holds is None:
            continue
        values = frame[column.name].to_numpy()
        good = column.holds(values)
        if not good.all():
            row = int(np.argmin(good))
            shown = "empty" if values[row] == "" else f"{values[row]:.15g}"
            why = f"{column.name} is {shown}, expected {column.expected}"
            problems.append((int(lines[row]), why))
            keep &= good
    if problems:
        bad.refuse(*min(problems), count=n_unread + int(len(keep) - keep.sum()))
        frame, lines = frame[keep].reset_index(drop=True), lines[keep]
    return frame, lines


def first_row(text: bytes, layout: Layout) -> tuple[int, int]:
    """Return where the first row begins, past blank lines and the header, and its line."""
    blank = _BLANK.match(text)
    start = blank.end() if blank else 0
    end = text.find(b"\n", start) + 1
    head = text[start:end].strip().replace(b'"', b"")
    if layout.header and head == layout.header.strip().encode():
        start = end
    return start, 1 + text.count(b"\n", 0, start)


def _is_inside(column: Any, kind: str) -> bool:
    """Return whether all numbers of a column are in the range of its kind."""
    if kind not in {INTEGER, NUMBER} or not len(column):
        return True
    values = column.to_numpy()
    low, high = values.min(), values.max()
    if kind == INTEGER:
        return bool(low >= 0 and high < _INTEGERS)
    return bool(low > -_NUMBERS and high < _NUMBERS)  # False for NaN


def _good_rows(
    text: bytes, dialect: Dialect, layout: Layout, *, stop: bool
) -> tuple[bytes, Array, list[tuple[int, str]]]:
    """Return the rows that can be read as plain CSV, their lines, and what is wrong with others."""
    rows: list[list[str]] = []
    lines: list[int] = []
    problems: list[tuple[int, str]] = []
    for row in split_rows(text, dialect, dialect.start, dialect.line):
        if problem := explain_row(row, layout):
            problems.append((row.line, problem))
            if stop:
                break
            continue
        rows.append(list(map(_plain_cell, row.fields, layout.columns)))
        lines.append(row.line)
    return as_csv(rows), np.array(lines, np.int64), problems


def explain_row(row: Row, layout: Layout) -> str:
    """Return what is wrong with a row, "" if nothing is."""
    names = [column.name for column in layout.columns]
    n = len(row.fields)
    listed = ", ".join([*names[:8], "..."] if len(names) > 9 else names)
    if row.problem:
        after = row.problem.startswith("text after") and n < len(names)
        return f"{names[n]}: {row.problem}" if after else row.problem
    for cell, column in zip(row.fields, layout.columns, strict=False):
        if problem := _cell_problem(cell, column):
            return problem
    if n > len(names):
        return f"more than {len(names)} fields, expected {listed}"
    if n < len(names):
        word = "field" if n == 1 else "fields"
        return f"{n} {word} between {layout.separator!r}, expected {len(names)}: {listed}"
    return ""


def _cell_problem(cell: str, column: Column) -> str:
    shown = cell[:40]
    if column.kind == INTEGER and not (
        _INTEGER.fullmatch(cell.strip()) and 0 <= int(cell) < _INTEGERS
    ):
        return f"{column.name} is {shown!r}, expected 1 to 15 digits"
    if column.kind == NUMBER and not (is_number(cell) and abs(float(cell)) < _NUMBERS):
        return f"{column.name} is {shown!r}, expected a number"
    return ""


def _plain_cell(cell: str, column: Column) -> str:
    """Return a cell as the fast parser takes it."""
    if column.kind == INTEGER:
        return str(int(cell))
    return repr(float(cell)) if column.kind == NUMBER else cell
