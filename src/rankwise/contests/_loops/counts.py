"""Count rows of contests by pair in one pass, and resample them."""

import numpy as np

from rankwise._core.compilation import compiled

GOOD = -1
"""No row is bad."""

BITS = 21
"""Of each of three counts in one number."""


@compiled
def bounds(first, second):
    """Return the least and the largest whole number of two columns, which are not empty."""
    low, high = first[0], first[0]
    for r in range(first.shape[0]):
        low, high = min(low, first[r], second[r]), max(high, first[r], second[r])
    return low, high


@compiled
def look(outcome):
    """Return the first row that is not from 0 to 1, or `GOOD`; and whether all are 0, 1/2 or 1."""
    plain = True
    for r in range(outcome.shape[0]):
        p = outcome[r]
        if not 0.0 <= p <= 1.0:
            return r, False
        plain &= (p == 0.0) | (p == 0.5) | (p == 1.0)
    return GOOD, plain


@compiled
def count_dense(first, second, outcome, low, fold, table, n):
    """Count outcomes 0, 1/2 and 1 by pair; return the first row that can't be counted, or `GOOD`.

    The three counts of a pair share one number, so that the table stays in the processor's cache:
    21 bits each for wins of j, ties and wins of i, from the lowest. If a count overflows, the sum
    of all is less than the number of rows.

    Parameters
    ----------
    first, second : int64 arrays of shape (m,)
        Ids from ``low`` on, less than n above it.
    outcome : float64 array of shape (m,)
        What the first one got.
    fold : bool
        Whether a pair is counted at i < j, whichever came first.
    table : uint64 array of shape (n * n,)
        Is added to.
    """
    # No branch depends on a row: which of two comes first can't be predicted.
    for r in range(first.shape[0]):
        i, j, p = first[r] - low, second[r] - low, outcome[r]
        kind = np.int64(p + p) if 0.0 <= p <= 1.0 else np.int64(3)
        if i == j or 0.5 * kind != p:
            return r
        turned = np.int64(fold) & np.int64(i > j)
        step = (j - i) * turned
        kind += 2 * turned * (1 - kind)
        table[(i + step) * n + j - step] += np.uint64(1) << np.uint64(BITS * kind)
    return GOOD


@compiled
def resample(rows, seed, out):
    """Count as many draws of rows as there are, in the place of ``out`` that each row names.

    A draw has 32 random bits, so that m rows are equally likely but for a share of m / 2^32.
    """
    for place in range(out.shape[0]):
        out[place] = 0.0
    m, half = rows.shape[0], np.uint64(32)
    state, word = np.uint64(seed), np.uint64(0)
    for r in range(m):
        if r % 2 == 0:
            # splitmix64
            state += np.uint64(0x9E3779B97F4A7C15)
            word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            word ^= word >> np.uint64(31)
        else:
            word <<= half
        out[rows[((word >> half) * np.uint64(m)) >> half]] += 1.0


@compiled
def count_sorted(order, starts, right, swapped, outcome, weight, ties):
    """Return the pairs that have met, and their counts.

    Parameters
    ----------
    order, starts : int64 arrays of shape (m,) and (n + 1,)
        Rows sorted by their left item, and where each item's rows begin.
    right, swapped : arrays of shape (m,)
        The right item of each row, and whether it came first.
    outcome, weight : float64 arrays of shape (m,)
        What the first one got, from 0 to 1, and how often.
    ties : bool
        Whether an outcome of 1/2 is a tie, and not half a win and half a loss.
    """
    n, m = starts.shape[0] - 1, order.shape[0]
    slot, of = np.empty(n, np.int64), np.full(n, -1, np.int64)
    lefts, rights, counts = np.empty(m, np.int64), np.empty(m, np.int64), np.zeros((m, 4))
    met = 0
    for i in range(n):
        for at in range(starts[i], starts[i + 1]):
            r = order[at]
            j = right[r]
            if of[j] != i:
                of[j], slot[j] = i, met
                lefts[met], rights[met] = i, j
                met += 1
            row = counts[slot[j]]
            p, w = outcome[r], weight[r]
            if swapped[r]:
                p = 1.0 - p
            if ties and p == 0.5:
                row[2] += w
            else:
                row[0] += w * p
                row[1] += w * (1.0 - p)
                row[3] += w * p * (1.0 - p)
    return lefts[:met].copy(), rights[:met].copy(), counts[:met].copy()
