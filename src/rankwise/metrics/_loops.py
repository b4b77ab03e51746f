"""Measures of ranked lists, each the mean over the orders of tied rows. Twin: all orders.

Rows are sorted by (query, score), lowest score first, as the sort leaves them; a list is read from
its end. A measure is nan for a query that it can't judge.
"""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def best_gains(gains, discounts, starts, best):
    """Fill the largest discounted gain of each query, nan if all are alike; sorted gains."""
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        best[q] = np.nan
        if start < stop and gains[start] < gains[stop - 1]:
            best[q] = 0.0
            for i in range(stop - start):
                best[q] += discounts[i] * gains[stop - 1 - i]


@compiled
def best_grades(codes, gains, discounts, starts, best):
    """Fill the same from the grade of each row, and the gain of each grade; O(rows + grades)."""
    n_grades = gains.shape[0]
    count, total = np.empty(n_grades, dtype=np.int64), 0.0
    for q in range(starts.shape[0] - 1):
        for grade in range(n_grades):
            count[grade] = 0
        for i in range(starts[q], starts[q + 1]):
            count[codes[i]] += 1
        total, place = 0.0, 0
        lowest, highest = np.inf, -np.inf
        for grade in range(n_grades - 1, -1, -1):
            if count[grade] > 0:
                lowest, highest = min(lowest, gains[grade]), max(highest, gains[grade])
            for _ in range(count[grade]):
                total += discounts[place] * gains[grade]
                place += 1
        best[q] = total if lowest < highest else np.nan


@compiled
def ndcg(s, kinds, gains, discounts, starts, best, out):
    """Fill ``out``; row i gains ``gains[kinds[i]]``, and ``discounts`` go by place."""
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        found = 0.0
        i = stop - 1
        while i >= start:
            end, gain, discount = i, 0.0, 0.0
            while i >= start and s[i] == s[end]:
                gain += gains[kinds[i]]
                discount += discounts[stop - 1 - i]
                i -= 1
            found += gain * discount / (end - i)
        out[q] = found / best[q]


@compiled
def average_precision(s, relevant, k, starts, out):
    """Fill ``out`` with precision at the places of relevant rows up to k, over all relevant.

    Of t tied rows, r of them relevant, after n rows with c relevant: the j-th is relevant with
    probability r / t, and then (j - 1) (r - 1) / (t - 1) of those before it are on average.
    """
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        seen, found = 0, 0.0
        i = stop - 1
        while i >= start:
            end, r = i, 0
            while i >= start and s[i] == s[end]:
                r += relevant[i]
                i -= 1
            t, n = end - i, stop - 1 - end
            if r > 0:
                more = (r - 1) / max(t - 1, 1)
                for j in range(min(t, k - n)):
                    found += r / t * (seen + 1 + j * more) / (n + j + 1)
            seen += r
        out[q] = found / seen if 0 < seen < stop - start else np.nan


@compiled
def reciprocal_rank(s, relevant, k, starts, out):
    """Fill ``out`` with 1 over the place of the first relevant row, 0 if it comes after k.

    Of t tied rows, r of them relevant, the first relevant one is the j-th with a probability that
    starts at r / t and goes down by the factor (t - j - r + 1) / (t - j).
    """
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        seen, found = 0, 0.0
        i = stop - 1
        while i >= start:
            end, r = i, 0
            while i >= start and s[i] == s[end]:
                r += relevant[i]
                i -= 1
            t, n = end - i, stop - 1 - end
            if seen == 0 and r > 0:
                chance = r / t
                for j in range(1, min(t - r + 1, k - n) + 1):
                    found += chance / (n + j)
                    if j < t:
                        chance *= (t - j - r + 1) / (t - j)
            seen += r
        out[q] = found if 0 < seen < stop - start else np.nan
