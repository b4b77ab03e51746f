"""One vocabulary for the rows of dense and CSR matrices, so that each algorithm is written once."""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from scipy import sparse

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.prefetch import ask_ahead
from rankwise.engine.loops.shapes import as_floats, check_shape, row_count, row_width

# Sums may be reordered and fused, never assumed finite: the loops look for nan.
SUMS = {"reassoc", "contract"}


class CSR(NamedTuple):
    """The arrays of a CSR matrix, and how many columns it has."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_columns: int


def as_rows(X: Any) -> Any:
    """Return X as the loops take it: a C-ordered array, or a `CSR` of its three arrays.

    What is in such a form already stays as it is. All arrays are read-only views, so that one
    compiled version serves every caller.
    """
    if isinstance(X, tuple):
        return X
    if sparse.issparse(X):
        arrays = (_readonly(array) for array in (X.data, X.indices, X.indptr))
        return CSR(*arrays, X.shape[1])
    return _readonly(X)


def _readonly(array: Any) -> Any:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def dot(rows, i, w):  # pragma: no cover
    """Return the inner product of row i with w, summed in float64."""
    raise TypeError("dot runs in compiled code only")


def axpy(a, rows, i, w):  # pragma: no cover
    """Add a times row i to w."""
    raise TypeError("axpy runs in compiled code only")


def square(rows, i):  # pragma: no cover
    """Return the squared length of row i, summed in float64; a CSR row has no index twice."""
    raise TypeError("square runs in compiled code only")


def dot4(rows, i, W, a, b, c, d):  # pragma: no cover
    """Return the inner products of row i with four rows of W."""
    raise TypeError("dot4 runs in compiled code only")


def held_length(rows, w):  # pragma: no cover
    """Return the squared length of the direction w."""
    raise TypeError("held_length runs in compiled code only")


def lengthen(rows, i, keep, score, step):  # pragma: no cover
    """Tell that w, which scored ``score`` at row i, became ``keep * w + step * x_i``."""
    raise TypeError("lengthen runs in compiled code only")


def settle(rows, held):  # pragma: no cover
    """End a round that changed the directions, given as a tuple of matrices of rows."""
    raise TypeError("settle runs in compiled code only")


def _is_csr(rows):
    return isinstance(rows, types.NamedTuple) and rows.instance_class is CSR


@overload(dot, jit_options={"fastmath": SUMS})
def _dot(rows, i, w):
    if isinstance(rows, types.Array):

        def dense(rows, i, w):
            total = 0.0
            for j in range(w.shape[0]):
                total += rows[i, j] * w[j]
            return total

        return dense
    if not _is_csr(rows):
        return None

    def csr(rows, i, w):
        total = 0.0
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[p] * w[rows.indices[p]]
        return total

    return csr


@overload(axpy)
def _axpy(a, rows, i, w):
    if isinstance(rows, types.Array):

        def dense(a, rows, i, w):
            for j in range(w.shape[0]):
                w[j] += a * rows[i, j]

        return dense
    if not _is_csr(rows):
        return None

    def csr(a, rows, i, w):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            w[rows.indices[p]] += a * rows.data[p]

    return csr


@overload(square, jit_options={"fastmath": SUMS})
def _square(rows, i):
    if isinstance(rows, types.Array):

        def dense(rows, i):
            total = 0.0
            for j in range(rows.shape[1]):
                total += np.float64(rows[i, j]) * np.float64(rows[i, j])
            return total

        return dense
    if not _is_csr(rows):
        return None

    def csr(rows, i):
        total = 0.0
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            total += np.float64(rows.data[p]) * np.float64(rows.data[p])
        return total

    return csr


@overload(dot4, jit_options={"fastmath": SUMS})
def _dot4(rows, i, W, a, b, c, d):
    if isinstance(rows, types.Array):

        def dense(rows, i, W, a, b, c, d):
            p, q, r, s = 0.0, 0.0, 0.0, 0.0
            for j in range(W.shape[1]):
                x = rows[i, j]
                p += x * W[a, j]
                q += x * W[b, j]
                r += x * W[c, j]
                s += x * W[d, j]
            return p, q, r, s

        return dense
    if not _is_csr(rows):
        return None

    def csr(rows, i, W, a, b, c, d):
        return dot(rows, i, W[a]), dot(rows, i, W[b]), dot(rows, i, W[c]), dot(rows, i, W[d])

    return csr


def _is_plain(rows):
    return isinstance(rows, types.Array) or _is_csr(rows)


@overload(held_length)
def _held_length(rows, w):
    if not _is_plain(rows):
        return None

    def plain(rows, w):
        total = 0.0
        for j in range(w.shape[0]):
            total += w[j] * w[j]
        return total

    return plain


@overload(lengthen)
def _lengthen(rows, i, keep, score, step):
    return (lambda rows, i, keep, score, step: None) if _is_plain(rows) else None


@overload(settle)
def _settle(rows, held):
    return (lambda rows, held: None) if _is_plain(rows) else None


def scores(rows, W, out):
    """Fill ``out[i, r]`` with the inner product of row i with ``W[r]``."""
    W = as_floats("coef_", W)
    check_shape("coef_", W, None, row_width(rows, learning=False))
    check_shape("out", out, row_count(rows), len(W))
    _scores(rows, W, out)


@compiled
def _scores(rows, W, out):
    for i in range(out.shape[0]):
        ask_ahead(rows, i)
        for r in range(out.shape[1]):
            out[i, r] = dot(rows, i, W[r])


@compiled
def rank_of(score, thresholds):
    """Return how many of the ordered thresholds the score has reached: its rank from 0."""
    rank = 0
    for r in range(thresholds.shape[0]):
        rank += score >= thresholds[r]
    return rank
