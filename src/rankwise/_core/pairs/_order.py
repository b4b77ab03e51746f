"""The order of rows by value, query by query."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.keys import BITS, pack, unpack

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]

MOST_BITS = 51
LONG = 512
"""Rows that a query must have on average to be worth a separate sort."""


def sorted_rows(values: Floats, starts: NDArray[np.int64] | None = None) -> tuple[Rows, Floats]:
    """Return the rows of each query sorted by value, stably, and their values; O(m log m).

    Parameters
    ----------
    values : ndarray of shape (m,)
        Finite, query by query.
    starts : ndarray of shape (n_queries + 1,), default=None
        Where each query begins, and m. None: one query.
    """
    return read_rows(sorted_keys(values, starts), values, starts)


def sorted_keys(values: Floats, starts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the sorted keys of the rows; a key ends with the bits of its row."""
    keys = _keys(values, starts)
    floats = keys.view(np.float64)
    if starts is not None and len(keys) >= LONG * (len(starts) - 1):
        for start, stop in pairwise(starts.tolist()):
            floats[start:stop].sort()
    else:
        floats.sort()
    return keys


def read_rows(
    keys: NDArray[np.int64], values: Floats, starts: NDArray[np.int64] | None = None
) -> tuple[Rows, Floats]:
    """Return what `sorted_rows` does from sorted keys, whose memory it takes."""
    rows, ordered = np.empty(len(values), np.int32), keys.view(np.float64)
    if unpack(keys, row_bits(keys), values, rows, ordered):
        _sort_shared_keys(_keys(values, starts)[rows] >> row_bits(keys), rows, ordered)
    return rows, ordered


def row_bits(keys: NDArray[np.int64]) -> int:
    """Return how many bits of a key are its row."""
    return len(keys).bit_length()


def _keys(values: Floats, starts: NDArray[np.int64] | None) -> NDArray[np.int64]:
    keys, edges = np.empty(len(values), np.int64), starts
    if edges is None:
        edges = np.array([0, len(values)])
    free = BITS - row_bits(keys) - (len(edges) - 2).bit_length()
    values = np.ascontiguousarray(values)
    pack(values, edges, row_bits(keys), min(free, MOST_BITS), keys)
    return keys


def equal_runs(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where runs of equal values of a query start, and the number of values."""
    last = np.append(values[1:] != values[:-1], True)
    last[starts[1:] - 1] = True
    return np.append(0, np.flatnonzero(last) + 1)


def sort_ties(rows: Rows, t: Floats, y: Floats, starts: NDArray[np.int64]) -> None:
    """Sort the rows of equal t of a query by their y, stably, in place; t is sorted."""
    sizes = np.diff(equal_runs(t, starts))
    positions, order, _ = _sorted_runs(y[rows], sizes, sizes > 1)
    rows[positions] = rows[positions][order]


def _sort_shared_keys(keys: NDArray[np.int64], rows: Rows, ordered: Floats) -> None:
    """Sort the values that share a key and are out of order, in place."""
    shared = keys[1:] == keys[:-1]
    run = np.append(0, np.cumsum(~shared))
    wrong = np.zeros(run[-1] + 1, dtype=np.bool_)
    wrong[run[1:][shared & (ordered[1:] < ordered[:-1])]] = True
    positions, order, values = _sorted_runs(ordered, np.bincount(run), wrong)
    ordered[positions], rows[positions] = values, rows[positions][order]


def _sorted_runs(
    values: Floats, sizes: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Rows, Floats]:
    """Sort some runs of values: return where they are, their order and the sorted values."""
    positions = np.flatnonzero(np.repeat(chosen, sizes))
    # as queries of their own
    starts = np.append(0, np.cumsum(sizes[chosen]))
    return positions, *sorted_rows(values[positions], starts)
