"""Check columns of contests, reduce them to counts by pair, and find which items these can compare.

A pair (i, j) has four counts: wins of i, wins of j, ties, and the sum of p (1 - p) over the rows
that are partly a win and partly a loss, by which they vary less than rows that are either.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from rankwise._core.arguments import as_array, only_column, shortened, warn_user
from rankwise._core.ids import as_column, encode_columns, listed_ids, row_number
from rankwise._core.inputs import as_floats, check_weights, refuse_masked
from rankwise._core.sklearn_private import safe_indexing
from rankwise.contests._loops import BITS, GOOD, count_dense

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PRIOR = 5.0
"""Standard deviation of the default prior: strengths are hardly ever further than 15 from 0."""
MOST_ITEMS = 20_000
"""A table of all pairs of these takes 3.2 GB, and a fit holds some."""
MOST_CONTESTS = 1e15
"""Past this sum of weights, one more contest is lost in rounding."""
_LARGEST = 1e100
# Count in a table of all pairs up to this number of items.
_DENSE = 2048
WORDS = {"first": 1.0, "second": 0.0, "tie": 0.5}


def check_contests(
    first: Any, second: Any, outcome: Any = None, rows: Indices | None = None
) -> tuple[Any, Any, Floats]:
    """Return two columns of ids, and what the first of each contest got, 1 if ``outcome`` is None.

    `are_decided` checks the values of the latter. Here and below, ``rows`` are the numbers of the
    rows in the user's table, for messages; None: from 0.
    """
    outcomes = None if outcome is None else _as_outcome(outcome, rows)
    columns = as_column(first, "first", rows), as_column(second, "second", rows)
    m = len(columns[0])
    if m != len(columns[1]):
        raise ValueError(
            f"first has {m} rows and second {len(columns[1])}: a contest is one of each"
        )
    if not m:
        raise ValueError("expected at least one contest: first and second are empty")
    if outcomes is not None and outcomes.shape != (m,):
        raise ValueError(
            f"outcome has the shape {outcomes.shape} for {m} contests: expected one each"
        )
    return *columns, np.ones(m) if outcomes is None else outcomes


def _as_outcome(outcome: Any, rows: Indices | None) -> Floats:
    """Return outcomes, words or numbers, as floats."""
    raw = only_column(outcome)
    column = raw if hasattr(raw, "ndim") else as_array(raw, "outcome")
    if column.ndim == 1 and getattr(column.dtype, "kind", "O") not in "biuf":
        refuse_masked(outcome, "outcome")
        listed = column.tolist() if hasattr(column, "tolist") else list(column)
        if any(isinstance(word, str) for word in listed[:1]):
            for row, word in enumerate(listed):
                if not isinstance(word, str) or word not in WORDS:
                    raise ValueError(
                        f"outcome is {shortened(word)} in row {row_number(row, rows)}: it must "
                        "be 'first', 'second' or 'tie', or a number from 0 to 1 in all rows"
                    )
            return np.array([WORDS[word] for word in listed])
    return np.require(as_floats(column, "outcome"), requirements=["C", "W"])


def are_decided(outcome: Floats, rows: Indices | None = None) -> bool:
    """Return whether all outcomes are 0, 1/2 and 1; else they are probabilities, 1/2 included.

    Raise if one is not from 0 to 1.
    """
    if not (outcome.min() >= 0 and outcome.max() <= 1):
        row = np.flatnonzero(~((outcome >= 0) & (outcome <= 1)))[0]
        raise ValueError(
            f"outcome is {outcome[row]} in row {row_number(row, rows)}: expected 1 if the first "
            "one won, 0 if the second did, 0.5 for a tie, or the probability that the first wins"
        )
    return bool((2 * outcome == np.floor(2 * outcome)).all())


def take_weighted(
    sample_weight: Any, **columns: Any
) -> tuple[Floats, Indices | None, dict[str, Any]]:
    """Return positive weights, the numbers of their rows, None for all, and these rows of columns.

    A row of weight 0 is dropped before its other columns are checked.
    """
    first = columns["first"]
    m = np.size(sample_weight) if _is_unsized(first) else len(first)
    weight = check_weights(sample_weight, "sample_weight", m, "contest")
    check_total(float(np.minimum(weight, 2 * MOST_CONTESTS).sum()))
    if weight.all():
        return np.require(weight, requirements=["C", "W"]), None, columns
    rows = np.flatnonzero(weight)
    for name, column in columns.items():
        if _is_unsized(column) or isinstance(column, str | bytes | dict):
            continue
        if len(column) != m:
            raise ValueError(
                f"sample_weight has {m} rows, but {name} has {len(column)}: give one a contest"
            )
        columns[name] = safe_indexing(column, rows)
    return weight[rows], rows, columns


def _is_unsized(column: Any) -> bool:
    return not hasattr(column, "__len__") or issparse(column)


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
    values = np.require(values[:, None] if values.ndim == 1 else values, requirements=["C", "W"])
    if values.ndim != 2 or len(values) != m:
        raise ValueError(f"covariates has the shape {values.shape}, expected ({m}, d)")
    for bad, problem in (
        (~np.isfinite(values), "is not finite in row {}: drop the row or correct it"),
        (np.abs(values) > _LARGEST, f"is beyond {_LARGEST:.0e} in row {{}}: choose a larger unit"),
    ):
        if bad.any():
            row = row_number(np.flatnonzero(bad.any(axis=1))[0], rows)
            raise ValueError(f"covariates {problem.format(row)}")
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"covariates has {values.shape[1]} columns, expected {names}")
    columns = getattr(covariates, "columns", [f"z{k}" for k in range(values.shape[1])])
    return values, list(map(str, columns))


def count_pairs(
    first: Any,
    second: Any,
    outcome: Any,
    weight: Floats | None,
    *,
    fold: bool,
    rows: Indices | None = None,
) -> tuple[NDArray[Any], Indices, Indices, Floats]:
    """Reduce columns of contests to the items, the pairs that have met and their counts.

    Parameters
    ----------
    first, second, outcome : array-like of shape (m,)
        Who met whom, and what the first one got. If it is 0, 1/2 or 1 in all, 1/2 is a tie.
    weight : ndarray of shape (m,) or None
        How often each row happened.
    fold : bool
        Whether the order of the two does not matter.
    rows : ndarray of shape (m,), default=None
        Their numbers in what the user gave, for messages; None: from 0.
    """
    items: NDArray[Any] | None = None
    first, second, outcome = check_contests(first, second, outcome, rows)
    columns, low, n = [first, second], 0, _DENSE + 1
    if all(isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" for ids in columns):
        low, high = min(int(ids.min()) for ids in columns), max(int(ids.max()) for ids in columns)
        n = high - low + 1 if high < 2**63 else n
    if n > _DENSE or weight is not None:
        items, columns = encode_columns(columns, ("first", "second"))
        low, n = 0, len(items)
    columns = [np.require(ids, np.int64, ["C", "W"]) for ids in columns]
    left = right = np.zeros(0, np.int64)
    counts = np.zeros((0, 4))
    if weight is None and n <= _DENSE:
        table = np.zeros(n * n, dtype=np.uint64)
        if count_dense(*columns, outcome, low, fold, table, n) == GOOD:
            left, right = np.nonzero(table.reshape(n, n))
            packed, counts = table[left * n + right], np.zeros((len(left), 4))
            for column, kind in enumerate((2, 0, 1)):
                counts[:, column] = (packed >> np.uint64(BITS * kind)) & np.uint64(2**BITS - 1)
    if counts.sum() != len(outcome):
        # Other kinds of rows, or a pair that met so often that its counts ran over.
        codes = [column - low for column in columns]
        decided = are_decided(outcome, rows)
        check_opponents(codes[0], codes[1], first, rows)
        swapped = fold & (codes[0] > codes[1])
        one, other = np.where(swapped, codes[::-1], codes)
        keys = one * n + other
        if n <= _DENSE:
            met = np.bincount(keys, minlength=n * n) > 0
            keys, cell = np.flatnonzero(met), (np.cumsum(met) - 1)[keys]
        else:
            keys, cell = np.unique(keys, return_inverse=True)
        # cells of a left item as they first occur: the seed of a bootstrap counts on it
        row = np.empty(len(keys), np.int64)
        row[cell[::-1]] = np.arange(len(cell))[::-1]
        order = np.lexsort((row, keys // n))
        left, right = np.divmod(keys[order], n)
        won = np.where(swapped, 1 - outcome, outcome)
        counts = np.column_stack(
            [np.bincount(cell, count)[order] for count in count_rows(won, weight, decided)]
        )
    if items is None:
        present = np.zeros(n, dtype=np.bool_)
        present[left] = present[right] = True
        items = np.flatnonzero(present) + low
        code = np.cumsum(present) - 1
        left, right = code[left], code[right]
    return items, left, right, counts


def count_rows(outcome: Floats, weight: Floats | None, decided: bool) -> list[Floats]:
    """Return the four counts of each row; 1/2 is a tie if all outcomes are ``decided``."""
    tied = (outcome == 0.5) & decided
    win, loss = np.where(tied, 0.0, outcome), np.where(tied, 0.0, 1 - outcome)
    counts = [win, loss, tied.astype(float), win * loss]
    return counts if weight is None else [count * weight for count in counts]


def check_opponents(left: Indices, right: Indices, ids: Any, rows: Indices | None = None) -> None:
    """Raise for a contest of an item with itself; ``ids`` are the left items by row."""
    same = np.flatnonzero(left == right)
    if len(same):
        item = ids[same[0]]
        item = item.item() if isinstance(item, np.generic) else item
        raise ValueError(f"row {row_number(same[0], rows)}: {item!r} meets itself: drop the row")


def check_groups(winner: Indices, loser: Indices, items: NDArray[Any], prior: float | None) -> None:
    """Warn of items whose strength depends on the prior, or raise if there is none.

    Contests alone can compare items in which everyone has beaten everyone, directly or through
    others: a strongly connected graph of wins. Raise as well if the covariances of the items don't
    fit into memory.
    """
    n = len(items)
    if n > MOST_ITEMS:
        raise ValueError(
            f"there are {n:,} items, and a table of all pairs of them would take "
            f"{8e-9 * n**2:,.0f} GB: keep the {MOST_ITEMS:,} with the most contests, or rate all "
            "of them by EloRating"
        )
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
            f"{'; '.join(reasons)}: without a prior their strengths have no finite estimate; set "
            f"prior={PRIOR}, leave these items out or add contests"
        )
    warn_user(
        f"{'; '.join(reasons)}: how far they are from the others rests on the prior, a normal with "
        f"the standard deviation prior={prior}; add contests, or leave these items out"
    )
