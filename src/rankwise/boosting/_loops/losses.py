r"""Gradients of a loss over the pairs of each query, summed up pair by pair.

The pair of a worse row i and a better one j costs :math:`w_{ij} \log(1 + e^{s_i - s_j})` or
:math:`w_{ij} e^{s_i - s_j}`. Rows are sorted by query and target. O(n^2) for a query of n rows.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core._loops.rows import SUMS
from rankwise._core.compilation import compiled

# What a pair weighs, beside its rows: 1, the difference of the gains, or the change of NDCG.
UNIFORM, MAGNITUDE, NDCG = 0, 1, 2
# Scores of a query that lie further apart than this have no common unit for e^s.
SPAN = 600.0


class Lists(NamedTuple):
    """The queries of m rows.

    - ``starts`` (n_queries + 1,): where each begins;
    - ``higher`` (m,): where the rows of a higher target than a row's begin in its query;
    - ``a`` (m,): row weights; ``gains`` (m,): what targets are worth;
    - ``counts`` (m,): how many places a row has;
    - ``best`` (n_queries,): the largest discounted gain of each query; nan if it has no pair;
    - ``discounts``, ``spreads`` (m,): what a row's place is worth at its score, the mean if others
      have the same; and the mean difference of two places of those, 0 if there is one.
    """

    starts: np.ndarray
    higher: np.ndarray
    a: np.ndarray
    gains: np.ndarray
    counts: np.ndarray
    best: np.ndarray
    discounts: np.ndarray
    spreads: np.ndarray


@compiled(error_model="numpy")
def fill_discounts(rows, ordered, starts, worth, lists):
    """Fill the discounts and spreads.

    ``rows`` (m,) are those of each query by rising score, ``ordered`` (m,) their scores, and
    ``worth`` (any,) falls with the place, the best one first.
    """
    for q in range(starts.shape[0] - 1):
        i, place = starts[q + 1] - 1, 0
        while i >= starts[q]:
            end, n, total, spread = i, 0, 0.0, 0.0
            while i >= starts[q] and ordered[i] == ordered[end]:
                n += lists.counts[rows[i]]
                i -= 1
            for t in range(n):
                total += worth[place + t]
                spread += (n - 1 - 2 * t) * worth[place + t]
            for t in range(i + 1, end + 1):
                lists.discounts[rows[t]] = total / n
                lists.spreads[rows[t]] = 2.0 * spread / max(n * (n - 1), 1)
            place += n


@compiled(error_model="numpy")
def fill_gradients(lists, s, kind, logistic, out, sums, room, first, last):
    """Fill gradient and Hessian ``out`` (2, m) of the rows of queries first to last.

    ``sums`` (n_queries, 2) gets the sum of the pairs' slopes, and of their weights. ``kind`` is one
    of the words above. ``room`` (3, n) is working memory: queries of more rows are left out.
    """
    slopes, curves, u = room[0], room[1], room[2]
    for q in range(first, last):
        start, stop = lists.starts[q], lists.starts[q + 1]
        if stop - start > room.shape[1]:
            continue
        g, h = out[0, start:stop], out[1, start:stop]
        low, top = np.inf, -np.inf
        for i in range(stop - start):
            g[i] = h[i] = 0.0
            low, top = min(low, s[start + i]), max(top, s[start + i])
        for i in range(stop - start):
            u[i] = np.exp(s[start + i] - 0.5 * (low + top))
        sums[q, 0] = sums[q, 1] = 0.0
        for i in range(stop - start):
            # from here on, only the rows of a higher target
            at = lists.higher[start + i]
            n, mine = stop - at, u[i]
            others = u[at - start : stop - start]
            if top - low > SPAN:
                mine = 1.0
                for j in range(n):
                    others[j] = np.exp(min(max(s[at + j] - s[start + i], -SPAN), SPAN))
            weigh(lists, q, start + i, kind, slopes)
            sums[q, 1] += total(slopes, n)
            if logistic:
                for j in range(n):
                    wrong = mine / (mine + others[j])
                    slopes[j] *= wrong
                    curves[j] = slopes[j] * (1.0 - wrong)
            else:
                for j in range(n):
                    slopes[j] *= mine / others[j]
            bends = curves if logistic else slopes
            their_g, their_h = g[at - start :], h[at - start :]
            for j in range(n):
                their_g[j] -= slopes[j]
                their_h[j] += bends[j]
            slope = total(slopes, n)
            g[i] += slope
            h[i] += total(curves, n) if logistic else slope
            sums[q, 0] += slope


@compiled(inner=True, error_model="numpy")
def weigh(lists, q, i, kind, out):
    """Fill the weights ``out`` of the pairs of row i of query q and its better rows."""
    at, stop, mine = lists.higher[i], lists.starts[q + 1], lists.a[i]
    gains, discounts, a = lists.gains[at:stop], lists.discounts[at:stop], lists.a[at:stop]
    gain, discount, spread = lists.gains[i], lists.discounts[i], lists.spreads[i]
    if kind == NDCG:
        scale = mine / lists.best[q]
        for j in range(stop - at):
            far = abs(discounts[j] - discount)
            out[j] = scale * a[j] * (gains[j] - gain) * (far if far > 0.0 else spread)
    else:
        for j in range(stop - at):
            out[j] = mine * a[j] * (gains[j] - gain if kind == MAGNITUDE else 1.0)


@compiled(inner=True, fastmath=SUMS)
def total(values, n):
    """Return the sum of the first n values."""
    found = 0.0
    for j in range(n):
        found += values[j]
    return found
