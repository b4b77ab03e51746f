"""Counts of misranked and tied pairs, all weighing alike: integers and few branches.

Eight counters share a word, a byte each, for as many values as a byte can count: one addition and
one look take a value past all of them.
"""

import numpy as np

from rankwise._core.compilation import compiled

BYTES = np.uint64(0x0101010101010101)
BLOCK = 255
LEAF = 6


@compiled(inner=True)
def _ones(word):
    """Count the ones of a word; the compiler recognises this pattern and uses one instruction."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * BYTES) >> np.uint64(56)


@compiled(inner=True)
def _ones_below(n):
    """Return a word with a one in each of its lowest n bytes."""
    return BYTES >> np.uint64(64 - 8 * n) if n > 0 else np.uint64(0)


@compiled(inner=True)
def _byte(word, n):
    return np.int64((word >> np.uint64(8 * n)) & np.uint64(255))


@compiled
def grade_inversions(grades, n_grades, starts):
    """Return how many pairs of a segment have the higher of two grades first.

    For seven grades at a time: byte d counts the rows of a block above grade ``base + d - 1``.
    """
    wrong = np.int64(0)
    step, look = np.empty(n_grades, dtype=np.uint64), np.empty(n_grades, dtype=np.uint64)
    mask, above = np.empty(n_grades, dtype=np.uint64), np.empty(8, dtype=np.int64)
    for base in range(0, n_grades, 7):
        for g in range(n_grades):
            inside = base <= g < base + 7
            step[g] = _ones_below(min(max(g - base + 1, 0), 8))
            look[g], mask[g] = (8 * (g - base + 1), 255) if inside else (0, 0)
        for q in range(starts.shape[0] - 1):
            for d in range(8):
                above[d] = 0
            for begin in range(starts[q], starts[q + 1], BLOCK):
                end = min(begin + BLOCK, starts[q + 1])
                word, found = np.uint64(0), np.uint64(0)
                for i in range(begin, end):
                    g = grades[i]
                    found += (word >> look[g]) & mask[g]
                    word += step[g]
                wrong += np.int64(found)
                for d in range(1, 8):
                    higher = _byte(word, d)
                    wrong += (_byte(word, d - 1) - higher) * above[d]
                    above[d] += higher
    return wrong


@compiled
def part_ties(s, y, places, starts):
    """Put tied scores in the order of the targets; return how many pairs both of them tie.

    ``s`` and ``y`` are sorted within segments; ``places[i]`` is where the row of ``y[i]`` stands in
    ``s``, rising among equal targets. Places of equal scores are exchanged, so as to rise too.
    """
    first, put = np.empty_like(places), np.empty_like(places)
    pairs = 0
    for q in range(starts.shape[0] - 1):
        begin = starts[q]
        for i in range(starts[q], starts[q + 1]):
            if s[i] != s[begin]:
                begin = i
            first[i], put[i] = begin, i
        run, same = -1, 0
        for i in range(starts[q], starts[q + 1]):
            begin = first[places[i]]
            same = same + 1 if begin == run and y[i] == y[i - 1] else 0
            pairs += same
            run = begin
            places[i] = put[begin]
            put[begin] += 1
    return pairs


@compiled
def count_inversions(places):
    """Return how many pairs of a permutation of 0..n-1 stand in the wrong order; reorders it.

    Deals by the highest three bits, then the next: of two places that differ first there, the order
    is wrong if the larger stands before the smaller. Of the last six bits, a word holds which have
    been passed.
    """
    n = places.shape[0]
    source, target = places, np.empty_like(places)
    step = np.empty(8, dtype=np.uint64)
    for d in range(8):
        step[d] = _ones_below(d)
    put, above = np.empty(8, dtype=np.int64), np.empty(8, dtype=np.int64)
    shift = LEAF
    while n > 1 << shift:
        shift += 3
    wrong = np.int64(0)
    while shift > LEAF:
        shift -= 3
        for start in range(0, n, 8 << shift):
            stop = min(start + (8 << shift), n)
            for d in range(8):
                put[d], above[d] = start + (d << shift), 0
            for begin in range(start, stop, BLOCK):
                end = min(begin + BLOCK, stop)
                word, found = np.uint64(0), np.uint64(0)
                for i in range(begin, end):
                    place = source[i]
                    digit = np.uint64((place >> shift) & 7)
                    found += (word >> (digit << np.uint64(3))) & np.uint64(255)
                    word += step[digit]
                    p = put[digit]
                    put[digit] = p + 1
                    target[p] = place
                wrong += np.int64(found)
                as_high = end - begin
                for d in range(8):
                    higher = _byte(word, d)
                    wrong += (as_high - higher) * above[d]
                    above[d] += higher
                    as_high = higher
        source, target = target, source
    for start in range(0, n, 1 << LEAF):
        passed, found = np.uint64(0), np.uint64(0)
        for i in range(start, min(start + (1 << LEAF), n)):
            bit = np.uint64(source[i] & 63)
            found += _ones(passed >> bit)
            passed |= np.uint64(1) << bit
        wrong += np.int64(found)
    return wrong
