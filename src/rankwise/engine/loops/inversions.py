"""Counts of misranked and tied pairs, all weighing alike: whole numbers and few branches."""

import numpy as np
from numba import njit

SMALL = 12


@njit(cache=True, nogil=True)
def to_grades(y, lowest, grades):
    """Fill ``grades`` with y - lowest; False if one of them is no whole number."""
    for i in range(y.shape[0]):
        grade = np.uint8(np.int64(y[i] - lowest))
        grades[i] = grade
        if grade != y[i] - lowest:
            return False
    return True


@njit(cache=True, nogil=True)
def deal(s, grades, n_grades, out):
    """Write s grade by grade to ``out``, and return where each grade starts."""
    starts = np.zeros(n_grades + 1, dtype=np.int64)
    for grade in grades:
        starts[grade + 1] += 1
    for g in range(n_grades):
        starts[g + 1] += starts[g]
    place = starts[:-1].copy()
    for i in range(s.shape[0]):
        out[place[grades[i]]] = s[i]
        place[grades[i]] += 1
    return starts


@njit(cache=True, nogil=True)
def equal_pairs(s):
    """Return how many pairs are equal, in order."""
    pairs, before = 0, 0
    for i in range(1, s.shape[0]):
        before = before + 1 if s[i] == s[i - 1] else 0
        pairs += before
    return pairs


@njit(cache=True, nogil=True)
def merge_pairs(source, starts, target):
    """Merge each two neighbouring runs of ``source``; count the pairs whose later run is lower.

    From both ends at once, which gives the processor two things to do, and without branches: which
    run goes on can't be foreseen. The k lowest and the k highest of at least 2k values never meet.
    """
    wrong = 0
    for r in range(0, starts.shape[0] - 1, 2):
        i, j, stop = starts[r], starts[r + 1], starts[min(r + 2, starts.shape[0] - 1)]
        first, last_i, last_j = j, j - 1, stop - 1
        p, last_p = i, stop - 1
        while i <= last_i and j <= last_j:
            for _ in range(min(last_i - i, last_j - j) + 1):
                left, right = source[i], source[j]
                lower = np.int64(right < left)
                target[p] = right if lower else left
                wrong += (j - first) & (lower - 1)
                j += lower
                i += 1 - lower
                p += 1
                left, right = source[last_i], source[last_j]
                higher = np.int64(right >= left)
                target[last_p] = right if higher else left
                wrong += (last_j + 1 - first) & (higher - 1)
                last_j -= higher
                last_i -= 1 - higher
                last_p -= 1
        wrong += (last_i + 1 - i) * (j - first)
        target[p : p + last_i + 1 - i] = source[i : last_i + 1]
        target[p + last_i + 1 - i : last_p + 1] = source[j : last_j + 1]
    return wrong


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

    Deals by the highest three bits, then the next: of two values that differ first there, the order
    is wrong if the larger stands before the smaller. Eight counters share a word, a byte each, for
    as many values as a byte can count.
    """
    n = values.shape[0]
    other = np.empty_like(values)
    shift = 0
    while n > 8 << shift:
        shift += 3
    todo = np.empty((8 * (shift // 3 + 2), 4), dtype=np.int64)
    todo[0] = 0, n, shift, 0
    n_todo = 1
    place, above = np.empty(8, dtype=np.int64), np.empty(8, dtype=np.int64)
    lower = np.empty(8, dtype=np.uint64)
    for d in range(8):
        lower[d] = np.uint64(0x0101010101010101) & (
            (np.uint64(1) << np.uint64(8 * d)) - np.uint64(1)
        )
    wrong = np.int64(0)
    while n_todo > 0:
        n_todo -= 1
        start, stop, shift, turned = todo[n_todo]
        source, target = (values, other) if turned == 0 else (other, values)
        if stop - start <= SMALL:
            for i in range(start + 1, stop):
                value = source[i]
                for j in range(start, i):
                    wrong += source[j] > value
            continue
        place[:] = 0
        for begin in range(start, stop, 255):
            word = np.uint64(0)
            for i in range(begin, min(begin + 255, stop)):
                word += np.uint64(1) << np.uint64(((source[i] >> shift) & 7) << 3)
            for d in range(8):
                place[d] += np.int64((word >> np.uint64(8 * d)) & np.uint64(255))
        total = start
        for d in range(8):
            count = place[d]
            place[d] = total
            todo[n_todo + 7 - d] = total, total + count, shift - 3, 1 - turned
            total += count
        above[:] = 0
        for begin in range(start, stop, 255):
            end = min(begin + 255, stop)
            word, inside = np.uint64(0), np.uint64(0)
            for i in range(begin, end):
                value = source[i]
                digit = np.uint64((value >> shift) & 7)
                inside += (word >> (digit << np.uint64(3))) & np.uint64(255)
                word += lower[digit]
                p = place[digit]
                place[digit] = p + 1
                target[p] = value
            wrong += np.int64(inside)
            as_high = end - begin
            for d in range(8):
                higher = np.int64((word >> np.uint64(8 * d)) & np.uint64(255))
                wrong += (as_high - higher) * above[d]
                above[d] += higher
                as_high = higher
        if shift > 0:
            n_todo += 8
    return wrong
