"""Misranked and tied pairs: how many there are, and of each row."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops.dominance import comparable_weights
from rankwise.engine.loops.inversions import (
    count_inversions,
    deal,
    equal_pairs,
    merge_pairs,
    tie_ranks,
    tied_pairs,
    to_grades,
)
from rankwise.engine.loops.placements import placement_sums, row_placements, row_ties
from rankwise.engine.loops.radix import sort_floats
from rankwise.engine.pairs._losses import misranked_partners, misranked_sums
from rankwise.engine.pairs._pairs import Floats, Pairs, sorted_rows

MANY_GRADES = 16


class PairCounts(NamedTuple):
    """Weights of the pairs with y_j > y_i: those with s_j < s_i, with s_j = s_i, and all."""

    misranked: float
    tied: float
    comparable: float


def count_pairs(pairs: Pairs, s: Floats) -> PairCounts:
    """Count the pairs, each by its weight."""
    if pairs.codes is None and not pairs.weighted and not pairs.magnitude:
        return PairCounts(*_count_alike(pairs.y, s))
    layout = pairs.by_target
    rows, t = sorted_rows(s[layout.rows], layout.starts)
    changes = np.append(True, t[1:] != t[:-1])
    changes[layout.starts[:-1]] = True
    starts = np.append(np.flatnonzero(changes), len(t))
    tied = np.empty(len(starts) - 1)
    comparable_weights(layout.y[rows], layout.a[rows], starts, pairs.magnitude, tied)
    misranked = misranked_sums(pairs, s)[1 if pairs.magnitude else 0]
    return PairCounts(float(misranked), float(tied.sum()), pairs.one_sided_weight)


def _count_alike(y: Floats, s: Floats) -> tuple[int, int, int]:
    """Count the pairs of one query without weights."""
    n = len(y)
    low, high = y.min(), y.max()
    if high - low < MANY_GRADES:
        grades = np.empty(n, dtype=np.uint8)
        if to_grades(y, low, grades):
            return _count_grades(s, grades, int(high - low) + 1)
    whole = np.array([0, n], dtype=np.int64)
    scores, targets = s.copy(), y.copy()
    sort_floats(scores, targets, np.empty(n), np.empty(n), whole)
    ranks = np.empty(n, dtype=np.int32)
    in_s = tie_ranks(scores, ranks)
    sort_floats(targets, ranks, scores, np.empty_like(ranks), whole)
    in_y, in_both = tied_pairs(targets, ranks)
    return count_inversions(ranks), in_s - in_both, n * (n - 1) // 2 - in_y


def _count_grades(s: Floats, grades: NDArray[np.uint8], n_grades: int) -> tuple[int, int, int]:
    """Count the pairs of a few grades: sort each by itself, then merge and count."""
    scores, spare = np.empty_like(s), np.empty_like(s)
    starts = deal(s, grades, n_grades, scores)
    sizes = np.diff(starts)
    comparable = (len(s) ** 2 - int(sizes @ sizes)) // 2
    misranked, alike = 0, 0
    for start, stop in pairwise(starts.tolist()):
        grade = scores[start:stop]
        grade.sort()
        alike += equal_pairs(grade)
    while len(starts) > 2:
        misranked += merge_pairs(scores, starts, spare)
        scores, spare = spare, scores
        starts = np.append(starts[:-1:2], starts[-1])
    return misranked, equal_pairs(scores) - alike, comparable


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
    right += 2 * (comparable - misranked_partners(pairs, s))
    return RowCounts(right, comparable)


def _two_classes(y: Floats) -> bool:
    return bool(((y == y.min()) | (y == y.max())).all())


def _class_counts(positive: NDArray[np.bool_], s: Floats) -> RowCounts:
    """Count the pairs of each row of two classes: a sort and a sweep."""
    n, n_pos = len(s), int(positive.sum())
    rows, t = sorted_rows(s, np.array([0, n]))
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
    scores = np.empty_like(s)
    n_neg = int(deal(s, positive.view(np.uint8), 2, scores)[1])
    neg, pos = scores[:n_neg], scores[n_neg:]
    neg.sort()
    pos.sort()
    return Placements(len(pos), n_neg, *placement_sums(pos, neg))
