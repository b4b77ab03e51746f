"""Tell the format of a file, and whether it can be read."""

import re
import stat
import warnings
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rankwise.datasets import _readers_archives as archives
from rankwise.datasets import _readers_book_crossing as book_crossing
from rankwise.datasets import _readers_movielens as movielens
from rankwise.datasets._readers_cystic_fibrosis import read_cystic_fibrosis
from rankwise.datasets._readers_jester import FILES, read_jester
from rankwise.datasets._readers_letor import has_sizes, read_letor
from rankwise.datasets._readers_ordinal import read_ordinal
from rankwise.datasets._readers_preflib import TYPES, read_preflib
from rankwise.io.files import read_start


class Finding(NamedTuple):
    """The result for one file."""

    path: Path
    format: str
    rows: str = ""
    problem: str = ""
    remark: str = ""


class Format(NamedTuple):
    """A format and its reader."""

    name: str
    read: Callable[..., Any]


_MOVIELENS = {
    table: Format(f"MovieLens {table}", partial(movielens.read_movielens, table=table))
    for table in movielens.FILES
}
_BOOK_CROSSING = {
    table: Format(f"Book-Crossing {table}", partial(book_crossing.read_book_crossing, table=table))
    for table in book_crossing.FILES
}
_PREFLIB = Format("PrefLib", partial(read_preflib, names=False, return_counts=True))
_CYSTIC_FIBROSIS = Format("cystic fibrosis", read_cystic_fibrosis)
# Formats by the names of their files; of an archive that holds several, the first one counts.
_NAMES = {
    **{movielens.FILES[table]: found for table, found in _MOVIELENS.items()},
    **{book_crossing.FILES[table]: found for table, found in _BOOK_CROSSING.items()},
    tuple(f"*.{kind}" for kind in TYPES): _PREFLIB,
    (*FILES, "*jester*.zip"): Format("Jester", read_jester),
    archives.EACHMOVIE: Format("EachMovie", archives.read_eachmovie),
    archives.NETFLIX: Format("Netflix", archives.read_netflix),
    archives.OHSUMED: Format("OHSUMED", archives.read_ohsumed),
    ("cfquery",): _CYSTIC_FIBROSIS,
}


def check(path: Path) -> list[Finding]:
    """Check a file, or every file of a folder.

    A folder is entered once, however many links lead to it. Pipes, devices and sockets are not
    opened.

    Returns
    -------
    list of Finding
        Those of no known format have an empty one.

    Raises
    ------
    OSError
        The path itself can't be opened.
    """
    path.stat()
    findings: list[Finding] = []
    entered: set[tuple[int, int]] = set()
    waiting = [path]
    while waiting:
        inner = waiting.pop()
        try:
            status = inner.stat()
            folder = stat.S_ISDIR(status.st_mode)
            if folder and (status.st_dev, status.st_ino) in entered:
                continue
            if folder and not (inner / "cfquery").exists():
                entered.add((status.st_dev, status.st_ino))
                waiting += sorted(inner.iterdir(), reverse=True)
            else:
                findings.append(_check_file(inner, status.st_mode))
        except OSError as error:
            findings.append(Finding(inner, "", problem=error.strerror or str(error)))
    return findings


def _check_file(path: Path, mode: int) -> Finding:
    """Read a file by the reader of its format, or a folder of the cystic fibrosis collection."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return Finding(path, "", remark="a pipe, device or socket, not opened")
    if path.name.endswith(".query") and path.with_suffix("").exists():
        return Finding(path, "", remark=f"read with {path.with_suffix('').name}")
    known = _CYSTIC_FIBROSIS if stat.S_ISDIR(mode) else guess_format(path)
    if known is None:
        return Finding(path, "", remark="no format that rankwise reads")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = _size(known.read(path))
        except (ValueError, OSError, ImportError) as error:
            return Finding(path, known.name, problem=str(error))
    return Finding(path, known.name, rows, remark="; ".join(str(w.message) for w in caught))


def _size(data: Any) -> str:
    """Return how much a reader has read, in words."""
    if isinstance(data, tuple):
        orders, counts = data
        return f"{len(orders):,} orders by {sum(counts.tolist()):,} voters"
    if "documents" in data:
        return (
            f"{len(data.documents):,} documents, {len(data.queries):,} queries, "
            f"{len(data.judgements):,} judged pairs"
        )
    if "X" in data:
        queries = f", {len({*data.qid.tolist()}):,} queries" if "qid" in data else ""
        return f"{data.X.shape[0]:,} rows, {data.X.shape[1]:,} features{queries}"
    if "rating" in data:
        return f"{len(data):,} ratings by {data['user'].nunique():,} users"
    return f"{len(data):,} rows"


def guess_format(path: Path) -> Format | None:
    """Return the format of a file by its name and its first bytes, None if it is none of ours."""
    known = _by_name([path.name.removesuffix(".gz")])
    if known is not None:
        return known
    try:
        start = read_start(path, 4096)
        if not start.startswith(b"PK"):
            return _by_content(start, path)
        with zipfile.ZipFile(path) as archive:
            return _by_name([Path(name).name for name in archive.namelist()])
    except (zipfile.BadZipFile, ValueError):
        return None


def _by_name(names: list[str]) -> Format | None:
    """Return the first format that has one of these files."""
    lower = [name.lower() for name in names]
    for patterns, found in _NAMES.items():
        if any(fnmatch(name, pattern.lower()) for name in lower for pattern in patterns):
            return found
    return None


def _by_content(start: bytes, path: Path) -> Format | None:
    if re.search(rb"^# NUMBER ALTERNATIVES:", start, re.MULTILINE):
        return _PREFLIB
    lines = start.removeprefix(b"\xef\xbb\xbf").splitlines()
    line = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    if re.match(rb"\S+[ \t]+qid:", line):
        return Format("LETOR", read_letor)
    if re.match(rb"[0-9.+-]+[ \t]+[0-9]+:", line) and has_sizes(path):
        return Format("LightGBM", read_letor)
    bare = line.replace(b'"', b"")
    if bare == b"userId,movieId,rating,timestamp" or re.fullmatch(
        rb"\d+(::|\t)\d+\1[\d.]+\1\d+", bare
    ):
        return _MOVIELENS["ratings"]
    if bare == b"User-ID;ISBN;Book-Rating":
        return _BOOK_CROSSING["ratings"]
    return Format("ordinal table", read_ordinal) if bare.startswith(b"response,") else None
