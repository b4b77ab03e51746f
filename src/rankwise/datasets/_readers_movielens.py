"""MovieLens in its three forms: ``::``, tabs and pipes, and csv."""

from typing import TYPE_CHECKING

import numpy as np

from rankwise._core.arguments import check_word
from rankwise.io.files import PathLike, Source, clean, first_line, pandas, read_source
from rankwise.io.text import (
    INTEGER,
    NUMBER,
    TEXT,
    Array,
    Column,
    Layout,
    read_layout,
)

if TYPE_CHECKING:
    from pandas import DataFrame

GENRES = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)

FILES = {
    "ratings": ("ratings.dat", "ratings.csv", "u.data"),
    "movies": ("movies.dat", "movies.csv", "u.item"),
    "users": ("users.dat", "u.user"),
}


_YEAR = r"\(([0-9]{4})\)$"


def half_stars(ratings: Array) -> Array:
    """Tell which ratings are .5, 1, 1.5, ..., 5."""
    return (ratings >= 0.5) & (ratings <= 5) & (np.floor(2 * ratings) == 2 * ratings)


_USER = Column("user", INTEGER)
_ITEM = Column("item", INTEGER)
_RATINGS = (
    _USER,
    _ITEM,
    Column("rating", NUMBER, half_stars, "half stars from 0.5 to 5; see read_ratings for others"),
    Column("timestamp", INTEGER),
)
_MOVIES = (_ITEM, Column("title", TEXT), Column("genres", TEXT))
_FLAG = Column("", INTEGER, lambda flags: flags <= 1, "0 or 1")
_LAYOUTS = {
    ("ratings", "::"): Layout(_RATINGS, "::"),
    ("ratings", "\t"): Layout(_RATINGS, "\t"),
    ("ratings", ","): Layout(_RATINGS, ",", True, "userId,movieId,rating,timestamp"),
    ("movies", "::"): Layout(_MOVIES, "::"),
    ("movies", ","): Layout(_MOVIES, ",", True, "movieId,title,genres"),
    ("movies", "|"): Layout(
        (
            _ITEM,
            Column("title", TEXT),
            Column("date", TEXT),
            Column("video", TEXT),
            Column("url", TEXT),
            *(_FLAG._replace(name=f"genre {genre}") for genre in GENRES),
        ),
        "|",
    ),
    ("users", "::"): Layout(
        (
            _USER,
            Column("gender", TEXT),
            Column("age", INTEGER),
            Column("occupation", INTEGER),
            Column("zip", TEXT),
        ),
        "::",
    ),
    ("users", "|"): Layout(
        (
            _USER,
            Column("age", INTEGER),
            Column("gender", TEXT),
            Column("occupation", TEXT),
            Column("zip", TEXT),
        ),
        "|",
    ),
}


def read_movielens(
    path: PathLike,
    *,
    table: str = "ratings",
    encoding: str | None = None,
    on_bad_rows: str = "raise",
) -> "DataFrame":
    r"""Read a MovieLens table: ratings, movies or users.

    All releases are read: ``ratings.dat`` with ``::`` (1M, 10M), ``u.data`` with tabs and
    ``u.item`` with pipes (100K), ``ratings.csv`` (20M and later, latest, latest-small). The first
    line tells the form, not the name.

    Parameters
    ----------
    path : path
        A file; or a folder or zip archive that holds one release, as it was downloaded.
    table : {"ratings", "movies", "users"}, default="ratings"
        What to read. The csv releases have no users.
    encoding : str, default=None
        Of titles. By default UTF-8 if the file is valid UTF-8, else Latin-1, as the
        older releases are.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        In the order of the file. Ratings: ``user``, ``item``, ``rating`` (half stars as float),
        ``timestamp`` (seconds). Movies: ``item``, ``title`` without the year, ``year`` (missing
        where the title has none), ``genres`` between bars. Users: ``user``, ``gender``, ``age``,
        ``occupation``, ``zip``.

    Raises
    ------
    ValueError
        With file, line and reason: a field that is not a number, too few or too many fields, an id
        of more than 15 digits, a rating that is not .5, 1, ..., 5, an empty or binary file.

    Notes
    -----
    A user who rated a film twice keeps both ratings, as in the file;
    ``frame.duplicated(["user", "item"])`` finds them. The 100K and 1M releases have none.

    References
    ----------
    F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context, ACM Transactions
    on Interactive Intelligent Systems 5(4), 2015.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_movielens
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.dat"
    ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n")
    ...     read_movielens(path)
       user  item  rating  timestamp
    0     1  1193     5.0  978300760
    1     1   661     3.0  978302109
    """
    check_word(table, "table", tuple(FILES))
    source = clean(read_source(path, FILES[table]), encoding)
    frame = read_layout(source, _layout(source, table), on_bad_rows)
    return _movies(frame) if table == "movies" else frame


def _layout(source: Source, table: str) -> Layout:
    first = first_line(source)
    for (of, separator), layout in _LAYOUTS.items():
        if of == table and separator.encode() in first:
            return layout
    known = ", ".join(repr(s) for of, s in _LAYOUTS if of == table)
    raise ValueError(
        f"{source.label}:1: none of the separators of MovieLens {table} ({known}) in "
        f"{first.decode()[:40]!r}"
    )


def _movies(frame: "DataFrame") -> "DataFrame":
    """Return films with title and year apart, as ``Toy Story`` and 1995; some have no year."""
    years = pandas().to_numeric(frame["title"].str.extract(_YEAR)[0]).astype("Int64")
    titles = frame["title"].str.replace(_YEAR, "", regex=True).str.strip()
    if "genres" in frame:
        genres = frame["genres"]
    else:
        flags = frame[[f"genre {genre}" for genre in GENRES]].to_numpy(bool)
        genres = ["|".join(np.compress(row, GENRES)) for row in flags]
    return frame[["item"]].assign(title=titles, year=years, genres=genres)
