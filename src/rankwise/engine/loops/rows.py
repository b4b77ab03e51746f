"""One vocabulary for the rows of dense and CSR matrices, so that each algorithm is written once."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from scipy import sparse

from rankwise.engine.loops.prefetch import ask_ahead

# Sums may be reordered and fused, never assumed finite: the loops look for nan.
SUMS = {"reassoc", "contract"}


class CSR(NamedTuple):
    """The arrays of a CSR matrix."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def as_rows(X: Any) -> Any:
    """Return X as the loops take it: a C-ordered array, or a `CSR` of its three arrays.

    All arrays are read-only views, so that one compiled version serves every caller.
    """
    if sparse.issparse(X):
        return CSR(_readonly(X.data), _readonly(X.indices), _readonly(X.indptr))
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


@overload(dot, jit_options={"fastmath": SUMS})
def _dot(rows, i, w):
    if isinstance(rows, types.Array):

        def dense(rows, i, w):
            total = 0.0
            for j in range(w.shape[0]):
                total += rows[i, j] * w[j]
            return total

        return dense

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

    def csr(rows, i):
        total = 0.0
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            total += np.float64(rows.data[p]) * np.float64(rows.data[p])
        return total

    return csr


@njit(cache=True, nogil=True)
def scores(rows, W, out):
    """Fill ``out[i, r]`` with the inner product of row i with ``W[r]``."""
    for i in range(out.shape[0]):
        ask_ahead(rows, i)
        for r in range(out.shape[1]):
            out[i, r] = dot(rows, i, W[r])


@njit(cache=True, nogil=True)
def rank_of(score, thresholds):
    """Return how many of the ordered thresholds the score has reached: its rank from 0."""
    rank = 0
    for r in range(thresholds.shape[0]):
        rank += score >= thresholds[r]
    return rank
