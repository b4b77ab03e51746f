"""Any table of ratings: a user, an item and a number in every row."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise._core.arguments import check_flag
from rankwise.io.dialect import Dialect, is_number, split_rows
from rankwise.io.files import PathLike, Source, clean, first_line, read_source
from rankwise.io.text import (
    ID,
    NUMBER,
    Array,
    Column,
    Layout,
    first_row,
    in_range,
    read_layout,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_WANTED = ("user", "item", "rating")
_USUAL = (*_WANTED, "timestamp")
_SEPARATORS = ("::", "\t", ";", "|", ",")


def read_ratings(
    path: PathLike,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    scale: tuple[float, float] | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    on_bad_rows: str = "raise",
) -> "DataFrame":
    r"""Read a table of ratings of any scale, one rating a line.

    Parameters
    ----------
    path : path
        A file, also within gzip or alone in a zip archive.
    columns : sequence of str, default=None
        What the fields of a line are, in their order: ``"user"``, ``"item"`` and ``"rating"``, and
        any other names. By default user, item and rating, and a fourth field is ``"timestamp"``.
    separator : str, default=None
        What is between two fields: one character, or the same one twice. By default the first of
        ``::``, tab, semicolon, pipe and comma that makes the first line a row.
    scale : tuple of two numbers, default=None
        The lowest and the highest rating; others are bad rows. By default any finite number.
    header : bool, default=None
        Whether the first line is a header. By default it is one if none of its fields is a number.
    encoding : str, default=None
        That of the names. By default UTF-8 if the file is, else Latin-1.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``frame.attrs["skipped_rows"]``.

    Returns
    -------
    pandas.DataFrame
        In the order of the file: ``user``, ``item``, ``rating`` (float), then the other columns.
        All but ``rating`` are integers if every field is one, of at most 15 digits and without
        leading zeros; else they are str, all of them.

    Raises
    ------
    ValueError
        With file, line and reason: a rating that is not finite or outside of ``scale``, too few or
        too many fields, an empty user or item, an ambiguous first line, an empty or binary file.

    See Also
    --------
    read_movielens : Stars, films and users of MovieLens.
    read_jester : One row per user.
    read_book_crossing : Ratings of books, with backslashes.

    Notes
    -----
    Fields between commas or semicolons may be in quotes, a quote inside them doubled. Between
    semicolons, ratings may have a decimal comma. A user who
    rated an item twice keeps both ratings; ``frame.duplicated(["user", "item"])`` finds them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_ratings
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tweetings.dat"
    ...     _ = path.write_text("1::0114508::8::1381006850\n2::0208092::0::1381620027\n")
    ...     print(read_ratings(path, scale=(0, 10)))
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("item,score,user\ntea,-0.5,ann\nmilk,4e2,bob\n")
    ...     print(read_ratings(path, columns=["item", "rating", "user"]))
       user     item  rating   timestamp
    0     1  0114508     8.0  1381006850
    1     2  0208092     0.0  1381620027
      user  item  rating
    0  ann   tea    -0.5
    1  bob  milk   400.0
    """
    named = _check_columns(columns)
    bounds = _check_scale(scale)
    if header is not None:
        check_flag(header, "header")
    if separator is not None:
        _check_separator(separator)
    source = clean(read_source(path), encoding)
    between, fields = _first_fields(source, separator, named)
    usual = named is None
    names = _USUAL[: len(fields)] if named is None else named
    if header is None:
        known = [f.replace(",", ".") for f in fields] if between == ";" else fields
        header = len(fields) == len(names) and not any(map(_is_float, known))
    if header and usual:
        _check_header(source, fields)
    rated = in_range("rating", NUMBER, *bounds) if bounds else Column("rating", NUMBER)
    table = [Column(name, ID) for name in names]
    for name in ("user", "item"):
        table[names.index(name)] = Column(name, ID, _is_named, "a name or a number")
    table[names.index("rating")] = rated
    head = first_line(source).decode().replace('"', "") if header else ""
    layout = Layout(table, between, between in {",", ";"}, head)
    frame = read_layout(source, layout, on_bad_rows)
    return frame[[*_WANTED, *(name for name in names if name not in _WANTED)]]


def _check_columns(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    names = () if isinstance(columns, str) else tuple(columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"columns={columns!r} must be names, each once")
    if not {*_WANTED} <= {*names}:
        raise ValueError(f"columns={columns!r} must have user, item and rating among them")
    return names


def _check_scale(scale: Any) -> tuple[float, float] | None:
    if scale is None:
        return None
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scale={scale!r} must be two numbers, the lowest and highest") from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"scale={scale!r} must be two finite numbers, the lower one first")
    return low, high


def _check_separator(separator: str) -> None:
    one = isinstance(separator, str) and len(separator) in {1, 2} and len(set(separator)) == 1
    if not one or not separator.isascii() or separator.isalnum() or separator[0] in '"\r\n.+-':
        raise ValueError(
            f"separator={separator!r} is invalid: expected one character, or the same one twice, "
            "but not a letter, digit, quote, sign, point or end of line"
        )


def _first_fields(
    source: Source, separator: str | None, named: Sequence[str] | None
) -> tuple[str, list[str]]:
    """Return the separator, and the fields of the first line between it."""
    start, number = first_row(source.raw, Layout((), ""))
    wanted = {3, 4} if named is None else {len(named)}
    tried = _SEPARATORS if separator is None else (separator,)
    for between in tried:
        dialect = Dialect(between, quote=between in {",", ";"})
        fields = next(split_rows(source.raw, dialect, start, number)).fields
        if len(fields) in wanted or (separator and named):
            return between, [field.strip('" ') for field in fields]
    line = first_line(source).decode()
    raise ValueError(
        f"{source.label}:{number}: {line[:40]!r} has not {' or '.join(map(str, sorted(wanted)))} "
        f"fields between any of {', '.join(map(repr, tried))}; pass separator and columns"
    )


def _is_float(text: str) -> bool:
    return is_number(text) or text.lower().lstrip("+-") in {"nan", "inf", "infinity"}


def _check_header(source: Source, fields: Sequence[str]) -> None:
    """Refuse a header that names the columns in another order than the usual one."""
    for place, name in enumerate(_WANTED):
        found = [i for i, field in enumerate(fields) if name in field.lower()]
        if found and place not in found:
            raise ValueError(
                f"{source.label}:1: the header is {', '.join(fields)[:60]!r}: pass columns, with "
                "user, item and rating in the order of the file"
            )


def _is_named(values: Array) -> Array:
    return np.ones(len(values), bool) if values.dtype.kind == "i" else values != ""
