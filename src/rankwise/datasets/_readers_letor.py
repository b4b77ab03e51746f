"""LETOR, MSLR and LightGBM: svmlight lines, with queries in them or sizes of queries beside."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.utils import Bunch

from rankwise._core.arguments import check_flag, check_whole
from rankwise.datasets._loops import WHOLE, scan_letor
from rankwise.datasets._table import Array, Column, Layout, is_number, read_table
from rankwise.io.files import BadRows, PathLike, Source, clean, read_source

_DENSE, _SPARSE = 10_000, 2**31 - 1
# A dense X may take so many bytes, or so many times those of the files if that is more.
_X_BYTES, _X_RATIO = 2**30, 10
_NAMED = 10**6
_ROW = re.compile(rb"^[ \t]*+[^#\s][^\n]*", re.MULTILINE)
_SIZES = Layout((Column("size", WHOLE, lambda sizes: sizes > 0, "1 or more"),), b",")


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
    features, as svmlight writes it. In LightGBM's layout no row has a query; a file beside this
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
        ``X`` (rows, features), zero where a row does not name a feature; ``y``, the grades, whole
        numbers if all are; ``qid``, whole numbers, from 1 on in LightGBM's layout; ``names`` of
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
        raise ValueError("path is an empty sequence, wanted at least one file")
    check_flag(sparse, "sparse")
    check_flag(zero_based, "zero_based")
    if n_features is not None:
        check_whole(n_features, "n_features")
    if n_features is not None and not 1 <= n_features <= (_SPARSE if sparse else _DENSE):
        raise ValueError(f"n_features={n_features} must be 1 to 10,000, or pass sparse=True")
    limit = (n_features or (_SPARSE if sparse else _DENSE)) - zero_based
    sources = [clean(read_source(p)) for p in paths]
    parts = [
        _read(source, _sizes(p, source), limit, sparse, int(not zero_based), on_bad_rows)
        for p, source in zip(paths, sources, strict=True)
    ]
    width = n_features or max(part["width"] for part in parts)
    if not sparse:
        _check_bytes(8 * width * sum(len(part["grades"]) for part in parts), sources)
    X = sp.vstack(
        [
            sp.csr_matrix(part["entries"], shape=(len(part["grades"]), width), copy=False)
            for part in parts
        ],
        format="csr",
    )
    grades = np.concatenate([part["grades"] for part in parts])
    whole = np.all(grades == np.floor(grades)) and np.all(np.abs(grades) < 2**53)
    comments = [text for part in parts for text in part["comments"] or [""] * len(part["grades"])]
    first = int(not zero_based)
    return Bunch(
        X=X if sparse else X.toarray(),
        y=grades.astype(np.int64) if whole else grades,
        qid=_joined_queries(parts, sources),
        names=[str(j) for j in range(first, first + width)] if width <= _NAMED else None,
        comments=comments if any(comments) else None,
        skipped_rows=sum(part["skipped"] for part in parts),
    )


def _sizes(path: PathLike, source: Source) -> Array | None:
    """Return the sizes of the queries that lie beside a file without queries, else None."""
    if b"qid:" in source.raw:
        return None
    first = _ROW.search(source.raw)
    line = first[0].decode("latin-1").removesuffix("\r") if first else ""
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
    sizes = clean(read_source(beside))
    columns, _ = read_table(sizes, _SIZES, BadRows(sizes, "raise"))
    found: Array = columns["size"]
    return found


def has_sizes(path: PathLike) -> bool:
    """Tell whether the sizes of the queries lie beside a file."""
    return any(name.exists() for name in _beside(path))


def _beside(path: PathLike) -> list[Path]:
    return [Path(f"{name}.query") for name in (path, os.fspath(path).removesuffix(".gz"))]


def _check_bytes(wanted: int, sources: Sequence[Source]) -> None:
    room = max(_X_BYTES, _X_RATIO * sum(len(source.raw) for source in sources))
    if wanted > room:
        raise ValueError(
            f"{sources[0].label}: a dense X would take {wanted:,} bytes, more than {room:,}; pass "
            "sparse=True"
        )


def _joined_queries(parts: Sequence[dict[str, Any]], sources: Sequence[Source]) -> Array:
    """Join the queries; those of LightGBM's layout are numbered through all files."""
    counted = [part["sizes"] is not None for part in parts]
    if any(counted) and not all(counted):
        raise ValueError(
            f"{sources[counted.index(True)].label}: queries by their sizes, but "
            f"{sources[counted.index(False)].label} has qid in its rows; read them one by one"
        )
    before = 0
    found = []
    for part in parts:
        found.append(part["qids"] + before)
        before += len(part["sizes"]) if part["sizes"] is not None else 0
    return np.concatenate(found)


def _read(
    source: Source, sizes: Array | None, limit: int, sparse: bool, base: int, on_bad_rows: str
) -> dict[str, Any]:
    raw = source.raw
    bad = BadRows(source, on_bad_rows)
    grouped = sizes is None
    rows, entries = raw.count(b"\n"), raw.count(b":")
    grades, values = np.empty(rows), np.empty(entries)
    qids, lines, indptr = (np.empty(rows + extra, np.int64) for extra in (0, 0, 1))
    comments, indices = np.empty((2, rows), np.int64), np.empty(entries, np.int32)
    data = np.frombuffer(raw, np.uint8)
    room = 16
    while True:
        hard = np.empty((room, 3), np.int64)
        out = (grades, qids, lines, comments, indptr, indices, values, hard)
        read, count, line, at, room = scan_letor(data, limit, base, grouped, bad.stop, out)
        if room <= len(hard):
            break
    for place, first, past in hard[:room]:
        target, index = (grades, place) if place >= 0 else (values, -1 - place)
        target[index] = float(raw[first:past])
    if count:
        text = raw[at : raw.index(b"\n", at)].decode("latin-1").removesuffix("\r")
        reason = explain_letor(text, limit, sparse=sparse, base=base, grouped=grouped)
        bad.refuse(line, reason, count)
    bad.finish(read)
    end = indptr[read]
    used = indices[:end]
    spans = comments[:, :read].T.tolist() if b"#" in raw else []
    return {
        "grades": grades[:read],
        "qids": qids[:read] if sizes is None else _queries(qids[:read], read + count, sizes, bad),
        "sizes": sizes,
        "entries": (
            values[:end],
            used,
            indptr[: read + 1].astype(np.int32 if end < 2**31 else np.int64),
        ),
        "comments": [raw[i:j].decode("latin-1").strip() for i, j in spans],
        "width": int(used.max(initial=0)) + 1,
        "skipped": bad.count,
    }


def _queries(places: Array, n_rows: int, sizes: Array, bad: BadRows) -> Array:
    """Return the queries of the rows at these places, from 1, by the sizes of the queries."""
    total = sum(sizes.tolist())
    if total != n_rows:
        raise ValueError(
            f"{bad.label}: {n_rows} rows, but the sizes of the queries in its .query file add up "
            f"to {total}"
        )
    found: Array = np.repeat(np.arange(1, len(sizes) + 1), sizes)[places]
    return found


def explain_letor(
    text: str, limit: int, *, sparse: bool = False, base: int = 1, grouped: bool = True
) -> str:
    """Say why a line can't be read."""
    try:
        literal_letor(text, limit, sparse=sparse, base=base, grouped=grouped)
    except ValueError as error:
        return str(error)
    return "not a row of this form"


def literal_letor(
    text: str, limit: int, *, sparse: bool = False, base: int = 1, grouped: bool = True
) -> tuple[float, int, dict[int, float]]:
    """Read one line token by token; a ValueError says what is wrong."""
    tokens = re.split(r"[ \t]+", text.partition("#")[0].strip(" \t"))
    if not is_number(tokens[0]):
        raise ValueError(f"the grade is {tokens[0][:40]!r}, wanted a number")
    if grouped and (len(tokens) < 2 or not re.fullmatch(r"qid:[0-9]{1,15}", tokens[1])):
        shown = repr(tokens[1][:40]) if len(tokens) > 1 else "the end of the line"
        raise ValueError(f"after the grade comes {shown}, wanted qid:number")
    features: dict[int, float] = {}
    last = base - 1
    for token in tokens[1 + grouped :]:
        match = re.fullmatch(r"([0-9]{1,15}):(.*)", token)
        if match is None or not is_number(match[2]):
            raise ValueError(f"{token[:40]!r} is not of the form feature:value")
        feature = int(match[1])
        if feature <= last:
            hint = "; pass zero_based=True if they count from 0" if feature == 0 == last else ""
            raise ValueError(
                f"feature {feature} is out of order, wanted ascending from {base}{hint}"
            )
        if feature > limit:
            hint = "" if sparse or limit < _DENSE - 1 else "; pass sparse=True for so many"
            raise ValueError(f"feature {feature} is beyond the largest, {limit}{hint}")
        last = feature
        features[feature] = float(match[2])
    return float(tokens[0]), int(tokens[1][4:]) if grouped else 0, features
