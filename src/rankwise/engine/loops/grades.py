"""Sums over all pairs with y_i < y_j and t_i > t_j - margin, for few targets. Twin: the definition.

Rows are swept once in each direction of t. For each target a counter holds the rows of all higher
(or lower) targets that the sweep has passed, so that a row costs as many additions as there are
targets, and a look at one counter. O(m k) for k targets, and no memory but the sorted rows.
"""

import numpy as np
from numba import njit

MOST = 32
"""More targets than these are left to `rankwise.engine.loops.dominance`."""


@njit(cache=True, nogil=True)
def find_grades(y, levels, codes):
    """Fill the sorted distinct targets and the code of each row; return how many, 0 if too many."""
    k = 0
    for i in range(y.shape[0]):
        value = y[i]
        if i > 0 and value == y[i - 1]:
            continue
        known = False
        for g in range(k):
            if levels[g] == value:
                known = True
                break
        if not known:
            if k == levels.shape[0]:
                return 0
            levels[k] = value
            k += 1
    levels[:k].sort()
    for i in range(y.shape[0]):
        code = 0
        for g in range(1, k):
            code += y[i] >= levels[g]
        codes[i] = code
    return k


@njit(cache=True, nogil=True)
def grade_sums(rows, t, starts, codes, levels, a, margin, power, magnitude, slopes, totals):
    """Fill ``slopes`` with the derivatives by t of the sum of cost^power, row by row.

    Parameters
    ----------
    rows, t : ndarrays of shape (m,)
        Rows sorted by (query, t), and their t.
    codes, levels : ndarrays of shapes (m,) and (k,)
        The code of each row's target, and the targets by code.
    a : ndarray of shape (m,) or (0,)
        Row weights; empty: all 1.
    totals : ndarray of shape (2,)
        The sums of cost and of cost squared are added to it; the latter for power 2 alone.
    """
    k = levels.shape[0]
    lanes = 8 * ((k + 7) // 8)
    below, above = np.zeros((k, lanes)), np.zeros((k, lanes))
    for g in range(k):
        below[g, :g] = 1.0
        above[g, g + 1 : k] = 1.0
    count, sums = np.empty(lanes), np.empty(lanes)
    graded, graded_sums = np.empty(lanes), np.empty(lanes)
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        if stop - start < 2:
            for x in range(start, stop):
                slopes[rows[x]] = 0.0
            continue
        middle = t[(start + stop) // 2]
        cost, moment = 0.0, 0.0
        count[:], sums[:], graded[:], graded_sums[:] = 0.0, 0.0, 0.0, 0.0
        edge = start
        for x in range(start, stop):
            key = t[x] - middle + margin
            while edge < stop and t[edge] - middle < key:
                p = rows[edge]
                _add(below[codes[p]], _weight(a, p), t[edge] - middle, count, sums)
                if magnitude:
                    w = _weight(a, p) * levels[codes[p]]
                    _add(below[codes[p]], w, t[edge] - middle, graded, graded_sums)
                edge += 1
            p = rows[x]
            code = codes[p]
            n, d = count[code], key * count[code] - sums[code]
            if magnitude:
                n = graded[code] - levels[code] * n
                d = key * graded[code] - graded_sums[code] - levels[code] * d
            cost += _weight(a, p) * d
            slopes[p] = _weight(a, p) * (n if power == 1 else 2 * d)
        count[:], sums[:], graded[:], graded_sums[:] = 0.0, 0.0, 0.0, 0.0
        edge = stop - 1
        for x in range(stop - 1, start - 1, -1):
            key = t[x] - middle - margin
            while edge >= start and t[edge] - middle > key:
                p = rows[edge]
                _add(above[codes[p]], _weight(a, p), t[edge] - middle, count, sums)
                if magnitude:
                    w = _weight(a, p) * levels[codes[p]]
                    _add(above[codes[p]], w, t[edge] - middle, graded, graded_sums)
                edge -= 1
            p = rows[x]
            code = codes[p]
            n, d = count[code], sums[code] - key * count[code]
            if magnitude:
                n = levels[code] * n - graded[code]
                d = levels[code] * d - (graded_sums[code] - key * graded[code])
            slopes[p] -= _weight(a, p) * (n if power == 1 else 2 * d)
            moment += slopes[p] * (t[x] - middle)
        totals[0] += cost
        # cost^2 is cost times (margin + t_i - t_j), which the derivatives sum up
        totals[1] += max(0.0, margin * cost + 0.5 * moment)


@njit(cache=True, nogil=True, inline="always")
def _weight(a, p):
    return a[p] if a.shape[0] > 0 else 1.0


@njit(cache=True, nogil=True)
def _add(mask, w, t, count, sums):
    for g in range(mask.shape[0]):
        count[g] += w * mask[g]
        sums[g] += w * t * mask[g]
