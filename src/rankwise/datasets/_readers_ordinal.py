"""Ordinal regression tables: numbers in csv, one column of which is the grade."""

import numpy as np
from sklearn.utils import Bunch

from rankwise._core.arguments import check_text
from rankwise.io.files import PathLike, clean, first_line, read_source
from rankwise.io.text import MAX_COLUMNS, NUMBER, Column, Layout, read_layout


def read_ordinal(path: PathLike, *, target: str | None = None, on_bad_rows: str = "raise") -> Bunch:
    r"""Read a table of numbers with a header, one column of which is the grade.

    Parameters
    ----------
    path : path
        A csv file, also within gzip or alone in a zip archive.
    target : str, default=None
        The column of grades. By default ``response`` if there is one, else the last.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``skipped_rows`` of the result.

    Returns
    -------
    Bunch
        ``X``, ``y`` (integers), ``names`` of the features, ``skipped_rows``.

    Raises
    ------
    ValueError
        With file, line and reason: a field that is not a number, too few or too many fields, a
        grade that is not an integer, a header with a name twice, an empty or binary file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_ordinal
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wine.csv"
    ...     _ = path.write_text('"response","acid","sugar"\n3,"7.4",1.9\n4,11.2,2\n')
    ...     data = read_ordinal(path)
    >>> data.X, data.y, data.names
    (array([[ 7.4,  1.9],
           [11.2,  2. ]]), array([3, 4]), ['acid', 'sugar'])
    """
    if target is not None:
        check_text(target, "target")
    source = clean(read_source(path))
    head = first_line(source)
    if head.count(b",") >= MAX_COLUMNS:
        n = head.count(b",") + 1
        raise ValueError(f"{source.label}:1: {n:,} columns, expected at most {MAX_COLUMNS:,}")
    header = head.decode()
    names = [name.strip('"') for name in header.split(",")]
    if len(names) < 2 or len(set(names)) < len(names) or not all(map(str.isprintable, names)):
        raise ValueError(f"{source.label}:1: {str(names)[:60]} is not a header of several names")
    chosen = target or ("response" if "response" in names else names[-1])
    if chosen not in names:
        raise ValueError(f"{source.label}:1: no column {chosen!r} but {', '.join(names)[:60]}")
    grade = Column(
        chosen, NUMBER, lambda y: (np.floor(y) == y) & (np.abs(y) < 2**53), "whole numbers"
    )
    columns = [grade if name == chosen else Column(name, NUMBER) for name in names]
    layout = Layout(columns, ",", True, header.replace('"', ""))
    frame = read_layout(source, layout, on_bad_rows)
    y = frame.pop(chosen).to_numpy(np.int64)
    return Bunch(X=frame.to_numpy(), y=y, names=list(frame), **frame.attrs)
