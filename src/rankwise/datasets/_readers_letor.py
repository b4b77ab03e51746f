"""LETOR and MSLR: svmlight lines with queries and comments."""

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.utils import Bunch

from rankwise.datasets._files import BadRows, PathLike, Source, clean, read_source
from rankwise.datasets._table import is_number
from rankwise.engine.loops.text import scan_letor

_DENSE, _SPARSE = 10_000, 2**31 - 1


def read_letor(
    path: PathLike | Sequence[PathLike],
    *,
    n_features: int | None = None,
    sparse: bool = False,
    on_bad_rows: str = "raise",
) -> Bunch:
    r"""Read LETOR or MSLR files: documents that are graded by query.

    A line is ``grade qid:number feature:value feature:value # comment``, with any number of
    features, as svmlight writes it.

    Parameters
    ----------
    path : path or sequence of paths
        A file, also within gzip or alone in a zip archive; several are read one after the other,
        such as the parts of a fold.
    n_features : int, default=None
        Width of X. By default the largest feature number that occurs.
    sparse : bool, default=False
        Whether X is a CSR matrix. A dense one takes features up to 10,000.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``skipped_rows`` of the result.

    Returns
    -------
    Bunch
        ``X`` (rows, features), zero where a row does not name a feature; ``y``, the grades, whole
        numbers if all are; ``qid``, whole numbers; ``names`` of the features, their numbers as
        str; ``comments``, a list of str, or None if no row has one; ``skipped_rows``.

    Raises
    ------
    ValueError
        With file, line and reason: a token that is not of its form, features that don't ascend
        from 1, a feature beyond ``n_features``, a row without a query, an empty or binary file.

    Notes
    -----
    Lines that are blank or only a comment are passed over. Unlike scikit-learn's
    `load_svmlight_file` it wants a query in every row, counts features from 1 and keeps comments.
    All numbers are the nearest doubles, as Python's.

    References
    ----------
    T. Qin and T.-Y. Liu, Introducing LETOR 4.0 Datasets, arXiv:1306.2597, 2013.

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
    if n_features is not None and not 1 <= n_features <= (_SPARSE if sparse else _DENSE):
        raise ValueError(f"n_features={n_features} must be 1 to 10,000, or pass sparse=True")
    limit = n_features or (_SPARSE if sparse else _DENSE)
    parts = [_read(clean(read_source(p)), limit, sparse, on_bad_rows) for p in paths]
    width = n_features or max(part["width"] for part in parts)
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
    return Bunch(
        X=X if sparse else X.toarray(),
        y=grades.astype(np.int64) if whole else grades,
        qid=np.concatenate([part["qids"] for part in parts]),
        names=[str(j) for j in range(1, width + 1)],
        comments=comments if any(comments) else None,
        skipped_rows=sum(part["skipped"] for part in parts),
    )


def _read(source: Source, limit: int, sparse: bool, on_bad_rows: str) -> dict[str, Any]:
    raw = source.raw
    bad = BadRows(source, on_bad_rows)
    rows, entries = raw.count(b"\n"), raw.count(b":")
    grades, values = np.empty(rows), np.empty(entries)
    qids, lines, indptr = (np.empty(rows + extra, np.int64) for extra in (0, 0, 1))
    comments, indices = np.empty((2, rows), np.int64), np.empty(entries, np.int32)
    room = 16
    while True:
        hard = np.empty((room, 3), np.int64)
        out = (grades, qids, lines, comments, indptr, indices, values, hard)
        read, count, line, at, room = scan_letor(np.frombuffer(raw, np.uint8), limit, bad.stop, out)
        if room <= len(hard):
            break
    for place, first, past in hard[:room]:
        target, index = (grades, place) if place >= 0 else (values, -1 - place)
        target[index] = float(raw[first:past])
    if count:
        text = raw[at : raw.index(b"\n", at)].decode("latin-1").removesuffix("\r")
        bad.refuse(line, explain_letor(text, limit, sparse=sparse), count)
    bad.finish(read)
    end = indptr[read]
    used = indices[:end]
    spans = comments[:, :read].T.tolist() if b"#" in raw else []
    return {
        "grades": grades[:read],
        "qids": qids[:read],
        "entries": (
            values[:end],
            used,
            indptr[: read + 1].astype(np.int32 if end < 2**31 else np.int64),
        ),
        "comments": [raw[i:j].decode("latin-1").strip() for i, j in spans],
        "width": int(used.max(initial=0)) + 1,
        "skipped": bad.count,
    }


def explain_letor(text: str, limit: int, *, sparse: bool = False) -> str:
    """Say why a line can't be read."""
    try:
        literal_letor(text, limit, sparse=sparse)
    except ValueError as error:
        return str(error)
    return "not a row of this form"


def literal_letor(
    text: str, limit: int, *, sparse: bool = False
) -> tuple[float, int, dict[int, float]]:
    """Read one line token by token; a ValueError says what is wrong."""
    tokens = re.split(r"[ \t]+", text.partition("#")[0].strip(" \t"))
    if not is_number(tokens[0]):
        raise ValueError(f"the grade is {tokens[0][:40]!r}, wanted a number")
    if len(tokens) < 2 or not re.fullmatch(r"qid:[0-9]{1,15}", tokens[1]):
        shown = repr(tokens[1][:40]) if len(tokens) > 1 else "the end of the line"
        raise ValueError(f"after the grade comes {shown}, wanted qid:number")
    features: dict[int, float] = {}
    for token in tokens[2:]:
        match = re.fullmatch(r"([0-9]{1,15}):(.*)", token)
        if match is None or not is_number(match[2]):
            raise ValueError(f"{token[:40]!r} is not of the form feature:value")
        feature = int(match[1])
        if feature <= max(features, default=0):
            raise ValueError(f"feature {feature} is out of order, wanted ascending from 1")
        if feature > limit:
            hint = "" if sparse or limit != _DENSE else "; pass sparse=True for so many"
            raise ValueError(f"feature {feature} is beyond the largest, {limit}{hint}")
        features[feature] = float(match[2])
    return float(tokens[0]), int(tokens[1][4:]), features
