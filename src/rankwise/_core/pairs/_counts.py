"""Misranked and tied pairs: how many there are, and of each row."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.dominance import comparable_weights
from rankwise._core._loops.inversions import (
    count_inversions,
    equal_pairs,
    grade_inversions,
    part_ties,
)
from rankwise._core._loops.keys import gather, sort_equal_keys
from rankwise._core._loops.partners import (
    Band,
    Sweep,
    better_partners,
    target_ranks,
)
from rankwise._core._loops.placements import placement_sums, row_placements, row_ties
from rankwise._core.pairs._misranked import by_score, misranked_total
from rankwise._core.pairs._order import (
    Floats,
    Rows,
    equal_runs,
    read_rows,
    row_bits,
    sorted_keys,
    sorted_rows,
)
from rankwise._core.pairs._pairs import Pairs


class PairCounts(NamedTuple):
    """Weights of the pairs with y_j > y_i: those with s_j < s_i, with s_j = s_i, and all."""

    misranked: float
    tied: float
    comparable: float


def count_pairs(pairs: Pairs, s: Floats) -> PairCounts:
    """Count the pairs, each by its weight."""
    if not pairs.weighted and not pairs.magnitude:
        return _count_alike(pairs, pairs.group(s))
    rows = by_score(pairs, s)
    tied = np.zeros(pairs.n_queries)
    if len(rows.t):
        y, a = rows.y[rows.keys], np.empty(0) if rows.a is None else rows.a[rows.keys]
        comparable_weights(rows.t, y, a, pairs.starts, pairs.magnitude, tied)
    power = 1 if pairs.magnitude else 0
    misranked = misranked_total(pairs, rows, scores=False, magnitude=True, power=power)
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
        places = keys.astype(np.int32)
    else:
        places, targets = read_rows(keys, y, pairs.starts)
        equal = equal_pairs(targets, pairs.starts)
    return PairCounts(count_inversions(places), 0, _all_pairs(pairs.starts) - equal)


def _count_tied(pairs: Pairs, rows: Rows, t: Floats) -> PairCounts:
    """Count the same for rows sorted by score, some scores of a query being equal."""
    starts = pairs.starts
    if pairs.grades is None:
        places, targets = sorted_rows(pairs.group(pairs.y)[rows], starts)
        tied = equal_pairs(t, starts) - part_ties(t, targets, places, starts)
        different = _all_pairs(starts) - equal_pairs(targets, starts)
        return PairCounts(count_inversions(places), tied, different)
    runs = equal_runs(t, starts)
    grades, n_grades = pairs.group(pairs.grades[0])[rows], len(pairs.grades[1])
    falling = grade_inversions(grades, n_grades, runs)
    rising = grade_inversions(grades[::-1].copy(), n_grades, len(t) - runs[::-1])
    misranked = grade_inversions(grades, n_grades, starts) - falling
    return PairCounts(misranked, falling + rising, pairs.one_sided_weight)


def _all_pairs(starts: NDArray[np.int64]) -> int:
    """Return how many pairs of rows are in one query."""
    sizes = np.diff(starts)
    return int(sizes @ (sizes - 1)) // 2


class RowCounts(NamedTuple):
    """Twice the pairs of each row in the right order, a tie counting half, and all its pairs."""

    right: Floats
    comparable: Floats


def row_counts(pairs: Pairs, s: Floats) -> RowCounts:
    """Count the pairs of each row, those that it is the better and the worse of; no weights."""
    if pairs.codes is None and pairs.y.min() < pairs.y.max() and _two_classes(pairs.y):
        return _class_counts(pairs.y == pairs.y.max(), s)
    layout, (first, last) = pairs.by_target, pairs.ties
    rows, t = sorted_rows(s[layout.rows], layout.starts)
    tied = np.empty(len(t))
    row_ties(t, layout.y[rows], layout.starts, tied)
    right, comparable = np.empty(len(t)), np.empty(len(t))
    sizes = np.repeat(np.diff(layout.starts), np.diff(layout.starts))
    comparable[layout.rows] = sizes - (last - first)
    right[layout.rows[rows]] = -tied
    misranked = np.empty(len(t))
    misranked[layout.rows] = _misranked_partners(layout.y, layout.starts, rows, t)
    right += 2 * (comparable - misranked)
    return RowCounts(right, comparable)


def _misranked_partners(y: Floats, starts: NDArray[np.int64], rows: Rows, t: Floats) -> Floats:
    """Return how many misranked pairs each row is in.

    Rows are sorted by query and target; ``rows`` and ``t`` are them sorted by score.
    """
    ranks, ones = np.empty(len(y), dtype=np.int32), np.ones((len(y), 1))
    sweep = Sweep(rows, t, starts, ranks, target_ranks(y, starts, ranks))
    better, worse, band = np.empty_like(ones), np.empty_like(ones), Band(0.0, 0.0, np.inf)
    better_partners(sweep, ones, band, better)
    better_partners(sweep.turned(), ones, band, worse)
    return (better + worse)[:, 0]


def _two_classes(y: Floats) -> bool:
    return bool(((y == y.min()) | (y == y.max())).all())


def _class_counts(positive: NDArray[np.bool_], s: Floats) -> RowCounts:
    """Count the pairs of each row of two classes: a sort and a sweep."""
    n, n_pos = len(s), int(positive.sum())
    rows, t = sorted_rows(s)
    right = np.empty(n)
    row_placements(t, rows, positive, n_pos, right)
    return RowCounts(right, np.where(positive, float(n - n_pos), float(n_pos)))


class Placements(NamedTuple):
    """Sizes of two classes, twice the pairs in the right order, and how placements vary.

    The spreads are sums of squared differences from the mean, as shares of the other class.
    """

    n_pos: int
    n_neg: int
    right: int
    spread_pos: float
    spread_neg: float


def count_placements(positive: NDArray[np.bool_], s: Floats) -> Placements:
    """Place the rows of each class among those of the other: sort both, and merge them twice."""
    pos, neg = np.sort(s[positive]), np.sort(s[~positive])
    return Placements(len(pos), len(neg), *placement_sums(pos, neg))
