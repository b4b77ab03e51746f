"""Sums over all pairs with y_i < y_j and t_i > t_j - margin, for few targets.

Rows are swept once in each direction of t. For each target a counter holds the rows of all higher
(or lower) targets that the sweep has passed, so that a row costs as many additions as there are
targets, and a look at one counter. O(m k) for k targets, and no memory but the sorted rows.
"""

import numpy as np

from rankwise._core.compilation import compiled

MOST = 32
"""More targets than these are left to `rankwise._core._loops.dominance`."""


@compiled
def find_grades(y, levels, codes):
    """Fill the sorted distinct targets and the code of each row; return how many, 0 if too many."""
    k, outdated = 0, 0
    for i in range(y.shape[0]):
        code = 0  # the last level that is not above the target, 0 if all are
        for g in range(1, k):
            code += y[i] >= levels[g]
        codes[i] = code
        if k == 0 or levels[code] != y[i]:
            if k == levels.shape[0]:
                return 0
            g = k
            while g > 0 and levels[g - 1] > y[i]:
                levels[g] = levels[g - 1]
                g -= 1
            levels[g] = y[i]
            k += 1
            outdated = i + 1
    for i in range(outdated):
        code = 0
        for g in range(1, k):
            code += y[i] >= levels[g]
        codes[i] = code
    return k


@compiled
def grade_sums(t, starts, codes, levels, a, margin, power, magnitude, slopes, totals):
    """Fill ``slopes`` with the derivatives by t of the sum of cost^power.

    Parameters
    ----------
    t, codes : ndarrays of shape (m,)
        Scores and codes of the targets of the rows, sorted by score within each query.
    starts : ndarray of shape (n_queries + 1,)
        Where each query begins, and m.
    levels : ndarray of shape (k,)
        The targets by code.
    a : ndarray of shape (m,) or (0,)
        Row weights; empty: all 1.
    slopes : ndarray of shape (m,)
        Filled.
    totals : ndarray of shape (2,)
        The sums of cost and of cost squared are added to it; the latter for power 2 alone.
    """
    k = levels.shape[0]
    lanes = 8 * ((k + 7) // 8)
    # one lane for each target: 1 where it lies below, or above, that of a row
    passed = np.zeros((2, k, lanes))
    for g in range(k):
        passed[0, g, :g] = 1.0
        passed[1, g, g + 1 : k] = 1.0
    count, sums = np.empty(lanes), np.empty(lanes)
    graded, graded_sums = np.zeros(lanes), np.zeros(lanes)
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        if stop == start:
            continue
        middle, origin = t[(start + stop) // 2], levels[codes[start]]
        cost, moment = 0.0, 0.0
        # the worse rows in rising order of t; then the better ones, t and targets negated
        for side in range(2):
            sign, step, edge = (1.0, 1, start) if side == 0 else (-1.0, -1, stop - 1)
            x, added = edge, passed[side]
            for lane in range(lanes):
                count[lane], sums[lane], graded[lane], graded_sums[lane] = 0.0, 0.0, 0.0, 0.0
            for _ in range(stop - start):
                key = sign * (t[x] - middle) + margin
                while start <= edge < stop and sign * (t[edge] - middle) < key:
                    code, value = codes[edge], sign * (t[edge] - middle)
                    w = a[edge] if a.shape[0] > 0 else 1.0
                    for lane in range(lanes):
                        count[lane] += w * added[code, lane]
                        sums[lane] += w * value * added[code, lane]
                    if magnitude:
                        w *= sign * (levels[code] - origin)
                        for lane in range(lanes):
                            graded[lane] += w * added[code, lane]
                            graded_sums[lane] += w * value * added[code, lane]
                    edge += step
                g = codes[x]
                w = a[x] if a.shape[0] > 0 else 1.0
                n, d = count[g], key * count[g] - sums[g]
                if magnitude:
                    level = sign * (levels[g] - origin)
                    n = graded[g] - level * n
                    d = key * graded[g] - graded_sums[g] - level * d
                slope = w * (n if power == 1 else 2 * d)
                if side == 0:
                    cost += w * d
                    slopes[x] = slope
                else:
                    slopes[x] -= slope
                    moment += slopes[x] * (t[x] - middle)
                x += step
        totals[0] += cost
        # cost^2 is cost times (margin + t_i - t_j), which the derivatives sum up
        totals[1] += max(0.0, margin * cost + 0.5 * moment)
