"""Sums over all pairs with y_i < y_j and t_i > t_j - margin, for few targets. Twin: the definition.

Rows are swept once in each direction of t. For each target a counter holds the rows of all higher
(or lower) targets that the sweep has passed, so that a row costs as many additions as there are
targets, and a look at one counter. O(m k) for k targets, and no memory but the sorted rows.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled

MOST = 32
"""More targets than these are left to `rankwise._core._loops.dominance`."""


@compiled(inner=True)
def _code(value, levels, k):
    """Return the last of k levels that is not above the value, 0 if all are."""
    code = 0
    for g in range(1, k):
        code += value >= levels[g]
    return code


@compiled
def find_grades(y, levels, codes):
    """Fill the sorted distinct targets and the code of each row; return how many, 0 if too many."""
    k, outdated = 0, 0
    for i in range(y.shape[0]):
        code = _code(y[i], levels, k)
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
        codes[i] = _code(y[i], levels, k)
    return k


class Graded(NamedTuple):
    """Rows sorted by score within each query.

    ``t`` and ``codes`` of shape (m,) are scores and codes of targets, ``a`` the row weights, empty
    if all are 1; ``starts`` of shape (n_queries + 1,) is where each query begins, and m;
    ``levels`` of shape (k,) are the targets by code.
    """

    t: np.ndarray
    starts: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    a: np.ndarray


@compiled
def grade_sums(rows, margin, power, magnitude, slopes, totals):
    """Fill ``slopes`` with the derivatives by t of the sum of cost^power.

    Parameters
    ----------
    rows : Graded
        The rows.
    slopes : ndarray of shape (m,)
        What is filled.
    totals : ndarray of shape (2,)
        The sums of cost and of cost squared are added to it; the latter for power 2 alone.
    """
    t, starts, codes, levels, a = rows.t, rows.starts, rows.codes, rows.levels, rows.a
    k = levels.shape[0]
    lanes = 8 * ((k + 7) // 8)
    # one lane for each target: 1 where it lies below, or above, that of the row
    below, above = np.zeros((k, lanes)), np.zeros((k, lanes))
    for g in range(k):
        for other in range(k):
            below[g, other] = 1.0 if other < g else 0.0
            above[g, other] = 1.0 if other > g else 0.0
    count, sums = np.empty(lanes), np.empty(lanes)
    graded, graded_sums = np.zeros(lanes), np.zeros(lanes)
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        if stop == start:
            continue
        middle, origin = t[(start + stop) // 2], levels[codes[start]]
        cost, moment = 0.0, 0.0
        for lane in range(lanes):
            count[lane], sums[lane], graded[lane], graded_sums[lane] = 0.0, 0.0, 0.0, 0.0
        edge = start
        for x in range(start, stop):
            key = t[x] - middle + margin
            while edge < stop and t[edge] - middle < key:
                code, value = codes[edge], t[edge] - middle
                w = a[edge] if a.shape[0] > 0 else 1.0
                for lane in range(lanes):
                    count[lane] += w * below[code, lane]
                    sums[lane] += w * value * below[code, lane]
                if magnitude:
                    w *= levels[code] - origin
                    for lane in range(lanes):
                        graded[lane] += w * below[code, lane]
                        graded_sums[lane] += w * value * below[code, lane]
                edge += 1
            g = codes[x]
            w = a[x] if a.shape[0] > 0 else 1.0
            n, d = count[g], key * count[g] - sums[g]
            if magnitude:
                n = graded[g] - (levels[g] - origin) * n
                d = key * graded[g] - graded_sums[g] - (levels[g] - origin) * d
            cost += w * d
            slopes[x] = w * (n if power == 1 else 2 * d)
        for lane in range(lanes):
            count[lane], sums[lane], graded[lane], graded_sums[lane] = 0.0, 0.0, 0.0, 0.0
        edge = stop - 1
        for x in range(stop - 1, start - 1, -1):
            key = t[x] - middle - margin
            while edge >= start and t[edge] - middle > key:
                code, value = codes[edge], t[edge] - middle
                w = a[edge] if a.shape[0] > 0 else 1.0
                for lane in range(lanes):
                    count[lane] += w * above[code, lane]
                    sums[lane] += w * value * above[code, lane]
                if magnitude:
                    w *= levels[code] - origin
                    for lane in range(lanes):
                        graded[lane] += w * above[code, lane]
                        graded_sums[lane] += w * value * above[code, lane]
                edge -= 1
            g = codes[x]
            w = a[x] if a.shape[0] > 0 else 1.0
            n, d = count[g], sums[g] - key * count[g]
            if magnitude:
                n = (levels[g] - origin) * n - graded[g]
                d = (levels[g] - origin) * d - (graded_sums[g] - key * graded[g])
            slopes[x] -= w * (n if power == 1 else 2 * d)
            moment += slopes[x] * (t[x] - middle)
        totals[0] += cost
        # cost^2 is cost times (margin + t_i - t_j), which the derivatives sum up
        totals[1] += max(0.0, margin * cost + 0.5 * moment)
