"""Features cut into bins, the rows above a cut, and histograms of a part of the rows.

The bin of a value is the number of edges below it. A missing value has the bin after the last one
of its feature.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

# Features whose codes of a row lie side by side; codes of a byte are then one word.
WIDTH = 8


class Dense(NamedTuple):
    """Bins of m rows and d features.

    - ``codes`` (n_blocks, m, WIDTH): ``codes[b, i, k]`` is the bin of row i and feature
      WIDTH b + k; uint8, or uint32 if a feature has more than 255 bins;
    - ``n_bins`` (d,): the number of bins of each feature;
    - ``missing`` (d,): whether it has missing values.
    """

    codes: np.ndarray
    n_bins: np.ndarray
    missing: np.ndarray


class Sparse(NamedTuple):
    """Bins of the entries of a CSC matrix of m rows and d features.

    - ``codes``, ``rows`` (n_entries,): the bin and the row of each entry, rows rising in a feature;
    - ``indptr`` (d + 1,): feature f has the entries ``indptr[f]`` to ``indptr[f + 1]``;
    - ``zero`` (d,): the bin of rows without an entry;
    - ``n_bins``, ``missing`` (d,): as in `Dense`.
    """

    codes: np.ndarray
    rows: np.ndarray
    indptr: np.ndarray
    zero: np.ndarray
    n_bins: np.ndarray
    missing: np.ndarray


class Part(NamedTuple):
    """Some rows and what each adds to a histogram, in whole numbers: one, or two side by side.

    For `Dense`, ``values`` (n,) or (n, 2) are those of ``rows`` (n,). For `Sparse` they are those
    of the rows ``start`` to ``start + n``, 0 for those that are not meant, and ``total`` (1,) or
    (2,) is their sum.
    """

    rows: np.ndarray
    values: np.ndarray
    start: int
    total: np.ndarray


def is_dense(bins):
    """Return whether bins, or the numba type of bins, are `Dense`."""
    if isinstance(bins, types.Type):
        return bins.instance_class is Dense
    return isinstance(bins, Dense)


def fill_column(bins, f, out):
    """Fill ``out`` (m,) with the bins of feature f."""
    (_dense_column if is_dense(bins) else _sparse_column)(bins, f, out)


@overload(fill_column)
def _fill_column(bins, f, out):
    return _dense_column if is_dense(bins) else _sparse_column


def _dense_column(bins, f, out):
    column, k = bins.codes[f // WIDTH], f % WIDTH
    for i in range(out.shape[0]):
        out[i] = column[i, k]


def _sparse_column(bins, f, out):
    for i in range(out.shape[0]):
        out[i] = bins.zero[f]
    for p in range(bins.indptr[f], bins.indptr[f + 1]):
        out[bins.rows[p]] = bins.codes[p]


def fill_above(bins, f, cut, missing_above, rows, out):
    """Fill ``out`` (n,) with the base ranker of the rows (n,), which rise.

    It is 1 for rows whose bin is ``cut`` or more, and for missing ones if ``missing_above``.
    """
    fill = _dense_above if is_dense(bins) else _sparse_above
    fill(bins, f, cut, missing_above, rows, out)


@overload(fill_above)
def _fill_above(bins, f, cut, missing_above, rows, out):
    return _dense_above if is_dense(bins) else _sparse_above


def _dense_above(bins, f, cut, missing_above, rows, out):
    # A missing value has the highest code, so the rows above are those of a range of codes.
    block, k = bins.codes[f // WIDTH], f % WIDTH
    least, most = np.uint32(cut), np.uint32(bins.n_bins[f] - 1 + missing_above)
    for t in range(rows.shape[0]):
        code = np.uint32(block[rows[t], k])
        out[t] = (least <= code) & (code <= most)


def _sparse_above(bins, f, cut, missing_above, rows, out):
    t, n = 0, rows.shape[0]
    for p in range(bins.indptr[f], bins.indptr[f + 1]):
        while t < n and rows[t] < bins.rows[p]:
            out[t] = bins.zero[f] >= cut
            t += 1
        if t < n and rows[t] == bins.rows[p]:
            code = bins.codes[p]
            out[t] = missing_above if code == bins.n_bins[f] else code >= cut
            t += 1
    while t < n:
        out[t] = bins.zero[f] >= cut
        t += 1


def add_part(bins, begin, end, part, hist):
    """Add a part of the rows to the histograms of features begin to end.

    ``hist`` has the shape (WIDTH, stride), or (WIDTH, stride, 2) if values are two. ``begin`` is a
    multiple of WIDTH, and ``end`` at most WIDTH more. Histograms of parts add up.
    """
    _way_to_add(is_dense(bins), bins.codes.dtype.itemsize)(bins, begin, end, part, hist)


@overload(add_part)
def _add_part(bins, begin, end, part, hist):
    return _way_to_add(is_dense(bins), bins.types[0].dtype.bitwidth // 8)


def _way_to_add(dense, n_bytes):
    if not dense:
        return _add_entries
    return _add_words if n_bytes == 1 else _add_codes


def _add_words(bins, begin, end, part, hist):
    # The bins of a row are one word.
    words, byte = bins.codes[begin // WIDTH].view(np.uint64)[:, 0], np.uint64(255)
    rows, values = part.rows, part.values
    if 2 * (end - begin) > WIDTH:
        for t in range(rows.shape[0]):
            word, value = words[rows[t]], take(values, t)
            for k in range(WIDTH):
                add(hist, k, (word >> np.uint64(8 * k)) & byte, value)
    else:
        for t in range(rows.shape[0]):
            word, value = words[rows[t]], take(values, t)
            for k in range(WIDTH // 2):
                add(hist, k, (word >> np.uint64(8 * k)) & byte, value)


def _add_codes(bins, begin, end, part, hist):
    block, rows, values = bins.codes[begin // WIDTH], part.rows, part.values
    for t in range(rows.shape[0]):
        i, value = rows[t], take(values, t)
        for k in range(end - begin):
            add(hist, k, block[i, k], value)


def _add_entries(bins, begin, end, part, hist):
    n, cells = part.values.shape[0], hist.reshape((hist.shape[0], hist.shape[1], -1))
    values, start = part.values.reshape((n, cells.shape[2])), part.start
    for f in range(begin, end):
        cell, zero, p, last = cells[f - begin], bins.zero[f], bins.indptr[f], bins.indptr[f + 1]
        for w in range(cells.shape[2]):
            cell[zero, w] += part.total[w]
        if start > 0:
            p += np.searchsorted(bins.rows[p:last], start)
        while p < last and bins.rows[p] < start + n:
            for w in range(cells.shape[2]):
                cell[bins.codes[p], w] += values[bins.rows[p] - start, w]
                cell[zero, w] -= values[bins.rows[p] - start, w]
            p += 1


def take(values, t):
    """Return what row t adds."""
    return values[t]


@overload(take)
def _take(values, t):
    if values.ndim == 1:
        return lambda values, t: values[t]
    return lambda values, t: (values[t, 0], values[t, 1])


def add(hist, k, p, value):
    """Add a value to bin p of feature k."""
    hist[k, p] += value


@overload(add)
def _add(hist, k, p, value):
    return _add_one if hist.ndim == 2 else _add_two


def _add_one(hist, k, p, value):
    hist[k, p] += value


def _add_two(hist, k, p, value):
    hist[k, p, 0] += value[0]
    hist[k, p, 1] += value[1]
