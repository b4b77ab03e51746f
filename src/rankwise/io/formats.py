"""Formats other than delimited text: Parquet, Arrow, Excel, JSON, JSON lines and svmlight."""

import json
import re
import warnings
from collections.abc import Iterator
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise._core.arguments import shortened
from rankwise.io.dialect import as_csv
from rankwise.io.files import (
    BadRows,
    Source,
    as_utf8,
    check_unpacked,
    damaged,
    guess_encoding,
    need,
)
from rankwise.io.svmlight import DENSE, Rules, check_dense, read_graded
from rankwise.io.text import EXACT, RowError, to_pandas

if TYPE_CHECKING:
    from pandas import DataFrame

FORMATS = ("csv", "json lines", "json", "svmlight", "parquet", "arrow", "excel")
KNOWN = "CSV, TSV, JSON, JSON lines, Parquet, Arrow, Excel and svmlight"
_MARKS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "excel",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "excel",
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SVMLIGHT = re.compile(rb"[0-9.+-]\S*[ \t]+(qid:[0-9]+|[0-9]+:[0-9.+-])")
# A sheet may state so many cells for each byte of its file.
_CELLS_PER_BYTE, _MOST_CELLS = 10, 2**24


def guess_format(start: bytes, label: str, encoding: str | None = None) -> str:
    """Return the format of a file by its first bytes."""
    known = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if known is not None:
        return known
    start = start.decode(encoding or guess_encoding(start, whole=False), "replace").encode()
    if not start.strip():
        raise ValueError(f"{label}: the file is empty")
    if is_binary(start):
        raise ValueError(f"{label}: a binary file of no known format; these are read: {KNOWN}")
    lines = start.removeprefix(b"\xef\xbb\xbf").splitlines()
    line = next((x.strip() for x in lines if x.strip() and not x.lstrip().startswith(b"#")), b"")
    if _SVMLIGHT.match(line):
        return "svmlight"
    if line.startswith(b"{"):
        return "json lines"
    return "json" if re.match(rb"\[\s*([{\]]|$)", line) else "csv"


def is_binary(start: bytes) -> bool:
    """Return whether bytes are neither UTF-8 nor text of one byte a letter."""
    return _CONTROL.search(start) is not None


def read_binary(source: Source, kind: str) -> "DataFrame":
    """Read a file of Parquet, Arrow or Excel."""
    with damaged(source.label, f"{kind.capitalize()} file"):
        return _BINARY[kind](source)


def _read_parquet(source: Source) -> "DataFrame":
    return need("pyarrow.parquet").read_table(BytesIO(source.raw)).to_pandas()


def _read_arrow(source: Source) -> "DataFrame":
    if source.raw.startswith(b"\xff\xff\xff\xff"):
        return need("pyarrow.ipc").open_stream(BytesIO(source.raw)).read_pandas()
    return need("pyarrow.feather").read_feather(BytesIO(source.raw))


def binary_frames(file: Any, label: str, kind: str, rows: int) -> Iterator["DataFrame"]:
    """Yield frames of a file of Parquet or Arrow, which is read a group of rows at a time."""
    pa, ipc, parquet = need("pyarrow"), need("pyarrow.ipc"), need("pyarrow.parquet")
    with damaged(label, f"{kind.capitalize()} file", (pa.ArrowException, OSError)):
        if kind == "parquet":
            batches = parquet.ParquetFile(file).iter_batches(rows)
        else:
            start = file.read(8)
            file.seek(8 if start.startswith(b"ARROW1") else 0)  # a stream is in such a file
            is_old = start.startswith(b"FEA1")
            feather = need("pyarrow.feather")
            batches = feather.read_table(file).to_batches() if is_old else ipc.open_stream(file)
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                table = pa.Table.from_batches([batch.slice(start, rows)])
                yield table.to_pandas().reset_index(drop=True)


def _read_excel(source: Source) -> "DataFrame":
    rows = [row for _, row in read_sheet(source)]
    if not rows:
        raise ValueError(f"{source.label}: the file is empty")
    names = [str(name).strip() if name is not None else "" for name in rows[0]]
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    width = max(map(len, rows))
    if width > len(names):
        raise ValueError(f"{source.label}: {len(names)} names in the first row of {width} columns")
    filled = [row + [None] * (width - len(row)) for row in rows[1:]]
    return need("pandas").DataFrame(filled, columns=names[:width]).infer_objects()


_BINARY = {"parquet": _read_parquet, "arrow": _read_arrow, "excel": _read_excel}


def read_sheet(source: Source) -> list[tuple[int, list[Any]]]:
    """Return the rows of the first sheet that are not empty, with their numbers from 1."""
    with damaged(source.label, "Excel file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(_sheet_rows(source))


def sheet_as_csv(source: Source) -> bytes:
    """Return the first sheet as CSV, a line for each row; rows may end in empty cells."""
    rows = dict(read_sheet(source))
    return as_csv(rows.get(number, []) for number in range(1, 1 + max(rows, default=0)))


def _sheet_rows(source: Source) -> Iterator[tuple[int, list[Any]]]:
    cells = _xlsx if source.raw.startswith(b"PK") else _xls
    total, most = 0, max(_MOST_CELLS, _CELLS_PER_BYTE * len(source.raw))
    for number, cell_row in enumerate(cells(source), 1):
        row = list(cell_row)
        while row and row[-1] in {None, ""}:
            row.pop()
        if not row:
            continue
        total += len(row)
        if total > most:
            raise ValueError(f"{source.label}:1: a sheet of more than {most:,} cells")
        yield number, row


def _xls(source: Source) -> Iterator[list[Any]]:
    xlrd = need("xlrd")
    book = xlrd.open_workbook(file_contents=source.raw, logfile=StringIO(), ragged_rows=True)
    sheet = book.sheet_by_index(0)
    for row in range(sheet.nrows):
        yield [
            xlrd.xldate_as_datetime(cell.value, book.datemode)
            if cell.ctype == xlrd.XL_CELL_DATE
            else cell.value
            for cell in sheet.row(row)
        ]


def _xlsx(source: Source) -> Iterator[tuple[Any, ...]]:
    check_unpacked(source)
    book = need("openpyxl").load_workbook(BytesIO(source.raw), read_only=True, data_only=True)
    sheet = book.worksheets[0]
    # else every row is filled up to the size that the file states, whatever is in it
    sheet.reset_dimensions()
    return sheet.iter_rows(values_only=True)


def read_json(source: Source, encoding: str | None = None) -> "DataFrame":
    """Read one list of JSON objects."""
    text, _ = as_utf8(source, encoding)
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source.label}: not JSON: {error}") from error
    odd = next((row for row in rows if not isinstance(row, dict)), None)
    if odd is not None or not rows:
        shown = "an empty list" if odd is None else shortened(odd)
        raise ValueError(f"{source.label}: {shown} where objects such as {{...}} are expected")
    return _frame_of(rows)


def _frame_of(rows: list[dict[str, Any]]) -> "DataFrame":
    """Return objects as rows; integers stay integers where a float would lose digits."""
    pd = need("pandas")
    frame: DataFrame = pd.DataFrame(rows)
    for name in frame.select_dtypes("float"):
        cells = [row.get(name) for row in rows]
        if all(cell is None or type(cell) is int for cell in cells):
            largest = frame[name].abs().max()
            kind = float if largest < EXACT else "Int64" if largest < 2.0**63 else object
            frame[name] = pd.array(cells, dtype=kind)
    return frame


def read_json_lines(text: bytes, label: str, line: int = 1) -> "DataFrame":
    """Return the objects of a text, one a line.

    pyarrow reads what is regular, the standard library the rest.
    """
    pa = need("pyarrow")
    reader = need("pyarrow.json")
    reading = reader.ReadOptions(block_size=min(2**31 - 1, max(2**22, len(text) // 8)))
    try:
        table = reader.read_json(pa.BufferReader(text), reading)
        table.validate(full=True)
        exact = not any(map(_may_lose_digits, table.columns))
        if exact and table.num_rows == text.count(b"\n") + (not text.endswith(b"\n")):
            return to_pandas(table)
    except pa.ArrowInvalid:
        pass
    rows, start = [], 0
    for number, content in enumerate(text.split(b"\n"), line):
        if content.strip():
            try:
                row = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise RowError(f"{label}: line {number}: not JSON lines: {error}", start) from error
            if not isinstance(row, dict):
                reason = f"{shortened(row)} is not an object, as in {{...}}"
                raise RowError(f"{label}: line {number}: {reason}", start)
            rows.append(row)
        start += len(content) + 1
    return _frame_of(rows)


def _may_lose_digits(column: Any) -> bool:
    """Return whether a column of numbers may hold integers that no float holds."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if not pa.types.is_floating(column.type):
        return False
    largest = pc.max(pc.abs(column)).as_py()
    return largest is not None and largest >= EXACT


def read_svmlight(raw: bytes, label: str) -> "DataFrame":
    """Read lines of ``grade qid:number feature:value ...``; features are named by their numbers."""
    source = Source(label, raw)
    grouped = re.search(rb"^[^#\n]*[ \t]qid:", raw, re.MULTILINE) is not None
    found = read_graded(source, Rules(DENSE, base=0, grouped=grouped), BadRows(source, "raise"))
    check_dense(found.X.shape, len(raw), label)
    X = found.X.toarray()
    first = int(X.shape[1] > 1 and not X[:, 0].any())  # features count from 1, unless there is a 0
    names = [str(j) for j in range(first, X.shape[1])]
    frame = need("pandas").DataFrame(X[:, first:], columns=names)
    whole = np.all(found.grades == np.floor(found.grades))
    frame.insert(0, "grade", found.grades.astype(np.int64) if whole else found.grades)
    if grouped:
        frame.insert(1, "query", found.qids)
    return frame
