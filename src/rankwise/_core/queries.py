"""Encode `qid` as integers, and group rows by query.

The one place that reads a `qid`, for estimators, metrics and validation alike.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.keys import counting_sort
from rankwise._core.arguments import as_array
from rankwise._core.inputs import refuse_masked
from rankwise._core.labels import any_missing, sorted_labels, to_ranks

_MIXED = "qid mixes names that can't be sorted: use integers or strings"


def encode_queries(qid: Any, n: int) -> tuple[NDArray[np.int64], int]:
    """Return a code 0..n_queries-1 for each row, in the sorted order of the queries' names.

    Sorted codes make every sum over queries independent of the order of the rows.

    Parameters
    ----------
    qid : array-like of shape (n,) or None
        Integers or strings, equal for the rows of one query, in any row order. None: one query.
    n : int
        The number of rows.

    Returns
    -------
    codes : ndarray of shape (n,)
    n_queries : int
        Every code below it occurs.

    Raises
    ------
    ValueError
        If ``qid`` is not a 1-D array of n integers or strings.
    """
    if qid is None:
        return np.zeros(n, dtype=np.int64), 1
    refuse_masked(qid, "qid")
    values = as_array(qid, "qid")
    if values.ndim != 1:
        raise ValueError(f"qid must be 1-D, one name a row, but its shape is {values.shape}")
    if len(values) != n:
        raise ValueError(f"qid has {len(values)} entries for {n} rows: give each row its query")
    # NumPy makes strings of other names in a list: 1 would become "1"
    if (
        values.dtype.kind in "US"
        and not hasattr(qid, "dtype")
        and not any(all(isinstance(name, kind) for name in qid) for kind in (str, bytes))
    ):
        raise ValueError(_MIXED)
    if any_missing(values):
        raise ValueError("qid contains NaN: a row must belong to a query; drop it or name one")
    if values.dtype.kind in "biu":
        names = sorted_labels(values)
        return to_ranks(values, names, "qid"), len(names)
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = values.astype(np.float64)
        whole = np.trunc(values)
        if not np.array_equal(whole, values) or np.abs(values).max(initial=0) > 2.0**53:
            raise ValueError(
                f"qid holds {values[(whole != values) | (np.abs(values) > 2.0**53)][0]}, which "
                "names no query: use integers or strings"
            )
        return encode_queries(values.astype(np.int64), n)
    listed = values.tolist()
    try:
        code_of = {name: code for code, name in enumerate(sorted(set(listed)))}
    except TypeError as error:
        raise ValueError(_MIXED) from error
    codes = np.fromiter((code_of[name] for name in listed), dtype=np.int64, count=n)
    return codes, len(code_of)


def group_rows(codes: NDArray[Any], n_queries: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows in the order of their codes, and where each query starts among them; O(n).

    Parameters
    ----------
    codes : ndarray of shape (n,)
        As from `encode_queries`.
    n_queries : int
        Above every code.

    Returns
    -------
    order : ndarray of shape (n,)
        Rows of query q, in their own order, are ``order[starts[q] : starts[q + 1]]``.
    starts : ndarray of shape (n_queries + 1,)
    """
    starts, order = np.zeros(n_queries + 1, dtype=np.int64), np.empty(len(codes), dtype=np.int64)
    counting_sort(codes, starts, np.empty(n_queries, dtype=np.int64), order)
    return order, starts


def positions_in_queries(
    ranked: NDArray[np.int64], codes: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the position of each row in its query, from 1.

    Parameters
    ----------
    ranked : ndarray of shape (n,)
        The rows query by query, best first.
    codes, starts : ndarrays of shapes (n,) and (n_queries + 1,)
        The query of each row, and where each query starts in ``ranked``.
    """
    positions = np.empty(len(codes), dtype=np.int64)
    positions[ranked] = 1 + np.arange(len(codes)) - starts[codes[ranked]]
    return positions
