"""Linear systems of many users, solved by threads at once.

The routines are LAPACK's, as SciPy gives them to Cython. ``scipy.linalg.lapack`` has the same, but
holds the GIL while they run. All of them work in place, and take right sides as rows. Arrays are of
float64 or all of float32.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.recommend._loops import gather

Matrix = NDArray[np.floating[Any]]

# Users of one task.
_USERS = 16


def _routine(name: str, n_arguments: int) -> dict[np.dtype[Any], Any]:
    """Return a routine that takes only pointers, for each type of numbers."""
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return {
        np.dtype(numbers): kind(
            get_cython_function_address("scipy.linalg.cython_lapack", letter + name)
        )
        for numbers, letter in ((np.float64, "d"), (np.float32, "s"))
    }


_potrf, _potrs = _routine("potrf", 5), _routine("potrs", 8)
# The upper half of an array in C order is the lower half of one in Fortran order.
_LOWER = ctypes.create_string_buffer(b"L")


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


def _address(A: Matrix, wanted: Any = None) -> int:
    """Return where an array begins; it must be what the routines take it for."""
    types = _potrf if wanted is None else (wanted,)
    if A.dtype not in types or not A.flags.c_contiguous or not A.flags.writeable:
        raise ValueError(
            f"an array of {A.dtype} must be writeable, of {' or '.join(map(str, types))} and in C "
            "order"
        )
    return int(A.__array_interface__["data"][0])  # quicker than A.ctypes


def solve_user(
    K: Matrix,
    index: NDArray[np.int64],
    own: Matrix,
    noise: float,
    right: Matrix,
    memory: NDArray[Any],
) -> Matrix:
    """Return the solutions x of ``(K_u + noise I) x = b`` for each row b of ``right``.

    K_u is the kernel among the items of one user, without the rows ``own`` of this user.
    """
    A = memory[: len(index) ** 2].reshape(len(index), len(index))
    gather(K, index, own, noise, A)
    found = right.astype(A.dtype)
    factor(A)
    solve(A, found)
    return found


def run_users(
    task: Callable[[int, Any], None], n: int, pool: Pool, memory: Callable[[], Any]
) -> None:
    """Call a function for users 0 to n - 1, some at a time, each thread with its own memory."""
    free: list[Any] = []

    def block(t: int) -> None:
        try:
            mine = free.pop()
        except IndexError:
            mine = memory()
        for g in range(t * _USERS, min((t + 1) * _USERS, n)):
            task(g, mine)
        free.append(mine)

    pool.run(block, -(-n // _USERS), work=1e6 * n)
