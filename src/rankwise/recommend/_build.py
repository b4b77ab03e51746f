"""From columns of ids, ratings and times to a CSR matrix of users x items, and its splits."""

import re
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from rankwise._core.arguments import (
    check_whole,
    check_word,
    did_you_mean,
    is_finite_number,
    shortened,
)
from rankwise._core.inputs import as_floats, ratings_of
from rankwise._core.queries import group_rows
from rankwise.io.files import need
from rankwise.recommend._ids import Ids
from rankwise.recommend.baseline import Ints, Vector

USUAL_NAMES = {
    "user": "user userid person personid customer customerid reviewer reviewerid worker",
    "item": "item itemid movie movieid film filmid isbn product productid book bookid joke jokeid",
    "rating": "rating ratings stars bookrating score",
}
"""Usual names of the columns of ratings, in small letters, as `rankwise compare` finds them."""

# Squares of ratings of this size, and sums of them, still fit a float.
_LARGEST = 1e151


def columns_of(frame: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Return some columns of a dataframe, by the argument that names each."""
    nw = need("narwhals")
    try:
        table = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(
            f"frame has columns of one name: {' '.join(str(error).split())}"
        ) from error
    except TypeError as error:
        lazy = hasattr(frame, "collect")
        fix = "call its collect() first" if lazy else "arrays go to from_arrays"
        raise ValueError(
            f"frame={shortened(frame)} must be a dataframe of pandas, polars or pyarrow: {fix}"
        ) from error
    names = list(table.columns)
    found = {key: _find_column(key, name, names) for key, name in named.items()}
    return {key: nw.to_native(table[name]) for key, name in found.items()}


def _find_column(argument: str, name: Any, names: list[Any]) -> Any:
    """Return the name of a column; a name that is the default may be spelled in usual ways."""
    if isinstance(name, str | int) and name in names:
        return name
    if isinstance(name, str) and name == argument:
        bare = {re.sub(r"[^a-z]", "", str(one).lower()): one for one in reversed(names)}
        for usual in USUAL_NAMES.get(argument, "").split():
            if usual in bare:
                return bare[usual]
    raise ValueError(
        f"{argument}={shortened(name)} must be a column of the frame, which has "
        f"{shortened(names)}{did_you_mean(name, names)}"
    )


def as_ratings(ratings: Any, nan: str) -> Vector:
    """Return ratings as finite numbers; with ``nan="drop"`` some may be NaN."""
    values = as_floats(ratings_of(ratings, "ratings"), "ratings")
    if values.ndim != 1:
        raise ValueError(f"ratings must be 1-D, one a row, but its shape is {values.shape}")
    large = np.flatnonzero(np.abs(values) > _LARGEST)
    if len(large):
        raise ValueError(
            f"ratings holds {values[large[0]]:g} (row {large[0]}), which is too large: at most "
            f"{_LARGEST:g}; correct it, drop the row, or divide all ratings by one number"
        )
    missing = np.flatnonzero(np.isnan(values))
    if len(missing) and nan == "refuse":
        raise ValueError(
            f"ratings holds NaN (row {missing[0]}, {len(missing)} in all): drop these rows, or set "
            'nan="drop"'
        )
    return values


def check_scale(scale: Any) -> tuple[float, float] | None:
    """Return the two ends of a scale as floats."""
    if scale is None:
        return None
    ends = list(scale) if isinstance(scale, tuple | list) else []
    if len(ends) != 2 or not all(map(is_finite_number, ends)) or not ends[0] < ends[1]:
        raise ValueError(
            f"scale={shortened(scale)} must be the lowest and the highest rating: (1, 5)"
        )
    if max(map(abs, ends)) > _LARGEST:
        raise ValueError(f"scale={shortened(scale)} is too large: at most {_LARGEST:g}")
    return float(ends[0]), float(ends[1])


def check_inside(ratings: Vector, scale: tuple[float, float]) -> None:
    """Refuse ratings outside of the scale."""
    outside = np.flatnonzero((ratings < scale[0]) | (ratings > scale[1]))
    if len(outside):
        raise ValueError(
            f"ratings holds {ratings[outside[0]]:g} (row {outside[0]}), outside of scale={scale}: "
            "correct it, or widen the scale"
        )


def build_matrix(
    rows: Ints,
    columns: Ints,
    ratings: Vector,
    times: NDArray[Any] | None,
    ids: tuple[Ids, Ids],
    duplicates: str,
) -> tuple[sparse.csr_array, NDArray[Any] | None]:
    """Return the ratings as CSR, and the times of its entries.

    Two counting sorts, none if the entries come sorted by person and item: O(n).
    """
    users, items = ids
    key = rows * len(items) + columns
    if not (key[1:] > key[:-1]).all():
        by_item, _ = group_rows(columns, len(items))
        order = by_item[group_rows(rows[by_item], len(users))[0]]
        again = np.flatnonzero(key[order[1:]] == key[order[:-1]])
        if len(again) and duplicates == "refuse":
            first, second = order[again[0]], order[again[0] + 1]
            user, item = users.show(rows[first]), items.show(columns[first])
            raise ValueError(
                f"user {user} rated item {item} twice (rows {first} and "
                f'{second}; {len(again)} such rows in all): set duplicates="last" or "mean"'
            )
        if len(again) and times is not None:
            order = np.lexsort((times, key))
        key, ratings = key[order], ratings[order]
        times = None if times is None else times[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    if len(first) < len(key):
        last = np.append(first[1:], len(key)) - 1
        if duplicates == "mean":
            ratings = np.add.reduceat(ratings, first) / (last - first + 1)
        else:
            ratings = ratings[last]
        key, times = key[last], None if times is None else times[last]
    rows, columns = np.divmod(key, len(items))
    whole = np.int32 if max(len(key), len(items)) < 2**31 else np.int64
    starts = np.zeros(len(users) + 1, dtype=whole)
    np.cumsum(np.bincount(rows, minlength=len(users)), out=starts[1:])
    # copies, since the table makes its arrays read-only
    parts = np.array(ratings), columns.astype(whole), starts
    matrix = sparse.csr_array(parts, shape=(len(users), len(items)))
    return matrix, None if times is None else np.array(times)


def check_parts(table: Any) -> None:
    """Raise if the matrix, times and ids of a table do not fit together."""
    X = table.matrix
    ends = X.indptr
    whole = len(ends) == table.n_users + 1 and ends[0] == 0 and ends[-1] == len(X.indices)
    if not (
        isinstance(X, sparse.csr_array)
        and X.shape == (table.n_users, table.n_items)
        and (X.data.dtype, X.data.shape) == (np.float64, X.indices.shape)
        and whole
        and (ends[1:] >= ends[:-1]).all()  # differences could overflow
        and (len(X.indices) == 0 or (X.indices.min() >= 0 and X.indices.max() < table.n_items))
        and (table.times is None or table.times.shape == X.data.shape)
    ):
        raise ValueError("the parts of a RatingTable do not fit together")
    rises = np.diff(X.indices) > 0
    rises[ends[(ends > 0) & (ends < len(X.indices))] - 1] = True
    if not (rises.all() and np.isfinite(X.data).all()):
        raise ValueError("the entries of a RatingTable are not in order, or not numbers")


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
        raise ValueError(f"the table has {n} {what}: a split needs at least two")
    if isinstance(test_size, Integral) and not isinstance(test_size, bool | np.bool_):
        count = int(test_size)
    elif is_finite_number(test_size) and 0 < test_size < 1:
        count = int(np.ceil(test_size * n))
    else:
        raise ValueError(
            f"test_size={shortened(test_size)} must be a share between 0 and 1, or an integer"
        )
    if not 0 < count < n:
        raise ValueError(
            f"test_size={shortened(test_size)} takes {count} of {n} {what}: leave some in both "
            "tables"
        )
    return count
