"""A table as it comes: which file it is, and its rows."""

import csv
import gzip
import json
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from rankwise.comparison._large import LARGE, free_memory, write_sample
from rankwise.datasets import read_preflib
from rankwise.datasets.check import guess_format
from rankwise.io.files import check_regular, need, pandas, read_source, read_start

if TYPE_CHECKING:
    from pandas import DataFrame

# What a table takes in memory for each byte of its file, by what was seen.
_TEXT_RATIO, _BINARY_RATIO = 6, 8
_START = 2**16
_SEPARATORS = ",\t;|"
_READS = "CSV, TSV, Parquet, Arrow, JSON lines, Excel, LETOR, svmlight, PrefLib, MovieLens, Jester"
_RATINGS = {"user": "user", "item": "item", "rating": "rating"}
_QUERIES = {"target": "grade", "query": "query"}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class TableFile(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    what : str
        The format in words, such as ``"csv"``.
    frame : pandas.DataFrame or None
        The rows; None for rankings.
    roles : dict of str to str
        Columns whose part the format itself tells, by the names of `recognise`'s arguments.
    rankings : list or None
        Orders, best first, ties as tuples; of elections only.
    counts : ndarray or None
        How often each of them was cast.
    whole : int or None
        About how many rows the file has, if these are a part of them.
    """

    what: str
    frame: "DataFrame | None" = None
    roles: dict[str, str] = {}  # noqa: RUF012
    rankings: list[Any] | None = None
    counts: Any = None
    whole: int | None = None


def read_table(path: str | Path, *, sample: bool = False, seed: int = 0) -> TableFile:
    r"""Read a table, whatever it is written in.

    Parameters
    ----------
    path : path or "-"
        CSV or TSV (also with semicolons or bars), Parquet, Arrow or Feather, JSON lines, Excel,
        LETOR or svmlight, PrefLib, and the files of MovieLens, Jester and Book-Crossing; each also
        within gzip. ``"-"`` is the standard input.
    sample : bool, default=False
        Whether some 64 MB will do of lines that take more than 1 GB, or more memory than is free:
        whole blocks of them, from places all over the file.
    seed : int, default=0
        Of these places.

    Returns
    -------
    TableFile

    Raises
    ------
    ValueError
        With a reason: an empty or binary file, rows of unequal length, an encoding that is not
        known, a file too large for the memory.
    OSError
        A file that is not there, or may not be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.comparison import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wine.csv"
    ...     _ = path.write_text("grade;acid\n3;7.4\n4;11.2\n")
    ...     table = read_table(path)
    >>> table.what, list(table.frame)
    ("csv with ';'", ['grade', 'acid'])
    """
    if str(path) != "-":
        return _read_part(Path(path), seed) if sample else _read(Path(path))
    if sys.stdin.isatty():
        raise ValueError("- is the standard input, which is a terminal: pipe a table into it")
    with TemporaryDirectory() as folder:
        # the readers want a file they can look into twice
        spooled = Path(folder) / "input"
        with spooled.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        try:
            return _read_part(spooled, seed) if sample else _read(spooled)
        except ValueError as error:
            raise ValueError(str(error).replace(str(spooled), "standard input")) from error


def _read_part(path: Path, seed: int) -> TableFile:
    """Read a file, or lines from all over it if it is too large."""
    if not path.is_file():
        return _read(path)
    with path.open("rb") as file:
        start = file.read(_START)
    if not _is_large(path) or not _is_lines(path, start):
        return _read(path)
    with TemporaryDirectory() as folder:
        part = Path(folder) / path.name  # some formats are known by their names
        with part.open("wb") as out:
            try:
                lines, whole = write_sample(path, out, seed)
            except ValueError as error:
                raise ValueError(f"{path}: too large to be read whole, and {error}") from error
        try:
            return _read(part)._replace(whole=whole)
        except ValueError as error:
            said = str(error).replace(str(part), f"{lines:,} lines from all over {path}")
            raise ValueError(said) from error


def _is_large(path: Path) -> bool:
    size, room = path.stat().st_size, free_memory()
    least = 2**27  # what fits into twice the sample is read
    return size > LARGE or (size > least and room is not None and _TEXT_RATIO * size > room)


def _is_lines(path: Path, start: bytes) -> bool:
    """Whether a part of the lines of a text is a table too."""
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    packed = _packed_reader(start) is not None or start.startswith((b"\x1f\x8b", b"PK"))
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff")) or _CONTROL.search(start) is not None
    known = guess_format(path)
    votes = known is not None and known.name in {"PrefLib", "cystic fibrosis"}
    return not (packed or wide or votes or text.startswith(b"["))


def _read(path: Path) -> TableFile:
    path.stat()
    if path.is_dir():
        raise ValueError(f"{path}: a folder, where a file is wanted: name one of its files")
    check_regular(path)
    try:
        start = read_start(path, _START)
    except ValueError as error:
        raise ValueError(f"{path}: {_after_label(error)}") from error
    if not start.strip():
        raise ValueError(f"{path}: the file is empty")
    if (packed := _packed_reader(start)) is not None:
        _check_memory(path, _BINARY_RATIO)
        return _guarded(path, packed[0], packed[1])
    known = guess_format(path)
    if known is None and start.startswith(b"PK"):
        if _is_other_archive(path):
            raise ValueError(
                f"{path}: an archive, and no Excel file in it; is it a model? A table is wanted"
            )
        return _guarded(path, "Excel", lambda data: pandas().read_excel(data))
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path}: UTF-16 text; save it as UTF-8")
    if known is None and _CONTROL.search(start):
        raise ValueError(f"{path}: a binary file of no known format; these are read: {_READS}")
    _check_memory(path, _TEXT_RATIO)
    if known is not None and known.name != "ordinal table":
        try:
            return _known(path, known.name, known.read)
        except ValueError:
            # a name such as ratings.csv promises a form that the table need not have
            if not path.name.lower().removesuffix(".gz").endswith(".csv"):
                raise
    line = next((line for line in start.splitlines() if line.strip()), b"")
    if re.match(rb"[0-9.+-]+[ \t]+[0-9]+:", line):
        return _svmlight(path)
    if line.lstrip()[:1] in (b"{", b"["):
        return _json(path, lines=line.lstrip().startswith(b"{"))
    return _delimited(path, start)


def _is_other_archive(path: Path) -> bool:
    """Whether a whole zip archive has no workbook in it; what is damaged may have had one."""
    try:
        with ZipFile(path) as archive:
            return not any(name.startswith("xl/") for name in archive.namelist())
    except (BadZipFile, ValueError, NotImplementedError):
        return False


def _packed_reader(start: bytes) -> tuple[str, Callable[[BytesIO], Any]] | None:
    """Return the name and the reader of a format by its first bytes."""
    if start.startswith(b"PAR1"):
        return "Parquet", lambda data: need("pyarrow.parquet").read_table(data).to_pandas()
    if start.startswith((b"ARROW1", b"FEA1")):
        return "Arrow", lambda data: need("pyarrow.feather").read_feather(data)
    if start.startswith(b"\xff\xff\xff\xff"):
        return "Arrow stream", lambda data: need("pyarrow.ipc").open_stream(data).read_pandas()
    return None


def _guarded(path: Path, what: str, read: Callable[[BytesIO], Any]) -> TableFile:
    raw = path.read_bytes()
    data = BytesIO(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    try:
        frame = read(data)
    # pyarrow and openpyxl end in a dozen exceptions on a damaged file, zlib's among them
    except Exception as error:
        if isinstance(error, ImportError | MemoryError):
            raise
        raise ValueError(f"{path}: a damaged {what} file: {error}") from error
    return _checked(path, what, frame)


def _checked(path: Path, what: str, frame: "DataFrame", **roles: str) -> TableFile:
    """Refuse a frame without rows, or with two columns of one name; name the columns by texts."""
    frame.columns = [str(name).strip() for name in frame.columns]
    _check_twice(path, list(frame.columns))
    if not len(frame) or not len(frame.columns):
        raise ValueError(f"{path}: a header and no rows")
    return TableFile(what, frame, roles)


def _check_twice(path: Path, names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"{path}: two columns are named {twice!r}: rename one of them")


def _known(path: Path, name: str, read: Callable[..., Any]) -> TableFile:
    """Read a file by a reader of `rankwise.datasets`."""
    if name == "PrefLib":
        orders, counts = read_preflib(path, return_counts=True)
        return TableFile(name, rankings=orders, counts=counts)
    found = read(path)
    if name in {"LETOR", "LightGBM"}:
        frame = pandas().DataFrame(found.X, columns=found.names)
        frame.insert(0, "grade", found.y)
        frame.insert(1, "query", found.qid)
        return TableFile(name, frame, dict(_QUERIES))
    if name == "cystic fibrosis":
        raise ValueError(f"{path}: a collection of documents, not a table")
    ratings = set(_RATINGS) <= set(found.columns)
    return _checked(path, name, found, **(_RATINGS if ratings else {}))


def _svmlight(path: Path) -> TableFile:
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415

    try:
        X, y = load_svmlight_file(BytesIO(read_source(path).raw))
    except ValueError as error:
        raise ValueError(f"{path}: not svmlight as its first line is: {error}") from error
    if X.shape[1] > 10_000:
        raise ValueError(f"{path}: {X.shape[1]:,} columns, wanted at most 10,000 for a comparison")
    frame = pandas().DataFrame(X.toarray(), columns=[str(j + 1) for j in range(X.shape[1])])
    frame.insert(0, "grade", y.astype(int) if np.all(y == np.floor(y)) else y)
    return TableFile("svmlight", frame, {"target": "grade"})


def _json(path: Path, *, lines: bool) -> TableFile:
    raw = read_source(path).raw
    try:
        frame = pandas().read_json(BytesIO(raw), lines=lines)
    except (ValueError, AttributeError) as error:  # the latter for rows that are no objects
        raise ValueError(f"{path}:{_bad_json_line(raw)}: not JSON lines: {error}") from error
    nested = [
        name
        for name in frame.columns
        if len(frame) and isinstance(frame[name].iloc[0], dict | list)
    ]
    if nested:
        raise ValueError(f"{path}: the values of {nested[0]!r} are lists or objects, not numbers")
    return _checked(path, "JSON lines" if lines else "JSON", frame)


def _bad_json_line(raw: bytes) -> int:
    for number, line in enumerate(raw.splitlines(), 1):
        try:
            json.loads(line or b"0")
        except ValueError:
            return number
    return 1


def _delimited(path: Path, start: bytes) -> TableFile:
    """Read a text with separators: which one, and whether it has a header, the first line tells."""
    raw = read_source(path).raw
    try:
        raw.decode("utf-8")
        encoding = "utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "utf-8"
    except UnicodeDecodeError:
        encoding = "latin-1"
    line = next(line for line in start.decode(encoding, "replace").splitlines() if line.strip())
    bare = re.sub('"[^"]*"', "", line)
    separator = max(_SEPARATORS, key=bare.count)
    fields = next(csv.reader([line], delimiter=separator))
    headless = all(_NUMBER.fullmatch(field.strip()) for field in fields)
    names = [str(j + 1) for j in range(len(fields))] if headless else None
    # pandas would number them, and a second target would be learned from
    _check_twice(path, [] if headless else [field.strip() for field in fields if field.strip()])
    if b'"' not in raw:
        _check_lengths(path, raw, separator.encode(), len(fields))
    pd = pandas()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                BytesIO(raw),
                sep=separator,
                encoding=encoding,
                header=None if headless else 0,
                names=names,
                index_col=False,
                low_memory=False,
                skipinitialspace=True,
            )
    except (ValueError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ValueError(f"{path}: rows of unequal length, or a quote not closed: {reason}") from (
            error
        )
    what = {",": "csv", "\t": "tsv"}.get(separator, f"csv with {separator!r}")
    if headless:
        what += " without a header (columns are named by their numbers)"
    if encoding == "latin-1":
        what += " in Latin-1"
    return _checked(path, what, frame)


def _check_lengths(path: Path, raw: bytes, separator: bytes, width: int) -> None:
    """Refuse rows of unequal length in a file without quotes."""
    lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    if raw.count(separator) == lines * (width - 1):
        return
    for number, line in enumerate(raw.splitlines(), 1):
        found = line.count(separator) + 1
        if line.strip() and found != width:
            raise ValueError(f"{path}:{number}: {found} fields, wanted {width} as in the first row")


def _check_memory(path: Path, ratio: int) -> None:
    """Refuse a file that would not fit into what memory is free, and say what would do."""
    room = free_memory()
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(2) == b"\x1f\x8b":
            file.seek(-4, 2)
            size = max(3 * size, int.from_bytes(file.read(4), "little"))
    if room is not None and ratio * size > room:
        raise ValueError(
            f"{path}: a table of {size / 1e9:.1f} GB takes about {ratio * size / 1e9:.0f} GB of "
            f"memory, and {room / 1e9:.0f} GB are free: take a part of the rows, or learn from it "
            "row by row with rankwise stream"
        )


def _after_label(error: ValueError) -> str:
    return str(error).partition(":1: ")[2] or str(error)
