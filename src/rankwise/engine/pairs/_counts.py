"""Misranked and tied pairs."""

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
from rankwise.engine.loops.radix import sort_floats
from rankwise.engine.pairs._losses import misranked_sums
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
