"""Misranked and tied pairs: how many there are, and means of their costs."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.dominance import comparable_weights
from rankwise._core._loops.inversions import (
    count_inversions,
    grade_inversions,
    part_ties,
)
from rankwise._core._loops.keys import deal_runs, gather, sort_equal_keys
from rankwise._core._loops.misranked import misranked_sum
from rankwise._core.pairs._order import (
    Floats,
    Rows,
    equal_runs,
    read_rows,
    row_bits,
    sort_ties,
    sorted_keys,
    sorted_rows,
)
from rankwise._core.pairs._pairs import Pairs

_NONE = np.empty(0)
# Rows that are too many for the cache, how many of them are not, and the most runs of them.
_MANY, _RUN, _MOST_RUNS = 1 << 17, 1024, 1024


def by_score(pairs: Pairs, s: Floats) -> tuple[tuple[Any, ...], Floats]:
    """Sort the rows by query, score and target, O(m log m).

    Return what `misranked_sum` reads: columns of scores, targets and weights, the latter empty if
    all are 1; the sorted keys, each ending with the place of its row in the columns; the bits of a
    row; and working memory, the second half of which may hold the columns, and that of nodes.
    Return also the sorted scores if some are equal, and else an empty array.
    """
    s, y, starts = np.ascontiguousarray(pairs.group(s)), pairs.group(pairs.y), pairs.starts
    a = pairs.group(pairs.weight) if pairs.weighted else None
    # in one piece, which is soon given back to the next call
    n_columns, m = 2 if a is None else 3, len(s)
    memory = np.empty((2 * n_columns, m))
    if pairs.codes is None and m >= _MANY:
        # what lies apart in memory is slow to fetch in the order of the scores
        columns, codes = memory[n_columns:], np.empty(m, np.uint16)
        starts = deal_runs(s, y, a, min(m // _RUN, _MOST_RUNS), codes, columns)
        s, y, a = columns[0], columns[1], None if a is None else columns[2]
    keys, t = sorted_keys(s, starts), _NONE
    bits = row_bits(keys)
    if not sort_equal_keys(keys, bits, s):
        rows, t = read_rows(keys, s, starts)
        sort_ties(rows, t, y, starts)
        keys = rows.astype(np.int64)
    todo = np.empty((128, 3), dtype=np.int64)
    return (s, y, _NONE if a is None else a, keys, bits, memory, todo), t


def misranked_mean(pairs: Pairs, s: Floats, *, magnitude: bool, power: int) -> float:
    """Mean over the pairs y_j > y_i of (s_i - s_j)^n if that is positive, else 0.

    With ``magnitude`` of (s_i - s_j + y_j - y_i)^n. Pairs weigh by their rows alone.
    """
    pairs.check_comparable()
    rows, _ = by_score(pairs, s)
    total = misranked_sum(*rows, pairs.targets, pairs.starts, True, magnitude, power)
    return total / pairs.one_sided_weight


class PairCounts(NamedTuple):
    """Weights of the pairs with y_j > y_i: those with s_j < s_i, with s_j = s_i, and all."""

    misranked: float
    tied: float
    comparable: float


def count_pairs(pairs: Pairs, s: Floats) -> PairCounts:
    """Count the pairs, each by its weight."""
    if not pairs.weighted and not pairs.magnitude:
        return _count_alike(pairs, pairs.group(s))
    rows, t = by_score(pairs, s)
    tied, starts = np.zeros(pairs.n_queries), pairs.starts
    if len(t):
        _, y, a, keys, *_ = rows
        a = a[keys] if pairs.weighted else a
        comparable_weights(t, y[keys], a, starts, pairs.magnitude, tied)
    power = 1 if pairs.magnitude else 0
    # scores are all 0 where they are not part of the cost
    misranked = misranked_sum(*rows, pairs.targets, starts, False, True, power)
    return PairCounts(misranked, float(tied.sum()), pairs.one_sided_weight)


def _count_alike(pairs: Pairs, s: Floats) -> PairCounts:
    """Count the pairs that weigh alike, scores query by query."""
    keys = sorted_keys(s, pairs.starts)
    if not sort_equal_keys(keys, row_bits(keys), s):
        return _count_tied(pairs, *read_rows(keys, s, pairs.starts))
    if pairs.grades is not None:
        codes, levels = pairs.grades
        grades = np.empty_like(codes)
        gather(pairs.group(codes), keys, row_bits(keys), grades)
        misranked = grade_inversions(grades, len(levels), pairs.starts)
        return PairCounts(misranked, 0, pairs.one_sided_weight)
    y = np.empty_like(s)
    gather(pairs.group(pairs.y), keys, row_bits(keys), y)
    del keys
    keys, equal = sorted_keys(y, pairs.starts), 0
    if sort_equal_keys(keys, row_bits(keys), y):
        keys &= (1 << row_bits(keys)) - 1
        ranks = keys.astype(np.int32)
    else:
        ranks, targets = read_rows(keys, y, pairs.starts)
        equal = _all_pairs(equal_runs(targets, pairs.starts))
    return PairCounts(count_inversions(ranks), 0, _all_pairs(pairs.starts) - equal)


def _count_tied(pairs: Pairs, rows: Rows, t: Floats) -> PairCounts:
    """Count the same for rows sorted by score, some scores of a query being equal."""
    starts = pairs.starts
    if pairs.grades is None:
        places, targets = sorted_rows(pairs.group(pairs.y)[rows], starts)
        equal = _all_pairs(equal_runs(targets, starts))
        both = part_ties(t, targets, places, starts)
        tied = _all_pairs(equal_runs(t, starts)) - both
        different = _all_pairs(starts) - equal
        return PairCounts(count_inversions(places), tied, different)
    runs = equal_runs(t, starts)
    grades, n_grades = pairs.group(pairs.grades[0])[rows], len(pairs.grades[1])
    falling = grade_inversions(grades, n_grades, runs)
    rising = grade_inversions(grades[::-1].copy(), n_grades, len(t) - runs[::-1])
    misranked = grade_inversions(grades, n_grades, starts) - falling
    return PairCounts(misranked, falling + rising, pairs.one_sided_weight)


def _all_pairs(starts: NDArray[np.int64]) -> int:
    """Return how many pairs of rows are in one query, or in one run."""
    sizes = np.diff(starts)
    return int(sizes @ (sizes - 1)) // 2
