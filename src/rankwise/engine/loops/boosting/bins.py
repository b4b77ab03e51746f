"""Features cut into bins, and the rows above a cut.

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

    - ``codes``, ``rows`` (n_entries,): the bin and the row of each entry;
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
    column = bins.codes[f // WIDTH]
    for i in range(out.shape[0]):
        out[i] = column[i, f % WIDTH]


def _sparse_column(bins, f, out):
    for i in range(out.shape[0]):
        out[i] = bins.zero[f]
    for p in range(bins.indptr[f], bins.indptr[f + 1]):
        out[bins.rows[p]] = bins.codes[p]


def fill_above(bins, f, cut, missing_above, start, out):
    """Fill ``out`` (n,) with the base ranker of the rows ``start`` to ``start + n``.

    It is 1 for rows whose bin is ``cut`` or more, and for missing ones if ``missing_above``.
    """
    fill = _dense_above if is_dense(bins) else _sparse_above
    fill(bins, f, cut, missing_above, start, out)


@overload(fill_above)
def _fill_above(bins, f, cut, missing_above, start, out):
    return _dense_above if is_dense(bins) else _sparse_above


def _dense_above(bins, f, cut, missing_above, start, out):
    # A missing value has the highest code, so the rows above are those of a range of codes.
    block, k = bins.codes[f // WIDTH, start:], f % WIDTH
    least, most = np.uint32(cut), np.uint32(bins.n_bins[f] - 1 + missing_above)
    for i in range(out.shape[0]):
        code = np.uint32(block[i, k])
        out[i] = (least <= code) & (code <= most)


def _sparse_above(bins, f, cut, missing_above, start, out):
    for i in range(out.shape[0]):
        out[i] = bins.zero[f] >= cut
    for p in range(bins.indptr[f], bins.indptr[f + 1]):
        i, code = bins.rows[p] - start, bins.codes[p]
        if 0 <= i < out.shape[0]:
            out[i] = missing_above if code == bins.n_bins[f] else code >= cut
