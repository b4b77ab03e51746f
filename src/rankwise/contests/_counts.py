"""Check columns of contests, reduce them to counts by pair, and find which items these can compare.

A pair (i, j) has four counts: wins of i, wins of j, ties, and the sum of p (1 - p) over the rows
that are partly a win and partly a loss, by which they vary less than rows that are either.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from rankwise._core._loops.keys import counting_sort
from rankwise._core.arguments import as_array, only_column, own_array, shortened, warn_user
from rankwise._core.ids import as_column, encode_columns, listed_ids, row_number
from rankwise._core.inputs import as_floats, check_weights, refuse_masked
from rankwise._core.sklearn_private import safe_indexing
from rankwise.contests._loops.likelihood import BITS, GOOD, bounds, count_dense, count_sorted, look

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PRIOR = 5.0
"""Standard deviation of the default prior: strengths are hardly ever further than 15 from 0."""
MOST_ITEMS = 20_000
"""A table of all pairs of these takes 3.2 GB, and a fit holds some."""
MOST_CONTESTS = 1e15
"""Past so many, one more is lost in rounding."""
_LARGEST = 1e100
# Count in a table of all pairs up to this number of items.
_DENSE = 2048
WORDS = {"first": 1.0, "second": 0.0, "tie": 0.5}


def check_contests(first: Any, second: Any, rows: Indices | None = None) -> tuple[Any, Any]:
    """Return two columns of ids of the same length.

    Here and below, ``rows`` are the numbers of the rows in the user's table, for messages; None:
    from 0.
    """
    columns = as_column(first, "first", rows), as_column(second, "second", rows)
    if len(columns[0]) != len(columns[1]):
        raise ValueError(
            f"first has {len(columns[0])} rows and second {len(columns[1])}: a contest is one of "
            "each"
        )
    if not len(columns[0]):
        raise ValueError("there are no contests: first and second are empty")
    return columns


def check_outcome(outcome: Any, m: int, rows: Indices | None = None) -> tuple[Floats, bool]:
    """Return what the first of each contest got, from 0 to 1, and whether 1/2 is a tie.

    It is, if there are only 0, 1/2 and 1; else these are probabilities, and 1/2 is one of them.
    """
    refuse_masked(outcome, "outcome")
    given = only_column(outcome)
    column = given if hasattr(given, "dtype") else as_array(given, "outcome")
    if column.ndim != 1 or len(column) != m:
        raise ValueError(f"outcome has the shape {column.shape} for {m} contests: give one a row")
    if getattr(column.dtype, "kind", "O") not in "biuf":
        listed = column.tolist() if hasattr(column, "tolist") else list(column)
        if any(isinstance(word, str) for word in listed[:1]):
            try:
                values = np.fromiter(map(WORDS.__getitem__, listed), np.float64, m)
            except (KeyError, TypeError):
                row = next(
                    i for i, w in enumerate(listed) if not isinstance(w, str) or w not in WORDS
                )
                raise ValueError(
                    f"outcome is {shortened(listed[row])} in row {row_number(row, rows)}: it must "
                    "be 'first', 'second' or 'tie', or a number from 0 to 1 in all rows"
                ) from None
            return values, True
    values = own_array(as_floats(column, "outcome"), np.float64)
    row, plain = look(values)
    if row != GOOD:
        raise ValueError(
            f"outcome is {values[row]} in row {row_number(row, rows)}: it must be what the first "
            "one got, 1, 0 or 0.5 for a tie, or its probability to win"
        )
    return values, bool(plain)


def check_weight(weight: Any, first: Any) -> Floats | None:
    """Return how often each contest happened, None if once; ``first`` tells how many there are."""
    if weight is None:
        return None
    m = len(first) if hasattr(first, "__len__") else np.size(weight)
    weights = check_weights(weight, "sample_weight", m, "contest")
    check_total(float(np.minimum(weights, 2 * MOST_CONTESTS).sum()))
    return own_array(weights, np.float64)


def take_rows(column: Any, rows: Indices, n_weights: int, name: str) -> Any:
    """Return some rows of a column that is not checked yet, and None for None."""
    unsized = not hasattr(column, "__len__") or issparse(column)
    if column is None or unsized or isinstance(column, str | bytes | dict):
        return column
    if len(column) != n_weights:
        raise ValueError(
            f"sample_weight has {n_weights} rows, but {name} has {len(column)}: give one a contest"
        )
    return safe_indexing(column, rows)


def check_total(total: float) -> None:
    """Raise if weights add up to more than can be counted."""
    if total > MOST_CONTESTS:
        raise ValueError(
            f"sample_weight adds up to more than {MOST_CONTESTS:.0e}, too many to be counted: "
            "divide all weights by the same number"
        )


def check_covariates(
    covariates: Any, m: int, names: list[str] | None = None, rows: Indices | None = None
) -> tuple[Floats, list[str]]:
    """Return covariates of shape (m, d), and their names; ``names`` are those learned with."""
    if covariates is None:
        if names:
            raise ValueError(
                f"covariates is None, but the model has learned with {names}: give them"
            )
        return np.zeros((m, 0)), []
    values = as_floats(covariates, "covariates")
    values = own_array(values[:, None] if values.ndim == 1 else values, np.float64)
    if values.ndim != 2 or len(values) != m:
        raise ValueError(f"covariates has the shape {values.shape} for {m} contests: (m, d)")
    if not np.isfinite(values).all():
        row = row_number(np.flatnonzero(~np.isfinite(values).all(axis=1))[0], rows)
        raise ValueError(f"covariates is not finite in row {row}: drop the row or correct it")
    if (np.abs(values) > _LARGEST).any():
        row = row_number(np.flatnonzero((np.abs(values) > _LARGEST).any(axis=1))[0], rows)
        raise ValueError(f"covariates is beyond {_LARGEST:.0e} in row {row}: choose a larger unit")
    columns = getattr(covariates, "columns", None)
    found = (
        [f"z{k}" for k in range(values.shape[1])] if columns is None else list(map(str, columns))
    )
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"covariates has {values.shape[1]} columns, learned were {names}")
    return values, found


def count_pairs(
    first: Any,
    second: Any,
    outcome: Floats,
    weight: Floats | None,
    *,
    ties: bool,
    fold: bool,
    rows: Indices | None = None,
) -> tuple[NDArray[Any], Indices, Indices, Floats]:
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
        table = np.zeros(n * n, dtype=np.uint64)
        if count_dense(columns[0], columns[1], outcome, low, fold, table, n) != GOOD:
            refuse_self(columns[0], columns[1], first, rows)
        left, right, counts = unpack(table.reshape(n, n))
    if counts.sum() != len(outcome):
        # Other kinds of rows, or a pair that met so often that its counts ran over.
        codes = [column - low for column in columns]
        refuse_self(codes[0], codes[1], first, rows)
        heft = np.ones(len(outcome)) if weight is None else weight
        swapped = fold & (codes[0] > codes[1])
        one, other = np.where(swapped, codes[::-1], codes)
        left, right, counts = count_sorted(
            *counting_sort(one, n), other, swapped, outcome, heft, ties
        )
    if items is None:
        present = np.zeros(n, dtype=np.bool_)
        present[left] = present[right] = True
        items = np.flatnonzero(present) + low
        code = np.cumsum(present) - 1
        left, right = code[left], code[right]
    return items, left, right, counts


def unpack(table: NDArray[np.uint64]) -> tuple[Indices, Indices, Floats]:
    """Return the pairs of a table of `count_dense` that have met, and their four counts."""
    left, right = np.nonzero(table)
    packed = table[left, right]
    counts = np.zeros((len(left), 4))
    for column, kind in enumerate((2, 0, 1)):
        counts[:, column] = (packed >> np.uint64(BITS * kind)) & np.uint64(2**BITS - 1)
    return left, right, counts


def _are_int64(ids: Any) -> bool:
    if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu":
        return False
    return np.can_cast(ids.dtype, np.int64) or int(ids.max()) < 2**63


def refuse_self(left: Indices, right: Indices, ids: Any, rows: Indices | None = None) -> None:
    """Raise for a contest of an item with itself; ``ids`` are the left items by row."""
    same = np.flatnonzero(left == right)
    if len(same):
        row = same[0] if rows is None else rows[same[0]]
        item = ids[same[0] : same[0] + 1]
        item = item.tolist()[0] if isinstance(item, np.ndarray) else item[0]
        raise ValueError(
            f"row {row}: {item!r} meets itself, which is no contest of two items: drop the row"
        )


def check_size(n: int) -> None:
    """Raise for items whose covariances don't fit into memory."""
    if n > MOST_ITEMS:
        raise ValueError(
            f"there are {n:,} items, and a table of all pairs of them would take "
            f"{8e-9 * n**2:,.0f} GB: keep the {MOST_ITEMS:,} with the most contests, or rate all "
            "of them by EloRating"
        )


def beaten_pairs(left: Indices, right: Indices, counts: Floats) -> tuple[Indices, Indices]:
    """Return who has beaten whom, as winners and losers; a tie is one win each way."""
    up, down = counts[:, 0] + counts[:, 2] > 0, counts[:, 1] + counts[:, 2] > 0
    return (
        np.concatenate([left[up], right[down]]),
        np.concatenate([right[up], left[down]]),
    )


def check_groups(winner: Indices, loser: Indices, items: NDArray[Any], prior: float | None) -> None:
    """Warn of items whose strength depends on the prior, or raise if there is none.

    Contests alone can compare items in which everyone has beaten everyone, directly or through
    others: a strongly connected graph of wins.
    """
    n = len(items)
    graph = csr_array((np.ones(len(winner)), (winner, loser)), shape=(n, n))
    n_strong, strong = connected_components(graph, directed=True, connection="strong")
    if n_strong == 1:
        return
    _, connected = connected_components(graph, directed=False)
    lost, won = np.bincount(loser, minlength=n), np.bincount(winner, minlength=n)
    n_alone = int(((won == 0) & (lost == 0)).sum())
    reasons = []
    sizes = np.bincount(connected)
    if len(sizes) > 1:
        apart = np.flatnonzero(connected != sizes.argmax())
        reasons.append(
            f"the contests fall into {len(sizes)} unconnected groups"
            + (f", {n_alone} of them items without a contest" if n_alone else "")
            + f", apart from the largest: {listed_ids(items[apart].tolist())}"
        )
    for is_such, words in (
        ((lost == 0) & (won > 0), "never lost"),
        ((won == 0) & (lost > 0), "never won"),
    ):
        if is_such.any():
            reasons.append(f"{listed_ids(items[is_such].tolist())} {words}")
    if not reasons:
        apart = np.flatnonzero(strong != np.bincount(strong).argmax())
        reasons.append(
            f"{listed_ids(items[apart].tolist())} won or lost every contest with the others"
        )
    if prior is None:
        raise ValueError(
            f"{'; '.join(reasons)}: without a prior their strengths have no finite best; set "
            f"prior={PRIOR}, leave these items out or add contests"
        )
    warn_user(
        f"{'; '.join(reasons)}: how far they are from the others rests on the prior, a normal with "
        f"the standard deviation prior={prior}; add contests, or leave these items out"
    )
