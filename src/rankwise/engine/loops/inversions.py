"""Counts of misranked and tied pairs, all weighing alike: whole numbers and few branches."""

import numpy as np
from numba import njit

SMALL = 32


@njit(cache=True, nogil=True)
def grade_counts(s, grades, n_grades):
    """Return how many pairs are misranked, tied in s, and comparable; rows sorted by s.

    A counter for each grade holds the rows so far that are above it.
    """
    above = np.zeros(n_grades, dtype=np.int64)
    here = np.zeros(n_grades, dtype=np.int64)
    sizes = np.zeros(n_grades, dtype=np.int64)
    misranked, tied = 0, 0
    n = s.shape[0]
    i = 0
    while i < n:
        if i + 1 == n or s[i + 1] != s[i]:
            grade = grades[i]
            misranked += above[grade]
            sizes[grade] += 1
            for g in range(n_grades):
                above[g] += g < grade
            i += 1
            continue
        begin = i
        here[:] = 0
        while i < n and s[i] == s[begin]:
            misranked += above[grades[i]]
            here[grades[i]] += 1
            i += 1
        higher = 0
        for g in range(n_grades - 1, -1, -1):
            tied += here[g] * higher
            above[g] += higher
            higher += here[g]
            sizes[g] += here[g]
    comparable, lower = 0, 0
    for g in range(n_grades):
        comparable += lower * sizes[g]
        lower += sizes[g]
    return misranked, tied, comparable


@njit(cache=True, nogil=True)
def tie_ranks(s, ranks):
    """Fill ``ranks`` with the place of the first of equal s, rows sorted by s; count tied pairs."""
    pairs, begin = 0, 0
    for i in range(s.shape[0]):
        if s[i] != s[begin]:
            begin = i
        pairs += i - begin
        ranks[i] = begin
    return pairs


@njit(cache=True, nogil=True)
def tied_pairs(y, ranks):
    """Return how many pairs are equal in y, and in y and rank; rows sorted by y, then rank."""
    in_y, in_both = 0, 0
    begin, begin_both = 0, 0
    for i in range(y.shape[0]):
        if y[i] != y[begin]:
            begin, begin_both = i, i
        elif ranks[i] != ranks[begin_both]:
            begin_both = i
        in_y += i - begin
        in_both += i - begin_both
    return in_y, in_both


@njit(cache=True, nogil=True)
def count_inversions(values):
    """Return how many pairs of whole numbers below n stand in the wrong order; reorders them.

    Deals by the highest bit, then the next: the order of two values that differ first in one bit
    is wrong if the 1 stands before the 0.
    """
    n = values.shape[0]
    spare = np.empty_like(values)
    bits = 0
    while n > 1 << bits:
        bits += 1
    todo = np.empty((bits + 2, 3), dtype=np.int64)
    todo[0] = 0, n, bits - 1
    n_todo = 1
    wrong = 0
    while n_todo > 0:
        n_todo -= 1
        start, stop, bit = todo[n_todo]
        if stop - start <= SMALL:
            for i in range(start + 1, stop):
                value, found = values[i], 0
                for j in range(start, i):
                    found += values[j] > value
                wrong += found
            continue
        zeros, ones = start, 0
        for i in range(start, stop):
            value = values[i]
            one = (value >> bit) & 1
            values[zeros] = value
            spare[ones] = value
            wrong += ones * (1 - one)
            zeros += 1 - one
            ones += one
        for i in range(ones):
            values[zeros + i] = spare[i]
        if bit > 0:
            todo[n_todo] = zeros, stop, bit - 1
            todo[n_todo + 1] = start, zeros, bit - 1
            n_todo += 2
    return wrong
