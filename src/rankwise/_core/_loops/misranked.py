"""Sum a cost over all pairs of rows with y_i < y_j and t_i > t_j.

Such a pair costs t_i - t_j, or that and y_j - y_i; neither is negative. The rows of a query are
sorted by t. A binary tree splits them by their targets, never between equal ones, and keeps the
order of t in both parts, so that each pair is divided by exactly one node or is in one leaf. A node
reads its rows in falling order of t and keeps the sums over the rows of the lower part so far: when
t falls by a gap, each of their costs grows by it. Nothing is ever subtracted, so nothing cancels. A
leaf compares each row with each.

A level of the tree takes linear time, so that k distinct targets take O(m log k), in O(m) memory.
"""

import numpy as np

from rankwise._core.compilation import compiled

LEAF = 32


@compiled(inner=True)
def _split(targets):
    """Return where to split sorted targets, some different: near the middle, not inside a tie."""
    m = targets.shape[0]
    middle = m // 2
    low, high = middle, middle
    while low > 0 and targets[low - 1] == targets[middle]:
        low -= 1
    while high < m and targets[high] == targets[middle]:
        high += 1
    return low if high == m or (low > 0 and middle - low <= high - middle) else high


@compiled(inner=True, fastmath={"contract"})
def _sum_between(rows, start, stop, cut, level, both, power, to):
    """Return the sum over the pairs that a split divides; write both parts into ``to``.

    The lower part, targets below ``level``, takes the columns from ``start`` to ``cut``.
    """
    weighted = rows.shape[0] > 2
    total, n, d, e = 0.0, 0.0, 0.0, 0.0
    before = rows[0, stop - 1]
    low, high = cut, stop
    for i in range(stop - 1, start - 1, -1):
        key, target = rows[0, i], rows[1, i]
        w = rows[2, i] if weighted else 1.0
        gap, before = before - key, key
        grown = d + gap * n
        e += gap * (d + grown)
        d = grown
        # without the magnitude targets only compare: their differences may overflow
        apart = abs(target - level) if both else 0.0
        lower = target < level
        costs = d + apart * n
        if power == 2:
            costs = e + apart * (d + costs)
        elif power == 0:
            costs = n
        total += 0.0 if lower else w * costs
        added = w if lower else 0.0
        n += added
        d += added * apart
        e += added * apart * apart
        low -= lower
        high -= not lower
        p = low if lower else high
        to[0, p], to[1, p] = key, target
        if weighted:
            to[2, p] = w
    return total


@compiled(inner=True, fastmath={"contract", "reassoc"})
def _sum_leaf(rows, start, stop, both, power):
    """Return the sum over all pairs of a leaf."""
    weighted = rows.shape[0] > 2
    total = 0.0
    for i in range(start + 1, stop):
        key, target = rows[0, i], rows[1, i]
        found = 0.0
        for j in range(start, i):
            cost = key - rows[0, j]
            if both:
                cost += rows[1, j] - target
            cost = cost * cost if power == 2 else cost if power == 1 else 1.0
            if weighted:
                cost *= rows[2, j]
            found += cost if rows[1, j] > target else 0.0
        total += rows[2, i] * found if weighted else found
    return total


@compiled
def misranked_sum(
    t, y, a, keys, row_bits, columns, todo, targets, starts, scores, magnitude, power
):
    """Return the sum of cost^power, for power 0, 1 or 2.

    Parameters
    ----------
    t, y, a : ndarrays of shape (m,)
        Scores, targets and weights of the rows, query by query. ``a`` is empty if all weigh 1.
    keys : ndarray of shape (m,)
        The rows sorted by (query, t, y), each in the lowest ``row_bits`` of its key.
    columns : ndarray of shape (4, m), or (6, m) with weights
        Working memory. Overwritten, the second half after t, y and a have been read: they may be
        there.
    todo : ndarray of shape (128, 3)
        Working memory: start, stop and depth of nodes.
    targets : ndarray of shape (m,)
        The targets sorted by (query, y).
    starts : ndarray of shape (n_queries + 1,)
        Where each query begins, and m.
    scores, magnitude : bool
        Whether the difference of the scores, and that of the targets, is part of the cost.
    """
    half = columns.shape[0] // 2
    rows, others = columns[:half], columns[half:]
    mask = (np.int64(1) << row_bits) - 1
    for i in range(keys.shape[0]):
        row = keys[i] & mask
        rows[0, i], rows[1, i] = t[row] if scores else 0.0, y[row]
        if a.shape[0] > 0:
            rows[2, i] = a[row]
    total = 0.0
    for q in range(starts.shape[0] - 1):
        todo[0, 0], todo[0, 1], todo[0, 2] = starts[q], starts[q + 1], 0
        n_todo = 1
        while n_todo > 0:
            n_todo -= 1
            start, stop, depth = todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2]
            if stop - start < 2 or targets[start] == targets[stop - 1]:
                continue
            # each level moves the rows from one half of the columns to the other
            here, there = (others, rows) if depth % 2 else (rows, others)
            if stop - start <= LEAF:
                total += _sum_leaf(here, start, stop, magnitude, power)
                continue
            cut = start + _split(targets[start:stop])
            total += _sum_between(here, start, stop, cut, targets[cut], magnitude, power, there)
            todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2] = start, cut, depth + 1
            todo[n_todo + 1, 0], todo[n_todo + 1, 1], todo[n_todo + 1, 2] = cut, stop, depth + 1
            n_todo += 2
    return total
