"""Places by draws of the strengths."""

from typing import Any

import numpy as np

from rankwise._core._loops.shapes import EACH, check_shape
from rankwise._core.compilation import compiled


def largest_gaps(draws: Any, per_error: Any) -> Any:
    """Return for each draw the largest difference of two items in units of its standard error.

    A draw is sorted, and pairs are tried from the ends inwards as long as one that is as far apart
    could still be the largest: a few n pairs a draw instead of n^2 / 2.

    Parameters
    ----------
    draws : float64 array of shape (b, n)
        Errors of the strengths.
    per_error : float64 array of shape (n, n)
        One over the standard error of each difference, symmetric; the diagonal is not read.
    """
    check_shape("per_error", per_error, draws.shape[1], draws.shape[1], advice=EACH)
    # sorted by NumPy: to compile a sort takes longer than all the rest
    return _largest_gaps(draws, np.argsort(draws, axis=1), per_error)


@compiled
def _largest_gaps(draws, orders, per_error):
    b, n = draws.shape
    most = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if i != j:
                most[i] = max(most[i], per_error[i, j])
    out = np.zeros(b)
    for row in range(b):
        draw, order = draws[row], orders[row]
        best = 0.0
        for a in range(n - 1, 0, -1):
            i = order[a]
            if (draw[i] - draw[order[0]]) * most[i] <= best:
                continue
            for o in range(a):
                j = order[o]
                gap = draw[i] - draw[j]
                if gap * most[i] <= best:
                    break
                best = max(best, gap * per_error[i, j])
        out[row] = best
    return out
