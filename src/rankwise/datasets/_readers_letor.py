"""LETOR, MSLR and LightGBM: svmlight lines with queries, or with a file of query sizes."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.utils import Bunch

from rankwise._core.arguments import check_flag, check_whole
from rankwise.io.dialect import is_number
from rankwise.io.files import BadRows, PathLike, Source, clean, read_source
from rankwise.io.svmlight import DENSE, SPARSE, Graded, Rules, check_dense, read_graded
from rankwise.io.text import INTEGER, Column, Layout, read_layout

Array = NDArray[Any]

_NAMED = 10**6
_ROW = re.compile(rb"^[ \t]*+[^#\s][^\n]*", re.MULTILINE)


def read_letor(
    path: PathLike | Sequence[PathLike],
    *,
    n_features: int | None = None,
    sparse: bool = False,
    zero_based: bool = False,
    on_bad_rows: str = "raise",
) -> Bunch:
    r"""Read LETOR, MSLR or LightGBM files: documents that are graded by query.

    A line is ``grade qid:number feature:value feature:value # comment``, with any number of
    features, as svmlight writes it. In LightGBM's layout no row has a query; a file next to this
    one, of the same name with ``.query`` after it, has the numbers of rows of the queries, one a
    line, in the order of the rows.

    Parameters
    ----------
    path : path or sequence of paths
        A file, also within gzip or alone in a zip archive; several are read one after the other,
        such as the parts of a fold.
    n_features : int, default=None
        Width of X. By default the largest feature number that occurs.
    sparse : bool, default=False
        Whether X is a CSR matrix. A dense one takes features up to 10,000, and one gigabyte
        (2^30 bytes), or ten times the bytes of the files if that is more.
    zero_based : bool, default=False
        Whether features are counted from 0. By default from 1.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``skipped_rows`` of the result.

    Returns
    -------
    Bunch
        ``X`` (rows, features), zero where a row does not name a feature; ``y``, the grades,
        integers if all are; ``qid``, integers, from 1 on in LightGBM's layout; ``names`` of
        the features, their numbers as str, or None if there are more than a million;
        ``comments``, a list of str, or None if no row has one; ``skipped_rows``.

    Raises
    ------
    ValueError
        With file, line and reason: a token that is not of its form, features that don't ascend
        from 1, a feature beyond ``n_features``, a row without a query, sizes of queries that
        don't add up to the rows, a dense X that is too large, an empty or binary file.

    Notes
    -----
    Lines that are blank or only a comment are passed over. Unlike scikit-learn's
    `load_svmlight_file` it wants every row's query, counts features from 1 and keeps comments.
    All numbers are the nearest doubles, as Python's. Where rows have queries of their own, a file
    with ``.query`` after its name is not read.

    References
    ----------
    T. Qin and T.-Y. Liu, Introducing LETOR 4.0 Datasets, arXiv:1306.2597, 2013. LightGBM's
    layout: https://lightgbm.readthedocs.io/en/stable/Parameters.html#query-data.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_letor
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "S1.txt"
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1 # docid = GX0\n0 qid:7 2:.25\n")
    ...     data = read_letor(path)
    >>> data.X
    array([[0.5 , 0.  , 1.  ],
           [0.  , 0.25, 0.  ]])
    >>> data.y, data.qid, data.comments
    (array([2, 0]), array([7, 7]), ['docid = GX0', ''])
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("path is an empty sequence, expected at least one file")
    check_flag(sparse, "sparse")
    check_flag(zero_based, "zero_based")
    if n_features is not None:
        check_whole(n_features, "n_features")
    if n_features is not None and not 1 <= n_features <= (SPARSE if sparse else DENSE):
        raise ValueError(f"n_features={n_features} must be 1 to 10,000, or pass sparse=True")
    limit = (n_features or (SPARSE if sparse else DENSE)) - zero_based
    first = int(not zero_based)
    sources = [clean(read_source(p)) for p in paths]
    sizes = [_sizes(p, source) for p, source in zip(paths, sources, strict=True)]
    if len({size is None for size in sizes}) > 1:
        counted = [size is not None for size in sizes]
        raise ValueError(
            f"{sources[counted.index(True)].label}: queries by their sizes, but "
            f"{sources[counted.index(False)].label} has qid in its rows; read them one by one"
        )
    bads = [BadRows(source, on_bad_rows) for source in sources]
    parts = [
        read_graded(source, Rules(limit, first, size is None, sparse), bad)
        for source, size, bad in zip(sources, sizes, bads, strict=True)
    ]
    width = n_features or max(1, *(part.X.shape[1] for part in parts))
    if not sparse:
        n_rows = sum(len(part.grades) for part in parts)
        check_dense((n_rows, width), sum(len(one.raw) for one in sources), sources[0].label)
    for part in parts:
        part.X.resize(part.X.shape[0], width)
    X = sp.vstack([part.X for part in parts], format="csr")
    grades = np.concatenate([part.grades for part in parts])
    whole = np.all(grades == np.floor(grades)) and np.all(np.abs(grades) < 2**53)
    comments = [text for part in parts for text in part.comments]
    return Bunch(
        X=X if sparse else X.toarray(),
        y=grades.astype(np.int64) if whole else grades,
        qid=_queries(parts, sizes, sources),
        names=[str(j) for j in range(first, first + width)] if width <= _NAMED else None,
        comments=comments if any(comments) else None,
        skipped_rows=sum(bad.count for bad in bads),
    )


def _sizes(path: PathLike, source: Source) -> Array | None:
    """Return the sizes of the queries from the file next to one without queries, else None."""
    if b"qid:" in source.raw:
        return None
    first = _ROW.search(source.raw)
    line = first[0].decode().removesuffix("\r") if first else ""
    grade, *rest = re.split(r"[ \t]+", line.partition("#")[0].strip(" \t"))
    if not is_number(grade) or (rest and not re.match("[0-9]+:", rest[0])):
        return None
    beside = next((name for name in _beside(path) if name.exists()), None)
    if beside is None:
        number = 1 + source.raw.count(b"\n", 0, first.start() if first else 0)
        raise ValueError(
            f"{source.label}:{number}: no query: write qid:number after each grade, or the numbers "
            f"of rows of the queries, one a line, into {_beside(path)[0]}"
        )
    size = Column("size", INTEGER, lambda sizes: sizes >= 1, "1 or more")
    sizes = read_layout(clean(read_source(beside)), Layout([size], ","), "raise")
    return sizes["size"].to_numpy()


def has_sizes(path: PathLike) -> bool:
    """Tell whether the sizes of the queries lie next to a file."""
    return any(name.exists() for name in _beside(path))


def _beside(path: PathLike) -> list[Path]:
    return [Path(f"{name}.query") for name in (path, os.fspath(path).removesuffix(".gz"))]


def _queries(
    parts: Sequence[Graded], sizes: Sequence[Array | None], sources: Sequence[Source]
) -> Array:
    """Join the queries; those of LightGBM's layout are numbered from 1 through all files."""
    found, before = [], 0
    for part, size, source in zip(parts, sizes, sources, strict=True):
        if size is None:
            found.append(part.qids)
            continue
        total = sum(size.tolist())
        if total != part.n_rows:
            raise ValueError(
                f"{source.label}: {part.n_rows} rows, but the sizes of the queries in its .query "
                f"file add up to {total}"
            )
        found.append(before + np.repeat(np.arange(1, len(size) + 1), size)[part.places])
        before += len(size)
    return np.concatenate(found)
