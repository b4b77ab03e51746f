"""Sums over all pairs of residuals: squares around the mean of a query, and costs beyond epsilon.

For the latter, the rows of each query are sorted by r. The partners of row i below it, those with
r_j < r_i - eps, are then a window that only moves up, and sums of powers of r_i - eps - r_j follow
it: when r grows by a gap, each of these costs grows by it. Nothing is ever subtracted, so nothing
cancels.
"""

import numpy as np

from rankwise._core.compilation import compiled

BLOCK = 1024
"""Rows that are read twice while the cache holds them."""


@compiled
def centred_residuals(s, y, codes):
    """Return s - y less that of the row of the same query where it is nearest to 0.

    The difference of two residuals of a query then has all its digits, however far y and s are from
    0 and from each other. ``codes`` are the queries from 0, empty if there is one.
    """
    n_queries = 1
    for i in range(codes.shape[0]):
        n_queries = max(n_queries, codes[i] + 1)
    nearest = np.full(n_queries, -1)
    for i in range(y.shape[0]):
        q = codes[i] if codes.shape[0] > 0 else 0
        k = nearest[q]
        if k < 0 or abs(s[i] - y[i]) < abs(s[k] - y[k]):
            nearest[q] = i
    out = np.empty(y.shape[0])
    for i in range(y.shape[0]):
        k = nearest[codes[i] if codes.shape[0] > 0 else 0]
        residual, rest = _exact_difference(s[i], y[i])
        origin, rest_of_origin = _exact_difference(s[k], y[k])
        out[i] = (residual - origin) + (rest - rest_of_origin)
    return out


@compiled(inner=True)
def _exact_difference(a, b):
    """Return a - b rounded, and what was rounded off."""
    rounded = a - b
    part = rounded - a
    return rounded, (a - (rounded - part)) - (b + part)


@compiled(fastmath={"reassoc", "contract"})
def squared_spread(r, a, starts):
    """Return the sum over queries of their weight times that of a (r - mean)^2.

    ``a`` are row weights, empty if all are 1. Each block is centred on its own, then joins the ones
    before it, so that nothing cancels.
    """
    found = 0.0
    for q in range(starts.shape[0] - 1):
        weight, mean, squares = 0.0, 0.0, 0.0
        for begin in range(starts[q], starts[q + 1], BLOCK):
            end = min(begin + BLOCK, starts[q + 1])
            w, centre = float(end - begin), 0.0
            if a.shape[0] > 0:
                w = 0.0
                for i in range(begin, end):
                    w += a[i]
            if w == 0.0:
                continue
            for i in range(begin, end):
                centre += (a[i] if a.shape[0] > 0 else 1.0) * r[i]
            centre /= w
            rest, square = 0.0, 0.0
            for i in range(begin, end):
                apart = r[i] - centre
                weighted = (a[i] if a.shape[0] > 0 else 1.0) * apart
                rest += weighted
                square += weighted * apart
            gap = centre + rest / w - mean
            squares += square - rest * rest / w + gap * gap * (weight * w / (weight + w))
            weight += w
            mean += gap * (w / weight)
        found += weight * squares
    return found


@compiled
def window_sums(r, a, starts, epsilon, power, gradient):
    """Return the sums of cost and cost^2; fill ``gradient`` with derivatives of cost^power by r.

    The cost of an ordered pair is max(0, r_i - r_j - epsilon), its weight a_i a_j. With a negative
    epsilon both orders of a pair may cost, and a row costs when paired with itself. ``a`` is
    empty if all rows weigh 1, ``gradient`` if it is not needed.
    """
    total, squares = 0.0, 0.0
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        count, first, second = 0.0, 0.0, 0.0
        subtotal, square = 0.0, 0.0
        edge = start
        for i in range(start, stop):
            gap = r[i] - r[max(i - 1, start)]
            second += gap * (2 * first + gap * count)
            first += gap * count
            while edge < stop and r[edge] < r[i] - epsilon:
                cost = r[i] - epsilon - r[edge]
                w = a[edge] if a.shape[0] > 0 else 1.0
                count += w
                first += w * cost
                second += w * cost * cost
                edge += 1
            w = a[i] if a.shape[0] > 0 else 1.0
            if gradient.shape[0] > 0:
                gradient[i] = w * (count if power == 1 else 2 * first)
            subtotal += w * first
            square += w * second
        total += subtotal
        squares += square
        if gradient.shape[0] == 0:
            continue
        count, first = 0.0, 0.0
        edge = stop - 1
        for i in range(stop - 1, start - 1, -1):
            first += (r[min(i + 1, stop - 1)] - r[i]) * count
            while edge >= start and r[i] < r[edge] - epsilon:
                w = a[edge] if a.shape[0] > 0 else 1.0
                count += w
                first += w * (r[edge] - epsilon - r[i])
                edge -= 1
            w = a[i] if a.shape[0] > 0 else 1.0
            gradient[i] -= w * (count if power == 1 else 2 * first)
    return total, squares
