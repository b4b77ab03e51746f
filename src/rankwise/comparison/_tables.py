"""A table in any format: rows, or rankings, and the columns whose part the format tells."""

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from rankwise import io
from rankwise.comparison._columns import HASHED, look_at_columns
from rankwise.comparison._large import LARGE, free_memory, write_sample
from rankwise.datasets import read_preflib
from rankwise.datasets.check import guess_format
from rankwise.io.files import check_regular, compression_of, pandas, read_start
from rankwise.io.formats import guess_format as io_format
from rankwise.io.formats import is_binary

if TYPE_CHECKING:
    from pandas import DataFrame

# A fit holds about ten floats for each cell, besides the text; docs/decisions.md has measurements.
_CELL_BYTES, _BINARY_RATIO = 80, 8
_MARKS = (b",", b"\t", b";", b"|", b":", b"\n")
_START = 2**16
_RATINGS = {"user": "user", "item": "item", "rating": "rating"}
_QUERIES = {"target": "grade", "query": "query"}


class TableFile(NamedTuple):
    """The content of a file.

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


def read_table(
    path: str | Path, *, sample: bool = False, seed: int = 0, **options: Any
) -> TableFile:
    r"""Read a table, whatever it is written in.

    Parameters
    ----------
    path : path or "-"
        A file that `rankwise.io.read_table` reads, an election of PrefLib, or a file of MovieLens,
        Jester or Book-Crossing. ``"-"`` is the standard input.
    sample : bool, default=False
        Whether some 64 MB will do of lines that take more than 1 GB, or more memory than is free:
        whole blocks of them, from places all over the file.
    seed : int, default=0
        Of these places.
    **options
        What is not to be guessed, as arguments of `rankwise.io.read_table`.

    Returns
    -------
    TableFile

    Raises
    ------
    ValueError
        With a reason: an empty or binary file, rows of unequal length, an encoding that is not
        known, a file too large for the memory.
    OSError
        The file does not exist, or may not be read.

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
    ("';'-separated", ['grade', 'acid'])
    """
    read = _read_part if sample else _read
    if str(path) != "-":
        return read(Path(path), seed, options)
    if sys.stdin.isatty():
        raise ValueError("- is the standard input, which is a terminal: pipe a table into it")
    with TemporaryDirectory() as folder:
        # the readers want a file they can look into twice
        spooled = Path(folder) / "input"
        with spooled.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        try:
            return read(spooled, seed, options)
        except ValueError as error:
            raise ValueError(str(error).replace(str(spooled), "standard input")) from error


def _read_part(path: Path, seed: int, options: dict[str, Any]) -> TableFile:
    """Read a file, or lines from all over it if it is too large."""
    if not path.is_file() or not _is_large(path) or not _is_lines(path):
        return _read(path, seed, options)
    with TemporaryDirectory() as folder:
        part = Path(folder) / path.name  # some formats are known by their names
        with part.open("wb") as out:
            try:
                lines, whole = write_sample(path, out, seed)
            except ValueError as error:
                raise ValueError(f"{path}: too large to be read whole, and {error}") from error
        try:
            return _read(part, seed, options)._replace(whole=whole)
        except ValueError as error:
            reason = str(error).replace(str(part), f"{lines:,} lines from all over {path}")
            raise ValueError(reason) from error


def _is_large(path: Path) -> bool:
    size, room = path.stat().st_size, free_memory()
    least = 2**27  # what fits into twice the sample is read
    if size <= least or room is None:
        return size > LARGE
    return size > LARGE or memory_ratio(read_start(path, _START)) * size > room


def _is_lines(path: Path) -> bool:
    """Whether a part of the lines of a file is a table too."""
    with path.open("rb") as file:
        start = file.read(_START)
    known = guess_format(path)
    if known is not None:
        return known.name not in {"PrefLib", "cystic fibrosis"}
    try:
        kind = io_format(start, str(path))
    except ValueError:
        return False
    return kind in {"csv", "json lines", "svmlight"} and not is_binary(start)


def _read(path: Path, _: int, options: dict[str, Any]) -> TableFile:
    path.stat()
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name one of its files")
    check_regular(path)
    start = read_start(path, _START)
    known = None if options else guess_format(path)
    if known is None and start.startswith(b"PK") and _is_other_archive(path):
        raise ValueError(
            f"{path} is an archive without an Excel file: expected a table (is it a model?)"
        )
    _check_memory(path, start)
    if known is not None and known.name not in {"ordinal table", "LETOR"}:
        try:
            return _known(path, known.name, known.read)
        except ValueError:
            # a name such as ratings.csv promises a form that the table need not have
            if not path.name.lower().removesuffix(".gz").endswith(".csv"):
                raise
    frame = io.read_table(path, **options)
    _check_cells(path, frame)
    roles = _QUERIES if frame.attrs["source"]["format"] == "svmlight" else {}
    roles = {role: name for role, name in roles.items() if name in frame}
    return TableFile(io.describe(frame, brief=True), frame, roles)


def _is_other_archive(path: Path) -> bool:
    """Whether a zip archive of several files has no workbook; a damaged one may have had one."""
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
            return len(names) > 1 and not any(name.startswith("xl/") for name in names)
    except (BadZipFile, ValueError, NotImplementedError):
        return False


def _check_cells(path: Path, frame: "DataFrame") -> None:
    """Raise if cells are lists or objects."""
    for name in frame:
        first = next(iter(frame[name].dropna()), "") if frame[name].dtype.kind == "O" else ""
        if hasattr(first, "__len__") and not isinstance(first, str):
            raise ValueError(f"{path}: the values of {name!r} are lists or objects, not numbers")


def _known(path: Path, name: str, read: Callable[..., Any]) -> TableFile:
    """Read a file by a reader of `rankwise.datasets`."""
    if name == "PrefLib":
        orders, counts = read_preflib(path, return_counts=True)
        return TableFile(name, rankings=orders, counts=counts)
    found = read(path)
    if name == "LightGBM":
        frame = pandas().DataFrame(found.X, columns=found.names)
        frame.insert(0, "grade", found.y)
        frame.insert(1, "query", found.qid)
        return TableFile(name, frame, dict(_QUERIES))
    if name == "cystic fibrosis":
        raise ValueError(f"{path}: a collection of documents, not a table")
    return TableFile(name, found, _RATINGS if {*_RATINGS} <= {*found.columns} else {})


def memory_ratio(start: bytes) -> float:
    """Return the bytes that a fit takes for each byte of a file, by the cells in its start."""
    if is_binary(start):
        return _BINARY_RATIO
    cells: float = max(start.count(mark) for mark in _MARKS)
    with suppress(TypeError, ValueError):  # no table, or cells that are lists
        frame = io.read_table(BytesIO(start[: start.rfind(b"\n") + 1]))
        cells += len(frame) * _more_columns(frame)
    return 1 + _CELL_BYTES * cells / max(1, len(start))


def _more_columns(frame: "DataFrame") -> float:
    """Return how many more numbers than cells a row becomes: parts of dates, categories, words."""
    columns = look_at_columns(frame, list(frame))
    phrases = [name for name in columns.texts if frame[name].str.contains(" ").mean() > 0.5]
    # there are at most three copies of the zeros and ones of a category
    indicators = frame[columns.categories].nunique().sum() / 3
    return 6 * len(columns.dates) + (HASHED - 1) * len(phrases) + float(indicators)


def _check_memory(path: Path, start: bytes) -> None:
    """Raise if a table would not fit into what memory is free."""
    room = free_memory()
    size = path.stat().st_size
    with path.open("rb") as file:
        packed = compression_of(file.read(8)) is not None
    size *= 3 if packed and not is_binary(start) else 1
    needed = memory_ratio(start) * size
    if room is not None and needed > room:
        raise ValueError(
            f"{path}: a table of {size / 1e9:.1f} GB takes about {needed / 1e9:.0f} GB of memory, "
            f"and {room / 1e9:.0f} GB are free: take a part of the rows, or learn from it row by "
            "row with rankwise stream"
        )
