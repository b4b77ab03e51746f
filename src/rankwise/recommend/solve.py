"""Linear systems of many users, solved by threads at the same time.

The routine is LAPACK's ``posv``, as SciPy exports it to Cython. ``scipy.linalg.lapack`` has the
same, but holds the GIL while it runs.
"""

import ctypes
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from rankwise.recommend._loops import gather

Matrix = NDArray[np.floating[Any]]

_POINTERS = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)
_POSV = {
    np.dtype(numbers): _POINTERS(get_cython_function_address("scipy.linalg.cython_lapack", name))
    for numbers, name in ((np.float64, "dposv"), (np.float32, "sposv"))
}
# The upper half of an array in C order is the lower half of one in Fortran order.
_LOWER = ctypes.create_string_buffer(b"L")


def solve_in_place(A: Matrix, rows: Matrix) -> None:
    """Replace each row b by the solution of ``A x = b``, for a positive definite matrix A.

    The upper half of A is replaced by its Cholesky factor; the lower half is neither read nor
    written. Both arrays are in C order, and both of float64 or both of float32.
    """
    for array in (A, rows):
        if array.dtype not in _POSV or array.dtype != A.dtype or not array.flags.carray:
            raise ValueError(
                f"an array of {array.dtype} is invalid: expected writeable arrays in C order, both "
                "of float64 or both of float32"
            )
    n, m, info = ctypes.c_int(len(A)), ctypes.c_int(len(rows)), ctypes.c_int()
    size = ctypes.byref(n)
    # quicker than A.ctypes
    left, right = (int(array.__array_interface__["data"][0]) for array in (A, rows))
    _POSV[A.dtype](_LOWER, size, ctypes.byref(m), left, size, right, size, ctypes.byref(info))
    if info.value:
        raise np.linalg.LinAlgError(
            f"a matrix of {len(A)} rows is not positive definite, as its row {info.value} shows"
        )


def solve_user(
    K: Matrix, index: NDArray[np.int64], own: Matrix, noise: float, right: Matrix
) -> Matrix:
    """Return the solution x of ``(K_u + noise I) x = b`` for each row b of ``right``.

    K_u is the kernel among the items of one user, without the rows ``own`` of this user.
    """
    A, solutions = np.empty((len(index), len(index)), K.dtype), right.astype(K.dtype)
    gather(K, index, own, noise, A)
    solve_in_place(A, solutions)
    return solutions
