"""Residuals, and how far they spread around their mean, by query. Twin: the definition."""

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
