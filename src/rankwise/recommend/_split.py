"""Which ratings of a table are kept to test on."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from rankwise._core.arguments import check_whole, check_word, is_finite_number, shortened


def tested_entries(
    matrix: sparse.csr_array, times: NDArray[Any] | None, test_size: Any, by: Any, random_state: Any
) -> NDArray[np.bool_]:
    """Return which entries of a matrix are tested on, as `RatingTable.split` says."""
    check_word(by, "by", ("rating", "user", "time"))
    per_user = np.diff(matrix.indptr)
    people = np.flatnonzero(per_user)
    n = len(people) if by == "user" else len(matrix.data)
    n_test = _count(test_size, n, "people" if by == "user" else "ratings")
    if by == "time":
        if times is None:
            raise ValueError("by='time' needs times: make the table with a column of times")
        if times.min() == times.max():
            raise ValueError(
                f"by='time' needs different times, but all are {times[0]!s}: split by 'rating' or "
                "'user'"
            )
        order = np.argsort(times, kind="stable")
    else:
        order = generator(random_state).permutation(n)
    tested = np.zeros(n, dtype=bool)
    tested[order[n - n_test :]] = True
    return np.repeat(tested, per_user[people]) if by == "user" else tested


def generator(random_state: Any) -> Any:
    """Return what draws numbers: NumPy's new generator for an integer."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, Integral) and not isinstance(random_state, bool | np.bool_):
        return np.random.default_rng(check_whole(random_state, "random_state", 0))
    return check_random_state(random_state)


def _count(test_size: Any, n: int, what: str) -> int:
    """Return how many of n a share or a number is, leaving some for both parts."""
    if n < 2:
        raise ValueError(f"the table has {n} {what}: two at least are needed to split them")
    if isinstance(test_size, Integral) and not isinstance(test_size, bool | np.bool_):
        count = int(test_size)
    elif is_finite_number(test_size) and 0 < test_size < 1:
        count = int(np.ceil(test_size * n))
    else:
        raise ValueError(
            f"test_size={shortened(test_size)} must be a share between 0 and 1, or how many"
        )
    if not 0 < count < n:
        raise ValueError(
            f"test_size={shortened(test_size)} takes {count} of {n} {what}: leave some in both "
            "tables"
        )
    return count
