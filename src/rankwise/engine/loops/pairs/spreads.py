"""How far residuals spread around their mean, query by query. Twin: the definition."""

from typing import Any

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.shapes import EACH, check_shape

BLOCK = 1024
"""Rows that are read twice while the cache holds them."""


def squared_spread(s: Any, y: Any, a: Any, starts: Any) -> float:
    """Return the sum over queries of their weight times that of a (s - y - mean)^2.

    ``a`` are row weights, empty if all are 1. Each block is centred on its own, then joins the ones
    before it, so that nothing cancels.
    """
    n = starts[-1]
    check_shape("s", s, n, advice=EACH)
    check_shape("y", y, n, advice=EACH)
    check_shape("a", a, n if len(a) else 0, advice=EACH)
    return _squared_spread(s, y, a, starts)


@compiled(fastmath={"reassoc", "contract"})
def _squared_spread(s, y, a, starts):
    found = 0.0
    for q in range(starts.shape[0] - 1):
        weight, mean, squares = 0.0, 0.0, 0.0
        for begin in range(starts[q], starts[q + 1], BLOCK):
            end = min(begin + BLOCK, starts[q + 1])
            w, centre = float(end - begin), 0.0
            if a.shape[0] > 0:
                w = a[begin:end].sum()
            if w == 0.0:
                continue
            for i in range(begin, end):
                centre += (a[i] if a.shape[0] > 0 else 1.0) * (s[i] - y[i])
            centre /= w
            rest, square = 0.0, 0.0
            for i in range(begin, end):
                apart = s[i] - y[i] - centre
                weighted = (a[i] if a.shape[0] > 0 else 1.0) * apart
                rest += weighted
                square += weighted * apart
            gap = centre + rest / w - mean
            squares += square - rest * rest / w + gap * gap * (weight * w / (weight + w))
            weight += w
            mean += gap * (w / weight)
        found += weight * squares
    return found
