"""Dense, CSR and kernel rows in compiled loops, written once for all kinds.

A function of rows has a version for each kind, chosen by the class of its argument ``rows``.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from scipy import sparse

from rankwise._core.compilation import compiled


def by_rows(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function whose versions depend on the class of its argument ``rows``.

    As with `functools.singledispatch`, the function itself has no body, and a version is added with
    ``@function.register(cls)``. The versions have the same parameters. The options are those of
    `numba.njit`, for all versions.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        versions: dict[type, Callable[..., Any]] = {}
        place = list(signature(function).parameters).index("rows")

        @wraps(function)
        def chosen(*arguments: Any) -> Any:
            return versions[type(arguments[place])](*arguments)

        @overload(chosen, jit_options=options, strict=False)
        def _(*arguments: Any) -> Callable[..., Any] | None:
            kind = arguments[place]
            cls: Any = np.ndarray if isinstance(kind, types.Array) else None
            return versions.get(getattr(kind, "instance_class", cls))

        def register(cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
            def add(version: Callable[..., Any]) -> Callable[..., Any]:
                versions[cls] = version
                return version

            return add

        chosen.register = register  # type: ignore[attr-defined]
        return chosen

    return decorate


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

    Arrays of this form are not copied. All arrays are read-only views, so that one compiled version
    serves every caller.
    """
    if isinstance(X, tuple):
        return X
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    views = [np.ascontiguousarray(array).view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    if len(views) == 1:
        return views[0]
    data, indices, indptr = views
    return CSR(data, indices, indptr, X.shape[1])


@by_rows(fastmath=SUMS)
def dot(rows, i, w):
    """Return the inner product of row i with w, summed in float64."""


@dot.register(np.ndarray)
def _dense_dot(rows, i, w):
    total = 0.0
    for j in range(w.shape[0]):
        total += rows[i, j] * w[j]
    return total


@dot.register(CSR)
def _csr_dot(rows, i, w):
    total = 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        total += rows.data[p] * w[rows.indices[p]]
    return total


@by_rows(fastmath=SUMS)
def dot4(rows, i, W, a, b, c, d):
    """Return the inner products of row i with four rows of W."""


@dot4.register(np.ndarray)
def _dense_dot4(rows, i, W, a, b, c, d):
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    for j in range(W.shape[1]):
        x = rows[i, j]
        p += x * W[a, j]
        q += x * W[b, j]
        r += x * W[c, j]
        s += x * W[d, j]
    return p, q, r, s


@dot4.register(CSR)
def _csr_dot4(rows, i, W, a, b, c, d):
    return dot(rows, i, W[a]), dot(rows, i, W[b]), dot(rows, i, W[c]), dot(rows, i, W[d])


@by_rows()
def axpy(a, rows, i, w):
    """Add a times row i to w."""


@axpy.register(np.ndarray)
def _dense_axpy(a, rows, i, w):
    for j in range(w.shape[0]):
        w[j] += a * rows[i, j]


@axpy.register(CSR)
def _csr_axpy(a, rows, i, w):
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        w[rows.indices[p]] += a * rows.data[p]


@by_rows(fastmath=SUMS)
def row_square(rows, i):
    """Return the squared length of row i, summed in float64; a CSR row has no index twice."""


@row_square.register(np.ndarray)
def _dense_square(rows, i):
    total = 0.0
    for j in range(rows.shape[1]):
        total += np.float64(rows[i, j]) * np.float64(rows[i, j])
    return total


@row_square.register(CSR)
def _csr_square(rows, i):
    total = 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        total += np.float64(rows.data[p]) * np.float64(rows.data[p])
    return total


@by_rows()
def direction_square(rows, w):
    """Return the squared length of the direction w."""


@direction_square.register(CSR)
@direction_square.register(np.ndarray)
def _plain_square(rows, w):
    total = 0.0
    for j in range(w.shape[0]):
        total += w[j] * w[j]
    return total


@by_rows()
def record_step(rows, i, keep, score, step):
    """Record that w, which scored ``score`` at row i, becomes ``keep * w + step * x_i``."""


@record_step.register(CSR)
@record_step.register(np.ndarray)
def _no_record(rows, i, keep, score, step):
    """The squared length is computed from w."""


@by_rows()
def end_update(rows, directions, others):
    """End a round that changed directions, the rows of two matrices; the second may be empty."""


@end_update.register(CSR)
@end_update.register(np.ndarray)
def _no_end(rows, directions, others):
    """Features have no budget."""


@compiled
def scores(rows, W, out):
    """Fill ``out[i, r]`` with the inner product of row i with ``W[r]``."""
    for i in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[i, r] = dot(rows, i, W[r])


@compiled
def rank_of(score, thresholds):
    """Return how many of the ordered thresholds the score has reached: its rank from 0."""
    rank = 0
    for r in range(thresholds.shape[0]):
        rank += score >= thresholds[r]
    return rank


# As an order: rows as they come. As guesses: none are recorded.
NONE = np.empty(0, dtype=np.int64)
