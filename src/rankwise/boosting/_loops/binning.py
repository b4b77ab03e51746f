"""Edges between bins, and the bins of values."""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled
from rankwise.boosting._loops.bins import WIDTH

# Equal parts of the range of a feature, which say where to begin to look for a value.
CELLS = 1024
# Values that are put into bins at a time: 256 KB, which stay in the cache.
TILE = 1 << 15


class Edges(NamedTuple):
    """The edges of d features.

    - ``values`` (n_edges,): those of feature f are ``values[starts[f] : starts[f + 1]]``, rising,
      the last of them infinity;
    - ``starts`` (d + 1,);
    - ``cells`` (d, CELLS + 1), ``low``, ``scale`` (d,): what `find_tables` returns.
    """

    values: np.ndarray
    starts: np.ndarray
    cells: np.ndarray
    low: np.ndarray
    scale: np.ndarray


@compiled(error_model="numpy")
def take_columns(X, rows, first, last, out):
    """Fill the columns first to last of ``out`` (d, n) with the given rows of X (m, d)."""
    for i in range(first, last):
        for f in range(X.shape[1]):
            out[f, i] = X[rows[i], f]


@compiled(error_model="numpy")
def bin_rows(X, places, first, last, edges, codes, missing):
    """Fill the codes of rows first to last of X, and mark features with a missing value.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    places : ndarray of shape (m,)
        Row i of X is row ``places[i]`` of the codes.
    first, last : int
    edges : Edges
    codes : ndarray of shape (n_blocks, m, WIDTH)
        As in `Dense`.
    missing : ndarray of shape (d,)
    """
    d = X.shape[1]
    # Rows are read whole and in turn, and a few at a time stay in the cache.
    few = np.empty((d, max(1, min(last - first, TILE // d))))
    where, found = np.empty(few.shape[1], np.int32), np.empty((few.shape[1], WIDTH), codes.dtype)
    for i in range(few.shape[1]):
        for k in range(WIDTH):
            found[i, k] = 0
    for begin in range(first, last, few.shape[1]):
        n = min(few.shape[1], last - begin)
        for i in range(n):
            for f in range(d):
                few[f, i] = X[begin + i, f]
        for f in range(d):
            mine, out = edges.values[edges.starts[f] : edges.starts[f + 1]], found[:n, f % WIDTH]
            cells, low, scale = edges.cells[f], edges.low[f], edges.scale[f]
            if _place(few[f, :n], mine, cells, low, scale, where, out):
                missing[f] = True
            if f % WIDTH == WIDTH - 1 or f == d - 1:
                words, out_words = found.view(np.uint64), codes[f // WIDTH].view(np.uint64)
                for i in range(n):
                    place = np.uint64(places[begin + i])
                    for k in range(words.shape[1]):
                        out_words[place, k] = words[i, k]


@compiled(error_model="numpy")
def bin_columns(values, indptr, edges, starts, codes, zero, missing):
    """Fill the codes of the entries of a CSC matrix, and those of zeros.

    Parameters
    ----------
    values : ndarray of shape (n_entries,)
    indptr : ndarray of shape (d + 1,)
        Feature f has the entries ``indptr[f]`` to ``indptr[f + 1]``.
    edges, starts : ndarrays of shape (n_edges,) and (d + 1,)
        As ``values`` and ``starts`` of `Edges`; tables for all features could be too large.
    codes : ndarray of shape (n_entries,)
    zero, missing : ndarrays of shape (d,)
    """
    where = np.empty(max(1, values.shape[0]), dtype=np.int32)
    for f in range(zero.shape[0]):
        cells, low, scale = find_tables(edges, starts, f, f + 1)
        entries, mine = slice(indptr[f], indptr[f + 1]), edges[starts[f] : starts[f + 1]]
        missing[f] = _place(
            values[entries], mine, cells[0], low[0], scale[0], where, codes[entries]
        )
        _place(np.zeros(1), mine, cells[0], low[0], scale[0], where, zero[f : f + 1])


@compiled(error_model="numpy")
def find_tables(edges, starts, first, last):
    """Return tables of the features first to last that say where to look for a value.

    The range of a feature's edges is divided into CELLS equal parts. The cell of x is
    ``(x / 2 - low[f]) * scale[f]``, and ``cells[f, c]`` is the number of edges in the cells below
    c. The cell of a value rises with the value, so these edges are below all values of the cell.
    Halves can't overflow when they are subtracted.
    """
    cells = np.empty((last - first, CELLS + 1), dtype=np.int32)
    low, scale = np.empty(last - first), np.empty(last - first)
    for f in range(first, last):
        k, begin, end = f - first, starts[f], starts[f + 1] - 1
        low[k] = scale[k] = 0.0
        if end - begin > 1:
            low[k] = 0.5 * edges[begin]
            scale[k] = CELLS / max(0.5 * edges[end - 1] - low[k], 1e-290)
        p = begin
        for cell in range(CELLS):
            cells[k, cell] = p - begin
            while p < end and min((0.5 * edges[p] - low[k]) * scale[k], CELLS - 1.0) < cell + 1:
                p += 1
        cells[k, CELLS] = end - begin
    return cells, low, scale


@compiled(inner=True, error_model="numpy")
def _place(values, edges, cells, low, scale, where, out):
    """Fill ``out`` (n,) with the number of edges below each value; return whether one is missing.

    ``where`` (n or more,) is room to work in.
    """
    n_missing = 0
    for i in range(values.shape[0]):
        way = (0.5 * values[i] - low) * scale
        way = way if way > 0.0 else 0.0
        where[i] = np.int32(way if way < CELLS - 1.0 else CELLS - 1.0)
        n_missing += values[i] != values[i]
    for i in range(values.shape[0]):
        x, cell = values[i], np.uint32(where[i])
        left = np.uint64(cells[cell])
        # Most cells have one edge or none: no branch that can't be foreseen.
        left += np.uint64(edges[left] < x)
        if edges[left] < x:
            right = np.uint64(cells[cell + np.uint32(1)])
            while left < right:
                middle = (left + right) >> np.uint64(1)
                if edges[middle] < x:
                    left = middle + np.uint64(1)
                else:
                    right = middle
        out[i] = left
    if n_missing:
        for i in range(values.shape[0]):
            if np.isnan(values[i]):
                out[i] = edges.shape[0]
    return n_missing > 0


@compiled(error_model="numpy")
def even_edges(ordered, out):
    """Fill edges between bins of an equal number of sorted values, halfway between two of them.

    ``ordered`` (n,) are the values, ``out`` (n_bins - 1,) the edges. Returns whether it did, which
    takes values that are all different.
    """
    n, n_bins = ordered.shape[0], out.shape[0] + 1
    for i in range(n - 1):
        if ordered[i] == ordered[i + 1]:
            return False
    for p in range(1, n_bins):
        i = p * n // n_bins - 1
        low, high = ordered[i], ordered[i + 1]
        middle = 0.5 * low + 0.5 * high
        out[p - 1] = middle if low <= middle < high else low
    return True
