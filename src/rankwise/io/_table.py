"""Read and write tables: files of every usual format, whole or in frames of some rows."""

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from string import punctuation
from typing import TYPE_CHECKING, Any, NamedTuple

from rankwise._core.arguments import check_flag, check_text, check_whole, check_word, shortened
from rankwise._core.files import replacing
from rankwise.io._pieces import Lines, Pieces, opened
from rankwise.io.dialect import MISSING, START, Dialect, check_names, guess_dialect
from rankwise.io.files import (
    Source,
    as_utf8,
    check_encoding,
    check_regular,
    compression_of,
    damaged,
    need,
    read_source,
    unpack,
    unpacking,
)
from rankwise.io.formats import (
    FORMATS,
    binary_frames,
    guess_format,
    read_binary,
    read_json,
    read_json_lines,
    read_svmlight,
)
from rankwise.io.text import RowError, kind_of, parse, to_pandas, wrong_cell

if TYPE_CHECKING:
    from pandas import DataFrame

LINES = {"csv", "json lines", "svmlight"}


class Request(NamedTuple):
    """The properties that a caller asks for; None: guess it."""

    format: str | None
    encoding: str | None
    dialect: Dialect


def read_table(
    path: Any,
    *,
    format: str | None = None,  # noqa: A002
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    comment: str | None = None,
    missing: Sequence[str] | None = None,
) -> "DataFrame":
    r"""Read a table, whatever it is written in.

    Parameters
    ----------
    path : path, "-" or open file
        A file of CSV, TSV or another delimited text, JSON, JSON lines, Parquet, Arrow, Excel or
        svmlight (LETOR), also within gzip, xz, zstd, or alone in a zip archive. ``"-"`` is the
        standard input.
    format : {"csv", "json lines", "json", "svmlight", "parquet", "arrow", "excel"}, default=None
        By default what the first bytes tell. ``"csv"`` is all delimited text.
    sep : str, default=None
        Between cells: one character or ``"::"``. By default that of comma, tab, semicolon, bar and
        ``"::"`` that cuts the first lines into most cells, as many in each line.
    decimal : {".", ","}, default=None
        The decimal mark. By default a point, or a comma where semicolons separate and it makes a
        column numeric.
    encoding : str, default=None
        By default that of a byte order mark (UTF-8, UTF-16), else UTF-8 if the bytes are valid,
        else Latin-1.
    header : bool, default=None
        Whether the first line names the columns. By default it does unless all of its cells are
        numbers; then columns are named ``"1"``, ``"2"``, ...
    columns : sequence of str, default=None
        Names of all columns, instead of the header's.
    comment : str, default=None
        What begins a line that is passed over, "" for nothing. By default ``"#"`` if the text
        begins with such a line.
    missing : sequence of str, default=None
        Cells that hold no value. By default an empty cell, ``NA``, ``nan``, ``null`` and the others
        that pandas knows.

    Returns
    -------
    pandas.DataFrame
        Numbers, booleans (``true`` and ``false``), dates (ISO 8601) and strings. Integers keep all
        their digits. Blanks around a cell are dropped. ``frame.attrs["source"]`` is a dict
        of what was read and guessed; `describe` puts it into a sentence.

    Raises
    ------
    ValueError
        With file, line and reason: rows of unequal length, a quote that is not closed, two columns
        of one name, a binary or damaged file, an archive that unpacks to far too much.
    OSError
        The file does not exist, or may not be read.
    ImportError
        The extra ``data`` is not installed.

    See Also
    --------
    scan_table : Read in frames of some rows, in constant memory.

    Examples
    --------
    >>> from io import StringIO
    >>> from rankwise.io import describe, read_table
    >>> frame = read_table(StringIO("grade;acid\n3;7,4\n4;11,2\n"))
    >>> frame
       grade  acid
    0      3   7.4
    1      4  11.2
    >>> describe(frame)
    "Read 'open file': 2 rows, ';'-separated, decimal comma"
    """
    need("pandas")
    asked = _request(format, sep, decimal, encoding, header, columns, comment, missing)
    source = _load(path)
    kind = asked.format or guess_format(source.raw[:START], source.label, asked.encoding)
    notes = _notes(source.label, kind, source.compression)
    if kind in LINES:
        text, notes["encoding"] = as_utf8(source, asked.encoding)
        if b"\n" not in text and b"\r" in text:
            text = text.replace(b"\r", b"\n")
        if not text[:START].strip() and not text.strip():
            raise ValueError(f"{source.label}: the file is empty")
        frame = _read_lines(text, source.label, kind, asked.dialect, notes)
    else:
        frame = read_json(source, asked.encoding) if kind == "json" else read_binary(source, kind)
    return _finished(frame, notes, before=0)


def scan_table(
    path: Any,
    *,
    rows: int = 10_000,
    format: str | None = None,  # noqa: A002
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    comment: str | None = None,
    missing: Sequence[str] | None = None,
) -> Iterator["DataFrame"]:
    r"""Read a table in frames of some rows, in memory that does not grow.

    The first rows decide what is guessed. An input that is not a file, such as a pipe, gives a
    frame of the complete rows as soon as some have arrived.

    Parameters
    ----------
    path : path, "-" or open file
        As in `read_table`; also a pipe. JSON that is not JSON lines, and Excel, are read whole.
    rows : int, default=10000
        The most rows of a frame.
    format, sep, decimal, encoding, header, columns, comment, missing
        As in `read_table`.

    Yields
    ------
    pandas.DataFrame
        Its index goes on from frame to frame. ``frame.attrs["source"]`` is as that of `read_table`,
        and ``rows_before`` in it counts the rows of the frames before.

    Raises
    ------
    ValueError
        As `read_table`; also for a cell of another type than the first rows have in its column,
        such as a string among numbers, with its line. The rows before it are yielded first.

    Examples
    --------
    >>> from io import StringIO
    >>> from rankwise.io import scan_table
    >>> for frame in scan_table(StringIO("a,b\n1,x\n2,y\n3,z\n"), rows=2):
    ...     print(frame.attrs["source"]["rows_before"], frame["a"].tolist())
    0 [1, 2]
    2 [3]
    """
    need("pandas")
    check_whole(rows, "rows")
    if rows < 1:
        raise ValueError(f"rows={rows} is invalid: expected a positive integer")
    asked = _request(format, sep, decimal, encoding, header, columns, comment, missing)
    return _scan(path, rows, asked)


def describe(frame: "DataFrame", *, brief: bool = False) -> str:
    r"""Return a sentence about what `read_table` read and guessed.

    Parameters
    ----------
    frame : pandas.DataFrame
        A result of `read_table` or `scan_table`.
    brief : bool, default=False
        Whether to leave out the file and the number of rows.

    Examples
    --------
    >>> from io import StringIO
    >>> from rankwise.io import describe, read_table
    >>> describe(read_table(StringIO("1,2\n3,4\n")))
    "Read 'open file': 2 rows, ','-separated, no header: columns are named by their numbers"
    """
    check_flag(brief, "brief")
    source = getattr(frame, "attrs", {}).get("source")
    if source is None:
        raise ValueError(
            f"frame={shortened(frame)} has no attrs['source']: expected a result of read_table or "
            "scan_table"
        )
    sep, encoding, compression = (source[key] for key in ("sep", "encoding", "compression"))
    parts = [
        f"{sep!r}-separated".replace("'\\t'", "tab") if sep else source["format"],
        "decimal comma" if source["decimal"] == "," else "",
        "no header: columns are named by their numbers" if source["header"] is False else "",
        encoding.capitalize().replace("Utf", "UTF") if encoding not in {None, "utf-8"} else "",
        f"packed by {compression}" if compression else "",
        *source["notes"],
    ]
    words = ", ".join(filter(None, parts))
    n = source["rows"]
    return words if brief else f"Read {source['path']!r}: {n:,} row{'s' * (n != 1)}, {words}"


def write_table(frame: "DataFrame", path: "str | os.PathLike[str]") -> None:
    """Write a frame to a file, in the format that the end of its name tells.

    The file is complete or not there: it gets its name when it is written. A device or a pipe is
    written into.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows; its index is not written.
    path : path
        A name that ends in ``.csv``, ``.tsv``, ``.txt`` (tabs), ``.json``, ``.jsonl``,
        ``.parquet``, ``.arrow``, ``.feather`` or ``.xlsx``; ``.gz``, ``.xz``, ``.zst`` or ``.zip``
        after a text's ending compresses it. Any other name is CSV.

    Raises
    ------
    ValueError
        The frame is not a data frame, or the path leads to a directory.
    OSError
        The file can't be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from rankwise.io import read_table, write_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.parquet"
    ...     write_table(pd.DataFrame({"a": [1, 2]}), path)
    ...     read_table(path)["a"].tolist()
    [1, 2]
    """
    pd = need("pandas")
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"frame={type(frame).__name__} is invalid: expected a pandas.DataFrame")
    path = Path(path)
    *_, before, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    packing = {".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}.get(last)
    ending = before if packing else last
    with ExitStack() as stack:
        out: Any = stack.enter_context(stack.enter_context(replacing(path)).open("wb"))
        if packing == "zstd":  # of which pandas needs another package
            out = stack.enter_context(need("pyarrow").CompressedOutputStream(out, packing))
            packing = None
        if ending == ".parquet":
            frame.to_parquet(out, index=False)
        elif ending in {".arrow", ".feather"}:
            frame.reset_index(drop=True).to_feather(out)
        elif ending == ".xlsx":
            frame.to_excel(out, index=False, engine="openpyxl")
        elif ending in {".json", ".jsonl"}:
            lines = ending == ".jsonl"
            frame.to_json(
                out, orient="records", lines=lines, compression=packing, force_ascii=False,
                date_format="iso", double_precision=15,
            )  # fmt: skip
        else:
            sep = "\t" if ending in {".tsv", ".txt"} else ","
            frame.to_csv(out, index=False, sep=sep, compression=packing)


def _request(
    kind: str | None,
    sep: str | None,
    decimal: str | None,
    encoding: str | None,
    header: bool | None,
    columns: Sequence[str] | None,
    comment: str | None,
    missing: Sequence[str] | None,
) -> Request:
    """Check all arguments."""
    if kind is not None:
        check_word(kind, "format", FORMATS)
    if decimal is not None:
        check_word(decimal, "decimal", (".", ","))
    if header is not None:
        check_flag(header, "header")
    if sep is not None:
        check_text(sep, "sep")
    if sep is not None and sep != "::" and (sep not in {" ", "\t", *punctuation} or sep in '".+-'):
        raise ValueError(
            f"sep={sep!r} is invalid: expected '::' or one character that is not a letter, digit, "
            "quote, sign, point or control character"
        )
    if decimal is not None and decimal == sep:
        raise ValueError(f"decimal={decimal!r} is invalid: it is also the separator")
    check_encoding(encoding)
    if comment is not None and not isinstance(comment, str):
        raise ValueError(f"comment={shortened(comment)} is invalid: expected a str")
    names = _texts(columns, "columns")
    if names is not None and len(set(names)) < len(names):
        raise ValueError(f"columns={shortened(list(names))} is invalid: expected names, each once")
    words = MISSING if missing is None else ("", *(_texts(missing, "missing") or ()))
    return Request(
        kind,
        encoding,
        Dialect(sep, decimal, header, names, comment, missing=words),
    )


def _texts(values: Sequence[str] | None, name: str) -> tuple[str, ...] | None:
    if values is None:
        return None
    found = tuple(values)
    if isinstance(values, str) or not all(isinstance(value, str) for value in found):
        raise ValueError(f"{name}={shortened(values)} is invalid: expected a sequence of str")
    return found


def _load(path: Any) -> Source:
    """Return all of a file, unpacked."""
    if hasattr(path, "read") or str(path) == "-":
        file, label = opened(path)
        content = file.read()
        return unpack(label, content.encode() if isinstance(content, str) else content)
    return read_source(path)._replace(label=str(path))


def _notes(label: str, kind: str, compression: str | None) -> dict[str, Any]:
    return {
        "path": label,
        "format": kind,
        "compression": compression,
        "rows": 0,
        "rows_before": 0,
        "sep": None,
        "decimal": None,
        "encoding": None,
        "header": None,
        "notes": [],
    }


def _read_lines(
    text: bytes, label: str, kind: str, asked: Dialect, notes: dict[str, Any]
) -> "DataFrame":
    """Read a text of lines, and note what was guessed."""
    if kind == "svmlight":
        return read_svmlight(text, label)
    if kind == "json lines":
        return read_json_lines(text, label)
    dialect = guess_dialect(text, label, asked)
    _note_dialect(notes, dialect)
    return to_pandas(parse(text, dialect, label))


def _note_dialect(notes: dict[str, Any], dialect: Dialect) -> None:
    notes.update(sep=dialect.sep, decimal=dialect.decimal, header=dialect.header)
    if dialect.comment:
        notes["notes"] = [f"without lines that begin with {dialect.comment!r}"]


def _finished(frame: "DataFrame", notes: dict[str, Any], before: int) -> "DataFrame":
    """Name the columns by strings, and attach what is known of the source."""
    names = [str(name).strip() for name in frame.columns]
    check_names(notes["path"], names)
    if names != list(frame.columns):
        frame.columns = names
    if not len(frame.columns) or (not len(frame) and not before):
        raise ValueError(f"{notes['path']}: a header and no rows")
    if before:
        frame.index = need("pandas").RangeIndex(before, before + len(frame))
    frame.attrs["source"] = {**notes, "rows": len(frame), "rows_before": before}
    return frame


def _scan(path: Any, rows: int, asked: Request) -> Iterator["DataFrame"]:
    if hasattr(path, "read") or str(path) == "-":
        yield from _scan_file(*opened(path), rows, asked)
        return
    path = Path(path)
    if path.is_dir() or path.is_block_device() or path.is_socket():
        check_regular(path)
    with path.open("rb") as file:
        yield from _scan_file(file, str(path), rows, asked)


def _scan_file(file: Any, label: str, rows: int, asked: Request) -> Iterator["DataFrame"]:
    pieces = Pieces(file)
    start = pieces.look()
    compression = compression_of(start)
    if compression == "zip":
        source = unpack(label, pieces.rest())
        compression = source.compression
        pieces = Pieces(BytesIO(source.raw))
    elif compression is not None:
        pieces = Pieces(unpacking(pieces, compression), live=False)
    notes = _notes(label, "", compression)
    before = 0
    errors = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
    with damaged(label, "archive", errors):
        for frame in _frames(pieces, label, rows, asked, notes):
            yield _finished(frame, notes, before)
            before += len(frame)
    if not before:
        raise ValueError(f"{label}: a header and no rows")


def _frames(
    pieces: Pieces, label: str, rows: int, asked: Request, notes: dict[str, Any]
) -> Iterator["DataFrame"]:
    kind = notes["format"] = asked.format or guess_format(
        pieces.look()[:START], label, asked.encoding
    )
    if kind in LINES:
        lines = Lines(pieces, label, asked.encoding)
        notes["encoding"] = lines.encoding
        if kind == "csv":
            yield from _scan_text(lines, rows, asked.dialect, notes)
            return
        scan = _scan_json if kind == "json lines" else _scan_svmlight
        yield from scan(lines, rows)
    elif kind in {"parquet", "arrow"}:
        yield from binary_frames(pieces.whole(), label, kind, rows)
    else:
        source = Source(label, pieces.rest())
        frame = read_json(source, asked.encoding) if kind == "json" else read_binary(source, kind)
        for start in range(0, len(frame), rows):
            yield frame.iloc[start : start + rows].reset_index(drop=True)


def _scan_text(
    lines: Lines, rows: int, asked: Dialect, notes: dict[str, Any]
) -> Iterator["DataFrame"]:
    dialect = guess_dialect(lines.look(), lines.label, asked)
    _note_dialect(notes, dialect)
    lines.skip(dialect.start)
    kinds: dict[str, str] = {}
    for text, line in lines.chunks(rows, dialect):
        dialect = replace(dialect, start=0, line=line)
        problem = None
        try:
            table = parse(text, dialect, lines.label, [n for n in kinds if kinds[n] == "text"])
            wrong = [
                name
                for name, column in zip(table.column_names, table.columns, strict=True)
                if kind_of(column) not in {"", kinds.setdefault(name, "") or kind_of(column)}
            ]
            if wrong:
                raise wrong_cell(text, dialect, lines.label, {name: kinds[name] for name in wrong})
        except RowError as error:
            problem = error
            table = parse(text[: error.start], dialect, lines.label)
        kinds |= {
            name: kind_of(column)
            for name, column in zip(table.column_names, table.columns, strict=True)
            if not kinds.get(name)
        }
        if table.num_rows:
            yield to_pandas(table)
        if problem is not None:
            raise problem


def _scan_json(lines: Lines, rows: int) -> Iterator["DataFrame"]:
    names: list[str] = []
    kinds: dict[str, str] = {}
    for text, line in lines.chunks(rows):
        problem = None
        try:
            frame = read_json_lines(text, lines.label, line)
        except RowError as error:
            problem = error
            frame = read_json_lines(text[: error.start], lines.label, line)
        names = names or list(frame.columns)
        frame = frame.reindex(columns=names)
        for name in names:
            kind = _kind_of_values(frame[name])
            expected = kinds.setdefault(name, kind) if kind else ""
            if kind != expected and not expected.startswith("mixed"):
                known = (_kind_of_values(frame[name][[row]]) for row in frame.index)
                row = next(row for row, found in enumerate(known) if found not in {"", expected})
                numbers = [i for i, row in enumerate(text.split(b"\n"), line) if row.strip()]
                reason = f"{shortened(frame[name][row])} is not a {expected}"
                problem = RowError(
                    f"{lines.label}: line {numbers[row]}, column {name!r}: {reason}", row
                )
                frame = frame[:row]
        if len(frame):
            yield frame
        if problem is not None:
            raise problem


def _kind_of_values(column: Any) -> str:
    if column.isna().all():
        return ""
    kind = need("pandas").api.types.infer_dtype(column, skipna=True)
    numbers = {"integer", "floating", "mixed-integer-float", "decimal"}
    return "number" if kind in numbers else str(kind)


def _scan_svmlight(lines: Lines, rows: int) -> Iterator["DataFrame"]:
    names: list[str] = []
    for text, line in lines.chunks(rows):
        frame = read_svmlight(text, lines.label)
        names = names or list(frame.columns)
        if more := [name for name in frame.columns if name not in names]:
            raise ValueError(
                f"{lines.label}: from line {line} on there is a feature {more[-1]}, and the first "
                f"{rows:,} rows end with {names[-1]}: read more rows at once"
            )
        yield frame.reindex(columns=names, fill_value=0.0)
