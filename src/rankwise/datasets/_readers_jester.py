"""Jester: one row per user, in a spreadsheet or as csv."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwise.io.files import BadRows, PathLike, Source, clean, first_line, pandas, read_source
from rankwise.io.formats import sheet_as_csv
from rankwise.io.text import MAX_COLUMNS, NUMBER, Array, Column, Layout, read_columns

if TYPE_CHECKING:
    from pandas import DataFrame

FILES = ("*jester*.xls", "*jester*.xlsx", "*jester*.csv")

_MISSING = 99
_SHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")


def read_jester(path: PathLike, *, on_bad_rows: str = "raise") -> "DataFrame":
    r"""Read a Jester table of joke ratings.

    A row of the file is a user: how many jokes were rated, then a rating from -10 to 10 for each
    joke, or 99 where there is none.

    Parameters
    ----------
    path : path
        An ``.xls``, ``.xlsx`` or ``.csv`` file without a header, or a zip archive that holds one;
        or a folder with the three parts of Jester 1, packed or not, whose users are numbered
        through.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a user that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        One row per rating, by user: ``user`` (the row of the file, from 1), ``item`` (the joke,
        from 1), ``rating``. ``frame.attrs["n_users"]`` and ``frame.attrs["n_items"]`` count users
        and jokes, those without a rating included.

    Raises
    ------
    ValueError
        With file, line and reason: a cell that is not a number, a rating outside of -10 to 10, a
        count that is not that of the row's ratings, rows of unequal length, an empty or damaged
        file.

    Notes
    -----
    Spreadsheets need ``xlrd`` or ``openpyxl``, which the extra ``data`` installs.

    References
    ----------
    K. Goldberg, T. Roeder, D. Gupta and C. Perkins, Eigentaste: A Constant Time Collaborative
    Filtering Algorithm, Information Retrieval 4(2), 2001.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_jester
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jester.csv"
    ...     _ = path.write_text("2,-7.82,99,4.17\n1,99,99,9.5\n")
    ...     read_jester(path)
       user  item  rating
    0     1     1   -7.82
    1     1     3    4.17
    2     2     3    9.50
    """
    sources = _sources(Path(path))
    bads = [BadRows(source, on_bad_rows) for source in sources]
    n_users = n_jokes = n_rows = 0
    frames = []
    for source, bad in zip(sources, bads, strict=True):
        table, lines = _check(*_rows(source, bad), bad)
        bad.finish(len(table))
        rows, jokes = np.nonzero(table[:, 1:] != _MISSING)
        users, ratings = n_rows + lines[rows], table[:, 1:][rows, jokes]
        frames.append(pandas().DataFrame({"user": users, "item": jokes + 1, "rating": ratings}))
        n_rows += int(lines[-1])
        n_users, n_jokes = n_users + len(table), max(n_jokes, table.shape[1] - 1)
    frame: DataFrame = pandas().concat(frames, ignore_index=True)
    skipped = sum(bad.count for bad in bads)
    frame.attrs |= {"skipped_rows": skipped, "n_users": n_users, "n_items": n_jokes}
    return frame


def _sources(path: Path) -> list[Source]:
    """Return the parts of Jester 1 that a folder holds, each once, or the one file."""
    found: dict[str, Path] = {}
    if path.is_dir():
        for pattern in ("*jester*.zip", *FILES):  # what is unpacked replaces the archive
            found |= {p.stem: p for p in sorted(path.glob(pattern)) if p.is_file()}
    return [read_source(found[stem], FILES) for stem in sorted(found)] or [read_source(path, FILES)]


def _rows(source: Source, bad: BadRows) -> tuple[Array, Array]:
    is_sheet = source.raw.startswith(_SHEETS)
    source = source._replace(raw=sheet_as_csv(source)) if is_sheet else clean(source)
    bad.cut = source.cut
    line = first_line(source)
    separator = next((s for s in (b",", b";", b"\t") if s in line), None)
    if separator is None:
        raise ValueError(
            f"{source.label}:1: no comma, semicolon or tab in {line.decode()[:40]!r}, "
            "and no spreadsheet"
        )
    n_jokes = line.count(separator)
    if n_jokes > MAX_COLUMNS:
        raise ValueError(f"{source.label}:1: {n_jokes:,} jokes, expected at most {MAX_COLUMNS:,}")
    names = ["count", *(f"joke {j}" for j in range(1, n_jokes + 1))]
    layout = Layout([Column(name, NUMBER) for name in names], separator.decode(), True)
    frame, lines = read_columns(source, layout, bad)
    return frame.to_numpy(), lines


def _check(table: Array, lines: Array, bad: BadRows) -> tuple[Array, Array]:
    """Refuse the users whose ratings are out of range or don't add up to their count."""
    count, ratings = table[:, 0], table[:, 1:]
    rated = ratings != _MISSING
    inside = (np.abs(ratings) <= 10) | ~rated
    good = inside.all(axis=1) & (rated.sum(axis=1) == count)
    if good.all():
        return table, lines
    row = int(np.argmin(good))
    if inside[row].all():
        reason = f"{rated[row].sum()} ratings, but the first column says {count[row]:.15g}"
    else:
        joke = int(np.argmin(inside[row]))
        reason = f"joke {joke + 1} is rated {ratings[row, joke]:.15g}, expected -10 to 10 or 99"
    bad.refuse(int(lines[row]), reason, int(len(good) - good.sum()))
    return table[good], lines[good]
