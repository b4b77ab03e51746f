"""Loops of the measures: ranked lists, exponential costs, and placements among other rows.

A measure of lists is the mean over the orders of tied rows.

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


@compiled
def exponential_sum(s, y, a, starts, magnitude):
    """Return (z, c) such that z e^c is the sum of weight exp(s_i - s_j) over all y_i < y_j.

    Rows are sorted by (query, y); ``a`` is empty if all weigh 1. Each sum carries the largest
    exponent seen so far.
    """
    total, top = 0.0, -np.inf
    for q in range(starts.shape[0] - 1):
        peak, lower, gaps = -np.inf, 0.0, 0.0
        begin = starts[q]
        for p in range(starts[q], starts[q + 1]):
            if y[p] != y[begin]:
                highest = peak
                for i in range(begin, p):
                    highest = max(highest, s[i])
                lower *= np.exp(peak - highest)
                gaps *= np.exp(peak - highest)
                peak = highest
                for i in range(begin, p):
                    w = a[i] if a.shape[0] > 0 else 1.0
                    lower += w * np.exp(s[i] - peak)
                gaps += (y[p] - y[begin]) * lower
                begin = p
            w = a[p] if a.shape[0] > 0 else 1.0
            here = w * (gaps if magnitude else lower)
            if here > 0.0:
                exponent = peak - s[p]
                if exponent > top:
                    total = total * np.exp(top - exponent) + here
                    top = exponent
                else:
                    total += here * np.exp(exponent - top)
    return total, top


@compiled
def placement_sums(pos, neg):
    """Return how many pairs are in the right order, and how the placements of both classes vary.

    Both classes are sorted. The placement of a positive row is the number of negative ones below
    it, that of a negative row the number of positive ones above it; a tie counts half.

    Returns
    -------
    right : int
        Twice the number of pairs in the right order.
    spread_pos, spread_neg : float
        Sum of squared differences between placements, as shares, and their mean.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    right, lower, upper = 0, 0, 0
    for i in range(n_pos):
        while lower < n_neg and neg[lower] < pos[i]:
            lower += 1
        while upper < n_neg and neg[upper] <= pos[i]:
            upper += 1
        right += lower + upper
    share = right / (2.0 * n_pos * n_neg)
    return right, _spread(pos, neg, share), _spread(neg, pos, 1.0 - share)


@compiled
def _spread(mine, others, share):
    """Sum the squared differences between the share of others below each and ``share``."""
    n = others.shape[0]
    spread, lower, upper = 0.0, 0, 0
    for i in range(mine.shape[0]):
        while lower < n and others[lower] < mine[i]:
            lower += 1
        while upper < n and others[upper] <= mine[i]:
            upper += 1
        off = (lower + upper) / (2.0 * n) - share
        spread += off * off
    return spread


@compiled
def row_placements(s, rows, positive, n_pos, out):
    """Fill twice the placement of each row; s is sorted, the rest in the order of the input."""
    n = s.shape[0]
    below, below_pos = 0, 0
    i = 0
    while i < n:
        here_pos, begin = 0, i
        while i < n and s[i] == s[begin]:
            here_pos += positive[rows[i]]
            i += 1
        here_neg = i - begin - here_pos
        for k in range(begin, i):
            if positive[rows[k]]:
                out[rows[k]] = 2 * below + here_neg
            else:
                out[rows[k]] = 2 * (n_pos - below_pos) - here_pos
        below += here_neg
        below_pos += here_pos


@compiled
def row_ties(s, y, starts, tied):
    """Fill how many rows with the same s in the query have another y; rows sorted by (s, y)."""
    for q in range(starts.shape[0] - 1):
        i = starts[q]
        while i < starts[q + 1]:
            end = i
            while end < starts[q + 1] and s[end] == s[i]:
                end += 1
            begin = i
            while begin < end:
                stop = begin
                while stop < end and y[stop] == y[begin]:
                    stop += 1
                for row in range(begin, stop):
                    tied[row] = (end - i) - (stop - begin)
                begin = stop
            i = end
