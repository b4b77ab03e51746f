"""Contests as counts by pair, and which items these can compare."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rankwise._core.arguments import own_array
from rankwise._core.ids import encode_columns
from rankwise.contests._loops.counts import GOOD, bounds, count_dense, count_sorted, unpack

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# A table of all pairs of so many items is small enough to be counted in.
_DENSE = 2048


class Counted(NamedTuple):
    """Pairs that have met: the distinct items, codes of two of them, and four counts."""

    items: NDArray[Any]
    left: Indices
    right: Indices
    counts: Floats


def count_pairs(
    first: Any,
    second: Any,
    outcome: Floats,
    weight: Floats | None,
    *,
    ties: bool,
    fold: bool,
    rows: Indices | None = None,
) -> Counted:
    """Reduce checked columns of contests to counts by pair.

    Parameters
    ----------
    first, second : arrays of numbers or lists, of m ids
        Who met whom.
    outcome : ndarray of shape (m,)
        What the first one got, from 0 to 1.
    weight : ndarray of shape (m,) or None
        How often each row happened.
    ties : bool
        Whether an outcome of 1/2 is a tie, and all outcomes are 0, 1/2 or 1.
    fold : bool
        Whether it is no matter which of the two came first.
    rows : ndarray of shape (m,), default=None
        Their numbers in what the user gave, for messages; None: from 0.
    """
    low, n = 0, 0
    items: NDArray[Any] | None = None
    whole = _are_int64(first) and _are_int64(second)
    if whole:
        columns = [own_array(ids, np.int64) for ids in (first, second)]
        low, high = map(int, bounds(*columns))
        n = high - low + 1
    dense = ties and weight is None
    if not (whole and dense and n <= _DENSE):
        items, columns = encode_columns((first, second), ("first", "second"), rows)
        low, n = 0, len(items)
    left = right = np.zeros(0, np.int64)
    counts = np.zeros((0, 4))
    if dense and n <= _DENSE:
        table = np.zeros((n, n), dtype=np.uint64)
        row = count_dense(columns[0], columns[1], outcome, low, fold, table)
        if row != GOOD:
            refuse_self(columns[0], columns[1], first, rows)
        left, right, counts = unpack(table)
    if counts.sum() != len(outcome):
        # Other kinds of rows, or a pair that met so often that its counts ran over.
        codes = [column - low for column in columns]
        refuse_self(codes[0], codes[1], first, rows)
        heft = np.ones(len(outcome)) if weight is None else weight
        left, right, counts = count_sorted(codes[0], codes[1], outcome, heft, ties, fold, n)
    if items is None:
        present = np.zeros(n, dtype=np.bool_)
        present[left] = present[right] = True
        items = np.flatnonzero(present) + low
        code = np.cumsum(present) - 1
        left, right = code[left], code[right]
    return Counted(items, left, right, counts)


def _are_int64(ids: Any) -> bool:
    if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu":
        return False
    return np.can_cast(ids.dtype, np.int64) or int(ids.max()) < 2**63


def refuse_self(left: Indices, right: Indices, ids: Any, rows: Indices | None = None) -> None:
    """Refuse contests of an item with itself; ``ids`` are the left items by row."""
    same = np.flatnonzero(left == right)
    if len(same):
        row = same[0] if rows is None else rows[same[0]]
        item = ids[same[0] : same[0] + 1]
        item = item.tolist()[0] if isinstance(item, np.ndarray) else item[0]
        raise ValueError(
            f"row {row}: {item!r} meets itself, which is no contest of two items: drop the row"
        )


class Groups(NamedTuple):
    """Which items the contests alone can compare.

    Attributes
    ----------
    connected : ndarray of shape (n,)
        The number of the group of items that have met, directly or through others.
    strong : ndarray of shape (n,)
        The number of the group in which everyone has beaten everyone, directly or through others.
    never_lost, never_won : ndarrays
        Items that nobody took anything from, and that took nothing from anybody.
    """

    connected: Indices
    strong: Indices
    never_lost: Indices
    never_won: Indices

    @property
    def is_one(self) -> bool:
        """Whether the strengths have a finite best without a prior."""
        return bool(self.strong.max(initial=0) == 0)


def find_groups(n: int, left: Indices, right: Indices, counts: Floats) -> Groups:
    """Find items that never lost, never won, or never met the others."""
    up, down = counts[:, 0] + counts[:, 2] > 0, counts[:, 1] + counts[:, 2] > 0
    winner = np.concatenate([left[up], right[down]])
    loser = np.concatenate([right[up], left[down]])
    return groups_of(n, winner, loser)


def groups_of(n: int, winner: Indices, loser: Indices) -> Groups:
    """Find them from who has beaten whom; a tie is one win each way."""
    graph = csr_array((np.ones(len(winner)), (winner, loser)), shape=(n, n))
    _, connected = connected_components(graph, directed=False)
    _, strong = connected_components(graph, directed=True, connection="strong")
    lost, won = np.bincount(loser, minlength=n), np.bincount(winner, minlength=n)
    return Groups(
        connected.astype(np.int64),
        strong.astype(np.int64),
        np.flatnonzero((lost == 0) & (won > 0)),
        np.flatnonzero((won == 0) & (lost > 0)),
    )
