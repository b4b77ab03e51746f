"""Collections of papers that are no longer given out: EachMovie, Netflix and OHSUMED."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwise.io.files import (
    BadRows,
    PathLike,
    Source,
    clean,
    find_files,
    first_line,
    pandas,
    read_source,
)
from rankwise.io.text import (
    ID,
    INTEGER,
    NUMBER,
    TEXT,
    Column,
    Layout,
    in_range,
    read_columns,
    read_layout,
)

if TYPE_CHECKING:
    from pandas import DataFrame

NETFLIX = ("mv_*.txt", "combined_data_*.txt")
EACHMOVIE = ("vote.txt",)
OHSUMED = ("qrels.ohsu*",)

_MOVIE = re.compile(rb"^[ \t]*([0-9]{1,15}):[ \t\r]*$", re.MULTILINE)
_BLANKS = re.compile(rb"[ \t]+")


_VOTES = (
    Column("user", INTEGER),
    Column("item", INTEGER),
    in_range("rating", NUMBER, 0, 1),
    in_range("weight", NUMBER, 0, 1),
    Column("timestamp", TEXT),
)
_NETFLIX_ROW = (
    Column("user", INTEGER),
    in_range("rating", INTEGER, 1, 5),
    Column("date", TEXT),
)


def read_eachmovie(path: PathLike, *, on_bad_rows: str = "raise") -> "DataFrame":
    r"""Read the votes of EachMovie.

    Parameters
    ----------
    path : path
        ``Vote.txt``, or a folder or zip archive that holds it: a person, a movie, a score, a weight
        and a time in every line, between tabs, semicolons or commas.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        In the order of the file: ``user``, ``item``, ``rating`` (the score, from 0 to 1 in steps of
        0.2), ``weight`` (from 0 to 1; below 1 where somebody rated without having seen the movie),
        ``timestamp`` (missing where it is not a date).

    Raises
    ------
    ValueError
        With file, line and reason: a field that is not a number, a score or weight outside of 0 to
        1, too few or too many fields, an empty or binary file.

    References
    ----------
    P. McJones, EachMovie collaborative filtering data set, DEC Systems Research Center, 1997.
    Withdrawn in 2004.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_eachmovie
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "Vote.txt"
    ...     _ = path.write_text("1\t7\t.8\t1\t4/16/97 22:44:18\n2\t7\t0\t.5\t\n")
    ...     read_eachmovie(path)
       user  item  rating  weight           timestamp
    0     1     7     0.8     1.0 1997-04-16 22:44:18
    1     2     7     0.0     0.5                 NaT
    """
    source = clean(read_source(path, EACHMOVIE))
    line = first_line(source).decode()
    separator = next((mark for mark in "\t;," if line.count(mark) == len(_VOTES) - 1), "\t")
    frame = read_layout(source, Layout(_VOTES, separator), on_bad_rows)
    frame["timestamp"] = pandas().to_datetime(frame["timestamp"], errors="coerce", format="mixed")
    return frame


def read_netflix(path: PathLike, *, on_bad_rows: str = "raise") -> "DataFrame":
    r"""Read the ratings of the Netflix prize.

    A line with a movie and a colon is followed by the movie's ratings, one a line: the user, the
    rating and the date, between commas.

    Parameters
    ----------
    path : path
        A folder or zip archive with ``mv_0000001.txt``, ... (the original training set)
        or ``combined_data_1.txt``, ...; or one such file.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        In the order of the files: ``user``, ``item``, ``rating`` (1 to 5) and ``date``.

    Raises
    ------
    ValueError
        With file, line and reason: a field that is not a number, a rating that is not 1, ..., 5,
        ratings before the first movie, too few or too many fields, an empty or binary file.

    References
    ----------
    J. Bennett and S. Lanning, The Netflix Prize, KDD Cup and Workshop 2007.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_netflix
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "combined_data_1.txt"
    ...     _ = path.write_text("1:\n1488844,3,2005-09-06\n2:\n885013,4,2005-10-19\n")
    ...     read_netflix(folder)
          user  item  rating       date
    0  1488844     1       3 2005-09-06
    1   885013     2       4 2005-10-19
    """
    if Path(path).is_file() and Path(path).suffix.lower() != ".zip":
        found = [read_source(path)]
    else:
        found = [source for name in NETFLIX for source in find_files(path, name)]
    sources = [clean(source) for source in found]
    if not sources:
        raise ValueError(f"{path}: no files mv_*.txt or combined_data_*.txt in it")
    bads = [BadRows(source, on_bad_rows) for source in sources]
    parts = [_netflix(source, bad) for source, bad in zip(sources, bads, strict=True)]
    frame = pandas().concat(parts, ignore_index=True)
    frame["date"] = pandas().to_datetime(frame["date"], errors="coerce", format="%Y-%m-%d")
    frame.attrs["skipped_rows"] = sum(bad.count for bad in bads)
    return frame


def _netflix(source: Source, bad: BadRows) -> "DataFrame":
    movies = list(_MOVIE.finditer(source.raw))
    heads = np.array([match.start() for match in movies], np.int64)
    ends = np.flatnonzero(np.frombuffer(source.raw, np.uint8) == ord("\n"))
    head_lines = 1 + np.searchsorted(ends, heads)
    plain = source._replace(raw=_MOVIE.sub(b"", source.raw))  # empty lines are passed over
    frame, lines = read_columns(plain, Layout(_NETFLIX_ROW, ","), bad)
    places = np.searchsorted(head_lines, lines) - 1
    if (places < 0).any():
        bad.refuse(int(lines[0]), "a rating before the first movie", int((places < 0).sum()))
        frame, places = frame[places >= 0], places[places >= 0]
    bad.finish(len(frame))
    items = np.array([int(match[1]) for match in movies], np.int64)[places]
    frame.insert(1, "item", items)
    return frame


def read_ohsumed(path: PathLike, *, on_bad_rows: str = "raise") -> "DataFrame":
    r"""Read a judgement file of the TREC-9 filtering track, on OHSUMED.

    Parameters
    ----------
    path : path
        A file such as ``qrels.ohsu.batch.87``, or a folder or zip archive that holds one: a topic,
        a document and its relevance in every line, between blanks or tabs. The four columns of
        other tracks, with an unused one after the topic, are read too.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        In the order of the file: ``query`` (the topic), ``doc`` (the number in MEDLINE) and
        ``grade``: 0 (not relevant), 1 (possibly) or 2 (definitely).

    Raises
    ------
    ValueError
        With file, line and reason: a grade that is not 0, 1 or 2, too few or too many fields, an
        empty or binary file.

    Notes
    -----
    A document that is not in the file was not judged for the topic.

    References
    ----------
    W. Hersh, C. Buckley, T. J. Leone and D. Hickam, OHSUMED: An Interactive Retrieval Evaluation
    and New Large Test Collection for Research, SIGIR 1994; S. Robertson and D. A. Hull, The TREC-9
    Filtering Track Final Report, 2000.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_ohsumed
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.ohsu.batch.87"
    ...     _ = path.write_text("OHSU1\t87316316\t1\nOHSU1\t87202778\t2\n")
    ...     read_ohsumed(path)
       query       doc  grade
    0  OHSU1  87316316      1
    1  OHSU1  87202778      2
    """
    source = clean(read_source(path, OHSUMED))
    source = source._replace(
        raw=b"\n".join(_BLANKS.sub(b"\t", line.strip()) for line in source.raw.split(b"\n"))
    )
    grade = in_range("grade", INTEGER, 0, 2)
    unused = [Column("unused", TEXT)] * (first_line(source).count(b"\t") == 3)
    columns = [Column("query", ID), *unused, Column("doc", ID), grade]
    return read_layout(source, Layout(columns, "\t"), on_bad_rows)[["query", "doc", "grade"]]
