"""Delimited text to tables: a fast parser, the literal reading of the rest, and known columns."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import shortened
from rankwise.io.dialect import (
    NUMBERS,
    START,
    Dialect,
    Row,
    as_csv,
    byte_places,
    count_byte,
    guess_decimal,
    is_number,
    is_regular,
    split_rows,
)
from rankwise.io.files import BadRows, Source, need

if TYPE_CHECKING:
    from pandas import DataFrame

# Stands for "::", which the fast parser does not know; no text holds it.
_UNIT = b"\x1f"
_BLOCK = 2**20
EXACT = 2**53
_LOOK = 200
_HEX = re.compile(rb"\b0[xX][0-9a-fA-F]")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
Array = NDArray[Any]

INTEGER, NUMBER, TEXT, ID = "integer", "number", "text", "id"
MAX_COLUMNS = 10_000
# No integer of so many digits, and no number of this size, is data.
_INTEGERS, _NUMBERS = 10**15, 1e308

_INTEGER = re.compile("-?[0-9]{1,99}")
_BLANK = re.compile(rb"(?:\r?\n)*+")
_ID = "^(0|-?[1-9][0-9]{0,14})$"


class RowError(ValueError):
    """A row that can't be read; ``start`` is the offset of its first byte."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def parse(text: bytes, dialect: Dialect, label: str, texts: Sequence[str] = ()) -> Any:
    """Return the rows of a text in UTF-8 as an Arrow table.

    Parameters
    ----------
    text : bytes
        The text; rows begin at ``dialect.start``, which is in line ``dialect.line``.
    dialect : Dialect
        With nothing left to guess.
    label : str
        What messages call the text.
    texts : sequence of str
        Columns that are text, whatever they hold; the types of others follow from their cells.

    Raises
    ------
    RowError
        With line and reason, if a row has another number of cells, or a quote is not closed.
    """
    pa = need("pyarrow")
    types = dict.fromkeys(texts, pa.string())
    table = parse_fast(text, dialect, types)
    if table is None:
        text = as_csv(_good_rows(text, dialect, label))
        dialect = Dialect(
            ",", dialect.decimal, columns=dialect.columns, quote=True, missing=dialect.missing
        )
        table = parse_regular(text, dialect, types)
    has_hex = _HEX.search(text, dialect.start, dialect.start + START) is not None
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if pa.types.is_time(column.type) or (has_hex and pa.types.is_integer(column.type)):
            column = _cells(text, dialect, name)
        if pa.types.is_string(column.type):
            column = _trimmed(column, dialect, infer=name not in texts)
        elif pa.types.is_floating(column.type):
            column = _exact(column, text, dialect, name)
        table = table.set_column(place, name, column)
    return table


def parse_fast(text: bytes, dialect: Dialect, types: dict[str, Any]) -> Any:
    """Return a text as a table; None if the literal reading must take it."""
    if is_regular(text, dialect):
        with suppress(need("pyarrow").ArrowInvalid):
            return parse_regular(text, dialect, types)
    return None


def parse_regular(text: bytes, dialect: Dialect, types: dict[str, Any], **options: Any) -> Any:
    """Parse a regular text by pyarrow; `pyarrow.ArrowInvalid` if a row or a cell does not fit.

    A text without line ends in cells is parsed faster. Whether there are some, the number of rows
    tells.
    """
    pa, reader = need("pyarrow"), need("pyarrow.csv")
    start, sep = dialect.start, dialect.sep or ","
    names = list(dialect.columns or ())
    if len(sep) > 1 and not dialect.quote and _only_pairs(text, start, sep.encode()):
        # a separator of one byte, with an empty cell between two cells
        options["include_columns"] = options.get("include_columns") or names
        names, sep = [part for name in names for part in (name, f"{name}{_UNIT!r}")][:-1], sep[0]
    elif len(sep) > 1:
        text, start, sep = text[start:].replace(sep.encode(), _UNIT), 0, _UNIT.decode()
    data = pa.py_buffer(text)[start:]
    if not text[start : start + _BLOCK].strip(b"\r\n"):
        wanted = options.get("include_columns") or names
        return pa.table({name: pa.array([], types.get(name, pa.null())) for name in wanted})
    conversion = reader.ConvertOptions(
        column_types=types,
        null_values=list(dialect.missing),
        strings_can_be_null=bool(dialect.missing),
        decimal_point=dialect.decimal or ".",
        **options,
    )

    def read(block: int, *, long_cells: bool) -> Any:
        reading = reader.ReadOptions(column_names=names, block_size=block)
        parsing = reader.ParseOptions(
            delimiter=sep, quote_char='"' if dialect.quote else False, newlines_in_values=long_cells
        )
        return reader.read_csv(pa.BufferReader(data), reading, parsing, conversion)

    quoted = bool(dialect.quote) and text.find(b'"', start) >= 0
    try:
        table = read(_BLOCK, long_cells=False)
        if not quoted or len(table) == count_byte(text, b"\n", start) + (not text.endswith(b"\n")):
            return table
        return read(_BLOCK, long_cells=True)
    except pa.ArrowInvalid:  # rows may be longer than a block
        if not _BLOCK < len(data) < 2**31 - 1:
            raise
        return read(len(data) + 1, long_cells=True)


def _only_pairs(text: bytes, start: int, pair: bytes) -> bool:
    """Return whether each of two equal bytes occurs in such pairs only."""
    return count_byte(text, pair[:1], start) == 2 * text.count(pair, start)


def _cells(text: bytes, dialect: Dialect, name: str) -> Any:
    """Return a column as text."""
    types = {name: need("pyarrow").string()}
    return parse_regular(text, dialect, types, include_columns=[name]).column(0)


def _good_rows(text: bytes, dialect: Dialect, label: str) -> Iterator[list[str]]:
    """Yield the cells of all rows; raise at the first bad one."""
    expected = len(dialect.columns or ())
    for row in split_rows(text, dialect, dialect.start, dialect.line):
        n = len(row.fields)
        if row.problem or n != expected:
            fields = "field" if n == 1 else "fields"
            problem = row.problem or f"{n} {fields}, expected {expected} as in the first line"
            raise RowError(f"{label}: line {row.line}: {problem}", row.start)
        yield row.fields


def _trimmed(column: Any, dialect: Dialect, *, infer: bool) -> Any:
    """Take the blanks around cells away, and look again for missing values and numbers."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    trimmed = pc.utf8_trim_whitespace(column)
    if not trimmed.equals(column):
        missing = pc.is_in(trimmed, value_set=pa.array(dialect.missing))
        column = pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)
    if not infer:
        return column
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    known = column.slice(0, _LOOK).drop_null().to_pylist()
    for mark in dict.fromkeys((dialect.decimal or ".", ".")):
        pattern = NUMBERS[mark]
        whole = f"^({pattern.pattern})$"
        if all(map(pattern.fullmatch, known)) and _all_match(column, whole):
            plain = pc.replace_substring(column, ",", ".") if mark == "," else column
            plain = pc.replace_substring_regex(plain, r"^\+", "")
            is_whole = _all_match(plain, "^-?[0-9]+$")
            return _integers(plain) if is_whole else plain.cast(pa.float64())
    return column


def _all_match(column: Any, pattern: str) -> bool:
    pc = need("pyarrow.compute")
    return bool(pc.all(pc.match_substring_regex(column, pattern)).as_py())


def _exact(column: Any, text: bytes, dialect: Dialect, name: str) -> Any:
    """Keep every digit of integers that 64 bits do not hold."""
    pc = need("pyarrow.compute")
    extremes = pc.min_max(column).as_py().values()
    if None in extremes or max(map(abs, extremes)) < 2.0**63:
        return column
    cells = pc.utf8_trim_whitespace(_cells(text, dialect, name))
    if not _all_match(cells, "^[+-]?[0-9]+$"):
        return column
    return _integers(cells)


def _integers(cells: Any) -> Any:
    """Return texts of digits as integers; those of over 76 digits stay texts."""
    pa = need("pyarrow")
    try:
        return cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return cells.cast(pa.decimal256(76)) if _all_match(cells, "^[+-]?[0-9]{1,76}$") else cells


def to_pandas(table: Any) -> "DataFrame":
    """Return an Arrow table as a frame; integers stay integers where a float would lose digits."""
    pa, pc, pd = need("pyarrow"), need("pyarrow.compute"), need("pandas")
    special: dict[str, Any] = {}
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_null(column.type):
            table = table.set_column(place, name, column.cast(pa.float64()))
        elif pa.types.is_decimal(column.type) and column.type.scale == 0:
            cells = [None if cell is None else int(cell) for cell in column.to_pylist()]
            special[name] = pd.array(cells, dtype=object)
        elif column.null_count and pa.types.is_boolean(column.type):
            special[name] = pd.BooleanDtype().__from_arrow__(column)
        elif column.null_count and pa.types.is_integer(column.type):
            largest = max(map(abs, pc.min_max(column).as_py().values()), default=0)
            if largest > EXACT:
                special[name] = pd.Int64Dtype().__from_arrow__(column)
    frame: DataFrame = table.to_pandas(date_as_object=False, split_blocks=True)
    return frame.assign(**special) if special else frame


def kind_of(column: Any) -> str:
    """Return what a column of an Arrow table holds; "" if all is missing."""
    pa = need("pyarrow")
    kinds = {
        "text": pa.types.is_string,
        "boolean": pa.types.is_boolean,
        "date": pa.types.is_temporal,
        "": pa.types.is_null,
    }
    return next((kind for kind, test in kinds.items() if test(column.type)), "number")


def wrong_cell(text: bytes, dialect: Dialect, label: str, kinds: Mapping[str, str]) -> RowError:
    """Return the error for the first cell that is not of its column's kind."""
    places = [(list(dialect.columns or ()).index(name), name) for name in kinds]
    for row in split_rows(text, dialect, dialect.start, dialect.line):
        for place, name in places:
            cell = row.fields[place].strip()
            if cell not in dialect.missing and not _KINDS[kinds[name]](cell, dialect):
                return RowError(
                    f"{label}: line {row.line}, column {name!r}: {shortened(cell)} is not a "
                    f"{kinds[name]}, as the cells before are",
                    row.start,
                )
    name = next(iter(kinds))
    return RowError(
        f"{label}: line {dialect.line} or after, column {name!r}: not a {kinds[name]}", 0
    )


def _is_number(cell: str, dialect: Dialect) -> bool:
    return is_number(cell, dialect.decimal or ".") or cell.lower().lstrip("+-") in _INFINITE


_INFINITE = {"inf", "infinity"}
_KINDS: dict[str, Callable[[str, Dialect], bool]] = {
    "number": _is_number,
    "boolean": lambda cell, _: cell.lower() in {"true", "false"},
    "date": lambda cell, _: _DATE.match(cell) is not None,
    "text": lambda *_: True,
}


class Column(NamedTuple):
    """A column: its kind, and what its numbers must satisfy, with words for the message.

    An ID is text; `read_columns` makes integers of a column of them if all are.
    """

    name: str
    kind: str
    holds: Callable[[Array], Array] | None = None
    expected: str = ""


def in_range(name: str, kind: str, low: float, high: float) -> Column:
    """Return a column of numbers from ``low`` to ``high``."""
    return Column(name, kind, lambda x: (x >= low) & (x <= high), f"{low:g} to {high:g}")


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
        layout.separator, columns=names, quote=layout.quote, comment="", missing=(),
        start=start, line=line, strict=True,
    )  # fmt: skip
    dialect = replace(dialect, decimal=guess_decimal(text, dialect))
    kinds = {INTEGER: pa.int64(), NUMBER: pa.float64()}
    types = {column.name: kinds.get(column.kind, pa.string()) for column in layout.columns}
    table = parse_fast(text, dialect, types)
    if table is None or not all(_is_inside(table.column(c.name), c.kind) for c in layout.columns):
        text, lines, problems = _checked_rows(text, dialect, layout, stop=bad.stop)
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


def _checked_rows(
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
        cells = zip(row.fields, layout.columns, strict=True)
        rows.append([_plain_cell(_with_point(cell, kind, layout), kind) for cell, kind in cells])
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
        if problem := _cell_problem(_with_point(cell, column, layout), column):
            return problem
    if n > len(names):
        return f"more than {len(names)} fields, expected {listed}"
    if n < len(names):
        word = "field" if n == 1 else "fields"
        return f"{n} {word} between {layout.separator!r}, expected {len(names)}: {listed}"
    return ""


def _with_point(cell: str, column: Column, layout: Layout) -> str:
    """Return a cell with a decimal point, if it is a number with a comma between semicolons."""
    is_comma = layout.separator == ";" and column.kind == NUMBER and is_number(cell, ",")
    return cell.replace(",", ".") if is_comma else cell


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
