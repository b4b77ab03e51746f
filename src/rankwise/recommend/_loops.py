"""Compiled loops over ratings: biases, products of items, rows of a kernel, Cholesky factors.

Ratings are the arrays of a CSR matrix of people x items, with sorted indices. All sums run in a
fixed order, whoever makes them.

These are LAPACK's routines as SciPy gives them to Cython. ``scipy.linalg.lapack`` has the same, but
holds the GIL while they run. All of them work in place, and take right sides as rows. Arrays are of
float64 or all of float32.
"""

import ctypes
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from rankwise._core.compilation import compiled


@compiled
def add_levels(indptr, indices, y, item_bias, shrink, user_bias, sums):
    """Set the shrunk mean of each person, and add to the sums of the items what it leaves.

    ``y`` are ratings minus the overall mean.
    """
    for u in range(indptr.shape[0] - 1):
        total = 0.0
        for p in range(indptr[u], indptr[u + 1]):
            total += y[p] - item_bias[indices[p]]
        user_bias[u] = total / (indptr[u + 1] - indptr[u] + shrink)
        for p in range(indptr[u], indptr[u + 1]):
            sums[indices[p]] += y[p] - user_bias[u]


@compiled
def add_products(rows, starts, entries, a, b, total):
    """Add a_ui a_uj + b_ui b_uj of all people to ``total[i, j]``, for j >= i and some rows i.

    Parameters
    ----------
    rows : range of int64, (2,)
        The first item and the one after the last.
    starts : int64 (n_items + 1,)
        The entries of item i are ``entries[starts[i]:starts[i + 1]]``.
    entries : int64 (n_ratings, 2)
        Where in ``a`` an entry is, and where the person's ratings end.
    a, b : tuples (values, indices) of the two sets of numbers, aligned with the ratings
    total : float64 (n_items or more, n_items or more)
    """
    first, second, indices = a[0], b[0], a[1]
    for i in range(rows[0], rows[1]):
        for s in range(starts[i], starts[i + 1]):
            p = entries[s, 0]
            x, z = first[p], second[p]
            for q in range(p, entries[s, 1]):
                total[i, indices[q]] += x * first[q] + z * second[q]


@compiled(fastmath={"contract"})
def combine_rows(starts, things, weights, kernel, columns, keep, out):
    """Set ``out[u, j] = keep[u] out[u, j] + sum of weights times K[things, j]``, for some columns.

    The weights of person u and the things that they belong to are those from ``starts[u]`` to
    ``starts[u + 1]``; ``columns`` has the first column and the one after the last. ``kernel`` is K
    and room for these columns, which are copied there: in one piece, they stay in the cache.
    """
    K, strip = kernel
    left, width = columns[0], columns[1] - columns[0]
    for i in range(K.shape[0]):
        for j in range(width):
            strip[i, j] = K[i, left + j]
    for u in range(starts.shape[0] - 1):
        target = out[u, left : left + width]
        for j in range(width):
            target[j] *= keep[u]
        s, last = starts[u], starts[u + 1]
        while s + 4 <= last:
            p, q = strip[things[s]], strip[things[s + 1]]
            r, t = strip[things[s + 2]], strip[things[s + 3]]
            a, b, c, d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
            for j in range(width):
                target[j] += a * p[j] + b * q[j] + c * r[j] + d * t[j]
            s += 4
        while s < last:
            a, p = weights[s], strip[things[s]]
            for j in range(width):
                target[j] += a * p[j]
            s += 1


@compiled
def gather(K, things, own, shift, out):
    """Fill the upper half of ``out`` with K among some things, without a person's own rows.

    ``own`` has the three of them, at the things; ``shift`` is added to the diagonal.
    """
    for i in range(things.shape[0]):
        row = K[things[i]]
        a, b, f = own[0, i], own[1, i], own[2, i]
        for j in range(i, things.shape[0]):
            out[i, j] = row[things[j]] - a * own[0, j] - b * own[1, j] - f * own[2, j]
        out[i, i] += shift


@compiled
def subtract_own(starts, things, a, b, along, out):
    """Take what a person's own rows a and b have added away from each row of ``out``.

    ``along[u]`` has the two factors by which they have been added.
    """
    for u in range(starts.shape[0] - 1):
        for s in range(starts[u], starts[u + 1]):
            out[u, things[s]] -= along[u, 0] * a[s] + along[u, 1] * b[s]


Matrix = NDArray[np.floating[Any]]


def _routine(name: str, n_arguments: int) -> dict[np.dtype[Any], Any]:
    """Return a routine that takes only pointers, for each type of numbers."""
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return {
        np.dtype(numbers): kind(
            get_cython_function_address("scipy.linalg.cython_lapack", letter + name)
        )
        for numbers, letter in ((np.float64, "d"), (np.float32, "s"))
    }


_potrf, _potrs, _trtrs = _routine("potrf", 5), _routine("potrs", 8), _routine("trtrs", 10)
# The upper half of an array in C order is the lower half of one in Fortran order.
_LOWER, _NO = ctypes.create_string_buffer(b"L"), ctypes.create_string_buffer(b"N")


def factor(A: Matrix) -> None:
    """Replace the upper half of a positive definite matrix by R, with ``A = R' R``.

    The lower half is neither read nor written.
    """
    n, info = ctypes.c_int(len(A)), ctypes.c_int()
    where, left = ctypes.byref(n), _address(A)
    _potrf[A.dtype](_LOWER, where, left, where, ctypes.byref(info))
    if info.value:
        raise np.linalg.LinAlgError(
            f"a matrix of {len(A)} rows is not positive definite, as its row {info.value} shows"
        )


def solve(R: Matrix, rows: Matrix) -> None:
    """Replace each row b by the solution of ``R' R x = b``."""
    n, m, info = ctypes.c_int(len(R)), ctypes.c_int(len(rows)), ctypes.c_int()
    where = ctypes.byref(n)
    left, right = _address(R), _address(rows, R.dtype)
    _potrs[R.dtype](_LOWER, where, ctypes.byref(m), left, where, right, where, ctypes.byref(info))


def half_solve(R: Matrix, rows: Matrix) -> None:
    """Replace each row b by the solution of ``R' x = b``: x'x is ``b' A^-1 b``."""
    n, m, info = ctypes.c_int(len(R)), ctypes.c_int(len(rows)), ctypes.c_int()
    where = ctypes.byref(n)
    left, right = _address(R), _address(rows, R.dtype)
    _trtrs[R.dtype](
        _LOWER, _NO, _NO, where, ctypes.byref(m), left, where, right, where, ctypes.byref(info)
    )


def _address(A: Matrix, wanted: Any = None) -> int:
    """Return where an array begins; it must be what the routines take it for."""
    types = _potrf if wanted is None else (wanted,)
    if A.dtype not in types or not A.flags.c_contiguous or not A.flags.writeable:
        raise ValueError(
            f"an array of {A.dtype} must be writeable, of {' or '.join(map(str, types))} and in C "
            "order"
        )
    return A.ctypes.data
