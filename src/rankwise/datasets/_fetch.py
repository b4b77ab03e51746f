"""Data sets that are downloaded once."""

from typing import TYPE_CHECKING

from rankwise._core.arguments import check_whole, check_word
from rankwise.datasets._readers_book_crossing import FILES as BOOK_CROSSING
from rankwise.datasets._readers_book_crossing import read_book_crossing
from rankwise.datasets._readers_jester import read_jester
from rankwise.datasets._readers_movielens import FILES as MOVIELENS
from rankwise.datasets._readers_movielens import read_movielens
from rankwise.datasets._registry import REGISTRY
from rankwise.datasets.download import KNOWN, locate
from rankwise.io.files import ON_BAD_ROWS, PathLike

if TYPE_CHECKING:
    from pandas import DataFrame

_RELEASES = ("100k", "1m", "latest-small")


def fetch_movielens(
    release: str = "latest-small",
    *,
    table: str = "ratings",
    on_bad_rows: str = "raise",
    data_home: PathLike | None = None,
    url: str | None = None,
    checksum: str | None = KNOWN,
    timeout: float = 30.0,
) -> "DataFrame":
    """Fetch a MovieLens release, once, and read one of its tables.

    Parameters
    ----------
    release : {"latest-small", "100k", "1m"}, default="latest-small"
        Which one.
    table : {"ratings", "movies", "users"}, default="ratings"
        What to read, see `read_movielens`.
    on_bad_rows : {"raise", "skip"}, default="raise"
        As for `read_movielens`.
    data_home : path, default=None
        Where downloads are kept. By default the folder ``RANKWISE_DATA`` is looked into first, if
        that variable is set (nothing is written there), then the user's cache folder.
    url : str, default=None
        Take the file from here. By default from the site that the variable ``RANKWISE_MIRROR``
        names, if it is set, then from the origin.
    checksum : str or None, default="registry"
        What the file must hash to, such as ``"sha256:50d2..."``; by default what the registry
        says. None trusts the first download: its hash is kept in ``checksums.json`` next to it, and
        later ones must equal it.
    timeout : float, default=30.0
        Seconds without an answer, or between two pieces of it, before an attempt is given up.
        There are three for each address, and each goes on where the last was cut off.

    Returns
    -------
    pandas.DataFrame
        See `read_movielens`.

    Raises
    ------
    OSError
        The file is nowhere to be had; the message says what was tried and what to do.
    ValueError
        The file is not the one that the checksum belongs to.

    Examples
    --------
    >>> from rankwise.datasets import fetch_movielens
    >>> ratings = fetch_movielens("100k")  # doctest: +SKIP
    """
    check_word(release, "release", _RELEASES)
    _check_reading(on_bad_rows, table, tuple(MOVIELENS))
    path = locate(
        REGISTRY[f"ml-{release}"], data_home=data_home, url=url, checksum=checksum, timeout=timeout
    )
    return read_movielens(path, table=table, on_bad_rows=on_bad_rows)


def fetch_jester(
    part: int = 1,
    *,
    on_bad_rows: str = "raise",
    data_home: PathLike | None = None,
    url: str | None = None,
    checksum: str | None = KNOWN,
    timeout: float = 30.0,
) -> "DataFrame":
    """Fetch a part of Jester 1, once, and read it.

    Parameters
    ----------
    part : {1, 2, 3}, default=1
        Which users: 24,983, 23,500 or 24,938 of them.
    on_bad_rows : {"raise", "skip"}, default="raise"
        As for `read_jester`.
    data_home : path, default=None
        See `fetch_movielens`, as for all that follow.
    url : str, default=None
        Take the file from here.
    checksum : str or None, default="registry"
        What the file must hash to.
    timeout : float, default=30.0
        Seconds without an answer before an attempt is given up.

    Returns
    -------
    pandas.DataFrame
        See `read_jester`.

    Examples
    --------
    >>> from rankwise.datasets import fetch_jester
    >>> ratings = fetch_jester(1)  # doctest: +SKIP
    """
    _check_reading(on_bad_rows)
    if check_whole(part, "part") > 3:
        raise ValueError(f"part={part!r} must be 1, 2 or 3")
    path = locate(
        REGISTRY[f"jester-{int(part)}"],
        data_home=data_home,
        url=url,
        checksum=checksum,
        timeout=timeout,
    )
    return read_jester(path, on_bad_rows=on_bad_rows)


def fetch_book_crossing(
    *,
    table: str = "ratings",
    on_bad_rows: str = "raise",
    data_home: PathLike | None = None,
    url: str | None = None,
    checksum: str | None = KNOWN,
    timeout: float = 30.0,
) -> "DataFrame":
    """Fetch Book-Crossing, once, and read one of its tables.

    Parameters
    ----------
    table : {"ratings", "books", "users"}, default="ratings"
        What to read, see `read_book_crossing`.
    on_bad_rows : {"raise", "skip"}, default="raise"
        As for `read_book_crossing`; the books need ``"skip"``.
    data_home : path, default=None
        See `fetch_movielens`, as for all that follow.
    url : str, default=None
        Take the file from here: the site of its origin is often out of reach.
    checksum : str or None, default="registry"
        What the file must hash to.
    timeout : float, default=30.0
        Seconds without an answer before an attempt is given up.

    Returns
    -------
    pandas.DataFrame
        See `read_book_crossing`.

    Examples
    --------
    >>> from rankwise.datasets import fetch_book_crossing
    >>> ratings = fetch_book_crossing(url="https://.../BX-CSV-Dump.zip")  # doctest: +SKIP
    """
    _check_reading(on_bad_rows, table, tuple(BOOK_CROSSING))
    path = locate(
        REGISTRY["book-crossing"], data_home=data_home, url=url, checksum=checksum, timeout=timeout
    )
    return read_book_crossing(path, table=table, on_bad_rows=on_bad_rows)


def _check_reading(on_bad_rows: str, table: str = "", tables: tuple[str, ...] = ()) -> None:
    """Refuse what the reader would refuse, before anything is downloaded."""
    check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
    if tables:
        check_word(table, "table", tables)
