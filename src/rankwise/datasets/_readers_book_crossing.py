"""Book-Crossing: semicolons, quotes, backslashes, and text that was encoded twice."""

import html
import re
from typing import TYPE_CHECKING

from rankwise._core.arguments import check_word
from rankwise.io.files import PathLike, Source, clean, pandas, read_source
from rankwise.io.text import INTEGER, TEXT, Column, Layout, in_range, read_layout

if TYPE_CHECKING:
    from pandas import DataFrame, Series

FILES = {
    "ratings": ("BX-Book-Ratings.csv",),
    "books": ("BX-Books.csv", "BX_Books.csv"),
    "users": ("BX-Users.csv",),
}

_LAYOUTS = {
    "ratings": Layout(
        (
            Column("user", INTEGER),
            Column("item", TEXT),
            in_range("rating", INTEGER, 0, 10),
        ),
        ";",
        True,
        "User-ID;ISBN;Book-Rating",
    ),
    "books": Layout(
        (
            *(Column(name, TEXT) for name in ("item", "title", "author", "year", "publisher")),
            *(Column(f"image {size}", TEXT) for size in "SML"),
        ),
        ";",
        True,
        "ISBN;Book-Title;Book-Author;Year-Of-Publication;Publisher;"
        "Image-URL-S;Image-URL-M;Image-URL-L",
    ),
    "users": Layout(
        (Column("user", INTEGER), Column("location", TEXT), Column("age", TEXT)),
        ";",
        True,
        "User-ID;Location;Age",
    ),
}

_ENTITY = re.compile("&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
_ESCAPED = re.compile(rb"\\([^\x00-\x1f])")
_TWICE = re.compile("\xc3\\?\xc2([\x80-\xbf])")


def read_book_crossing(
    path: PathLike, *, table: str = "ratings", on_bad_rows: str = "raise"
) -> "DataFrame":
    r"""Read a Book-Crossing table: ratings, books or users.

    Parameters
    ----------
    path : path
        A file; or a folder or zip archive that holds the three.
    table : {"ratings", "books", "users"}, default="ratings"
        What to read.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        In the order of the file. Ratings: ``user``, ``item`` (the ISBN as written), ``rating`` (1
        to 10) and ``implicit``. A zero in the file is not a rating but a sign that the user met the
        book: there ``implicit`` is True and ``rating`` missing. Books: ``item``, ``title``,
        ``author``, ``year`` (missing where it is 0 or no number), ``publisher``. Users: ``user``,
        ``location``, ``age`` (missing where unknown).

    Raises
    ------
    ValueError
        With file, line and reason: a wrong number of fields, a quote that is not closed, a rating
        that is not 0, ..., 10, an empty or binary file.

    Notes
    -----
    The file is Latin-1. In it ``\"`` and ``\\`` stand for a quote and a backslash, ``&amp;`` for
    an ampersand, and the letters that were encoded twice, with a byte lost on the way
    (``\xc3?\xc2\xbc`` for ``ü``), are restored. Duplicates are kept.

    Some rows of the full ``BX-Books.csv`` have a stray backslash that joins title and author. They
    are bad rows, not shifted ones: read that table with ``on_bad_rows="skip"``.

    References
    ----------
    C.-N. Ziegler, S. M. McNee, J. A. Konstan and G. Lausen, Improving Recommendation Lists Through
    Topic Diversification, WWW 2005.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_book_crossing
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "BX-Book-Ratings.csv"
    ...     _ = path.write_text('"276725";"034545104X";"0"\n"276726";"0155061224";"5"\n')
    ...     read_book_crossing(path)
         user        item  rating  implicit
    0  276725  034545104X     NaN      True
    1  276726  0155061224     5.0     False
    """
    check_word(table, "table", tuple(FILES))
    source = _without_escapes(clean(read_source(path, FILES[table]), "latin-1"))
    frame = read_layout(source, _LAYOUTS[table], on_bad_rows)
    if table == "ratings":
        frame["implicit"] = frame["rating"] == 0
        frame["rating"] = frame["rating"].astype(float).mask(frame["implicit"])
    elif table == "books":
        for name in ["title", "author", "publisher"]:
            frame[name] = _restored(frame[name])
        frame["year"] = _whole(frame["year"], above=0)
        frame = frame[["item", "title", "author", "year", "publisher"]]
    else:
        frame["location"] = _restored(frame["location"])
        frame["age"] = _whole(frame["age"], above=-1)
    return frame


def _without_escapes(source: Source) -> Source:
    """Double the quotes that stand after a backslash, and take the backslashes away."""
    if b"\\" not in source.raw:
        return source
    raw = _ESCAPED.sub(lambda m: b'""' if m[1] == b'"' else m[1], source.raw)
    return source._replace(raw=raw)


def _restored(texts: "Series[str]") -> "Series[str]":
    """Return texts with their letters instead of entities and of what was encoded twice."""
    odd = texts.str.contains("[^\x00-\x7f]|&")
    return texts.mask(odd, texts[odd].map(_restore))


def _restore(text: str) -> str:
    text = _TWICE.sub(lambda match: chr(ord(match[1]) + 0x40), text)
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def _whole(texts: "Series[str]", *, above: int) -> "Series[int]":
    """Return texts as integers, missing where they are not, or not above a bound."""
    digits = texts.where(texts.str.fullmatch("[0-9]{1,15}"))
    values = pandas().to_numeric(digits).astype("Int64")
    return values.where(values > above)
