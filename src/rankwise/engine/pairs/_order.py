"""The order of rows by value, query by query."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops.keys import BITS, pack, unpack

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]

MOST_BITS = 51
LONG = 512
"""Rows that a query must have on average to be worth a sort of its own."""


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
        _settle(_keys(values, starts)[rows] >> row_bits(keys), rows, ordered)
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


def _settle(keys: NDArray[np.int64], rows: Rows, ordered: Floats) -> None:
    """Sort the values that share a key and are out of order: as queries of their own."""
    shared = keys[1:] == keys[:-1]
    run = np.append(0, np.cumsum(~shared))
    wrong = np.zeros(run[-1] + 1, dtype=np.bool_)
    wrong[run[1:][shared & (ordered[1:] < ordered[:-1])]] = True
    places = np.flatnonzero(wrong[run])
    starts = np.append(0, np.cumsum(np.bincount(run)[wrong]))
    order, ordered[places] = sorted_rows(ordered[places], starts)
    rows[places] = rows[places][order]
