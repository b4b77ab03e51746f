"""Features cut into bins: the number of edges below a value, dense or by column.

A missing value has the bin after the last one of its feature.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.machine.prefetch import ask_for

WIDTH = 8
CELLS = 1024
TILE = 1 << 15
AHEAD = 32


class Dense(NamedTuple):
    """Bins of all rows: ``codes[b, i, k]`` is that of row i and feature WIDTH b + k."""

    codes: np.ndarray
    n_bins: np.ndarray
    missing: np.ndarray


class Sparse(NamedTuple):
    """Bins of the entries of a CSC matrix; an entry that is not there has ``zero[f]``."""

    codes: np.ndarray
    rows: np.ndarray
    indptr: np.ndarray
    zero: np.ndarray
    n_bins: np.ndarray
    missing: np.ndarray


def fill_column(bins, f, out):  # pragma: no cover
    """Fill ``out`` with the bins of feature f."""
    raise TypeError("fill_column runs in compiled code only")


@overload(fill_column)
def _fill_column(bins, f, out):
    if isinstance(bins.types[0], types.Array) and bins.types[0].ndim == 3:

        def dense(bins, f, out):
            column = bins.codes[f // WIDTH]
            for i in range(out.shape[0]):
                out[i] = column[i, f % WIDTH]

        return dense

    def by_column(bins, f, out):
        out[:] = bins.zero[f]
        for p in range(bins.indptr[f], bins.indptr[f + 1]):
            out[bins.rows[p]] = bins.codes[p]

    return by_column


@compiled(error_model="numpy")
def take_columns(X, rows, first, last, out):
    """Fill the columns from first to last with the given rows."""
    for i in range(first, last):
        ask_for(X, rows[min(i + AHEAD, last - 1)])
        for f in range(X.shape[1]):
            out[f, i] = X[rows[i], f]


@compiled(error_model="numpy")
def bin_rows(X, places, first, last, edges, starts, tables, codes, missing):
    """Fill the codes of rows first to last of X; row i of it is row ``places[i]`` of them.

    The edges of feature f are ``edges[starts[f] : starts[f + 1]]``, the last of them infinity;
    ``tables`` are those of `find_tables`.
    Features with a missing value are marked.
    """
    d = X.shape[1]
    cells, low, scale = tables
    # Rows are read whole and in turn, and a few at a time stay in the cache.
    few = np.empty((d, max(1, min(last - first, TILE // d))))
    where, found = np.empty(few.shape[1], np.int32), np.zeros((few.shape[1], WIDTH), codes.dtype)
    for begin in range(first, last, few.shape[1]):
        n = min(few.shape[1], last - begin)
        for i in range(n):
            ask_for(X, begin + i + AHEAD)
            for f in range(d):
                few[f, i] = X[begin + i, f]
        for f in range(d):
            mine, out = edges[starts[f] : starts[f + 1]], found[:n, f % WIDTH]
            if _place(few[f, :n], mine, cells[f], low[f], scale[f], where, out):
                missing[f] = True
            if f % WIDTH == WIDTH - 1 or f == d - 1:
                words, out_words = found.view(np.uint64), codes[f // WIDTH].view(np.uint64)
                for i in range(n):
                    place = np.uint64(places[begin + i])
                    for k in range(words.shape[1]):
                        out_words[place, k] = words[i, k]


@compiled(error_model="numpy")
def bin_columns(values, indptr, edges, starts, codes, zero, missing):
    """Fill the codes of the values of each column, and those of zeros."""
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
    """Return where the edges of each of CELLS equal parts of their range begin.

    The cell of a value rises with the value, so edges in lower cells are below it. Halves can't
    overflow when they are subtracted.
    """
    cells = np.empty((last - first, CELLS + 1), dtype=np.int32)
    low, scale = np.zeros(last - first), np.zeros(last - first)
    for f in range(first, last):
        k, begin, end = f - first, starts[f], starts[f + 1] - 1
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


@compiled(error_model="numpy")
def _place(values, edges, cells, low, scale, where, out):
    """Fill the numbers of edges below the values; return whether one is missing."""
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

    Returns whether it did, which takes values that are all different.
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
