"""Delimited text to Arrow tables: a fast parser, and the literal reading of what it can't read."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise._core.arguments import shortened
from rankwise.io.dialect import NUMBERS, START, Dialect, is_number
from rankwise.io.files import need
from rankwise.io.text_rows import as_csv, count_byte, is_regular, split_rows

if TYPE_CHECKING:
    from pandas import DataFrame

# Stands for "::", which the fast parser does not know; no text holds it.
_UNIT = b"\x1f"
_BLOCK = 2**20
EXACT = 2**53
_LOOK = 200
_HEX = re.compile(rb"\b0[xX][0-9a-fA-F]")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


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
    table = None
    if is_regular(text, dialect):
        try:
            table = _fast(text, dialect, texts)
        except pa.ArrowInvalid:
            table = None
    if table is None:
        text = as_csv(_good_rows(text, dialect, label))
        dialect = Dialect(
            ",", dialect.decimal, columns=dialect.columns, quote=True, missing=dialect.missing
        )
        table = _fast(text, dialect, texts)
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


def _fast(
    text: bytes,
    dialect: Dialect,
    texts: Sequence[str] = (),
    only: Sequence[str] | None = None,
) -> Any:
    """Parse a regular text by pyarrow, whose types follow from the cells."""
    pa = need("pyarrow")
    types = {name: pa.string() for name in texts}
    return parse_regular(text, dialect, types, include_columns=only)


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
    return _fast(text, dialect, [name], only=[name]).column(0)


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
