"""Tell the format of a file, and whether it can be read."""

import re
import stat
import warnings
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from rankwise.datasets import _readers_archives as archives
from rankwise.datasets import _readers_book_crossing as book_crossing
from rankwise.datasets import _readers_movielens as movielens
from rankwise.datasets._readers_cystic_fibrosis import read_cystic_fibrosis
from rankwise.datasets._readers_jester import read_jester
from rankwise.datasets._readers_letor import has_sizes, read_letor
from rankwise.datasets._readers_ordinal import read_ordinal
from rankwise.datasets._readers_preflib import TYPES, read_preflib
from rankwise.io.files import read_start


class Finding(NamedTuple):
    """What is found of one file."""

    path: Path
    format: str
    rows: str = ""
    problem: str = ""
    remark: str = ""


class _Format(NamedTuple):
    name: str
    read: Callable[..., Any]
    rows: Callable[[Any], str]


def _frame(frame: Any) -> str:
    return f"{len(frame):,} rows"


def _ratings(frame: Any) -> str:
    return f"{len(frame):,} ratings by {frame['user'].nunique():,} users"


def _bunch(data: Any) -> str:
    queries = f", {len({*data.qid.tolist()}):,} queries" if "qid" in data else ""
    return f"{data.X.shape[0]:,} rows, {data.X.shape[1]:,} features{queries}"


def _orders(found: Any) -> str:
    return f"{len(found[0]):,} orders by {sum(found[1].tolist()):,} voters"


def _collection(data: Any) -> str:
    return (
        f"{len(data.documents):,} documents, {len(data.queries):,} queries, "
        f"{len(data.judgements):,} judged pairs"
    )


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
                findings.append(_file(inner, status.st_mode))
        except OSError as error:
            findings.append(Finding(inner, "", problem=error.strerror or str(error)))
    return findings


def _file(path: Path, mode: int) -> Finding:
    if stat.S_ISDIR(mode):
        return _try(path, _Format("cystic fibrosis", read_cystic_fibrosis, _collection))
    if not stat.S_ISREG(mode):
        return Finding(path, "", remark="a pipe, device or socket, not opened")
    if path.name.endswith(".query") and path.with_suffix("").exists():
        return Finding(path, "", remark=f"read with {path.with_suffix('').name}")
    known = guess_format(path)
    if known is None:
        return Finding(path, "", remark="no format that rankwise reads")
    return _try(path, known)


def _try(path: Path, known: _Format) -> Finding:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = known.rows(known.read(path))
        except (ValueError, OSError, ImportError) as error:
            return Finding(path, known.name, problem=str(error))
    return Finding(path, known.name, rows, remark="; ".join(str(w.message) for w in caught))


def guess_format(path: Path) -> _Format | None:
    """Return the format of a file by its name and its first bytes, None if it is none of ours."""
    name = path.name.lower().removesuffix(".gz")
    for table, names in movielens.FILES.items():
        if name in names:
            return _movielens(table)
    for table, names in book_crossing.FILES.items():
        if name in [n.lower() for n in names]:
            return _book_crossing(table)
    if name.endswith(tuple(f".{kind}" for kind in TYPES)):
        return _Format("PrefLib", _counted, _orders)
    if "jester" in name and name.endswith((".xls", ".xlsx", ".csv", ".zip")):
        return _Format("Jester", read_jester, _ratings)
    for names, found in _ARCHIVES.items():
        if any(fnmatch(name, pattern) for pattern in names):
            return found
    try:
        start = read_start(path, 4096)
    except ValueError:
        return None
    return _by_members(path) if start.startswith(b"PK") else _by_content(start, path)


def _by_members(path: Path) -> _Format | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.rpartition("/")[2].lower() for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError):
        return None
    if names & {*movielens.FILES["ratings"]}:
        return _movielens("ratings")
    if "bx-book-ratings.csv" in names:
        return _book_crossing("ratings")
    if "cfquery" in names:
        return _Format("cystic fibrosis", read_cystic_fibrosis, _collection)
    return _Format("Jester", read_jester, _ratings) if "jester" in "".join(names) else None


def _by_content(start: bytes, path: Path) -> _Format | None:
    if re.search(rb"^# NUMBER ALTERNATIVES:", start, re.MULTILINE):
        return _Format("PrefLib", _counted, _orders)
    lines = start.removeprefix(b"\xef\xbb\xbf").splitlines()
    line = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    if re.match(rb"\S+[ \t]+qid:", line):
        return _Format("LETOR", read_letor, _bunch)
    if re.match(rb"[0-9.+-]+[ \t]+[0-9]+:", line) and has_sizes(path):
        return _Format("LightGBM", read_letor, _bunch)
    bare = line.replace(b'"', b"")
    if bare == b"userId,movieId,rating,timestamp" or re.fullmatch(
        rb"\d+(::|\t)\d+\1[\d.]+\1\d+", bare
    ):
        return _movielens("ratings")
    if bare == b"User-ID;ISBN;Book-Rating":
        return _book_crossing("ratings")
    if bare.split(b",")[0] == b"response":
        return _Format("ordinal table", read_ordinal, _bunch)
    return None


_ARCHIVES = {
    archives.EACHMOVIE: _Format("EachMovie", archives.read_eachmovie, _ratings),
    archives.NETFLIX: _Format("Netflix", archives.read_netflix, _ratings),
    archives.OHSUMED: _Format("OHSUMED", archives.read_ohsumed, _frame),
}


def _movielens(table: str) -> _Format:
    return _Format(
        f"MovieLens {table}",
        lambda path: movielens.read_movielens(path, table=table),
        _ratings if table == "ratings" else _frame,
    )


def _book_crossing(table: str) -> _Format:
    return _Format(
        f"Book-Crossing {table}",
        lambda path: book_crossing.read_book_crossing(path, table=table),
        _ratings if table == "ratings" else _frame,
    )


def _counted(path: Path) -> Any:
    return read_preflib(path, names=False, return_counts=True)
