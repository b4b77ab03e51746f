"""Rows scaled by what was seen so far. Its twin is in the tests, a row at a time."""

from typing import Any

import numpy as np

from rankwise._core._loops.shapes import check_shape
from rankwise._core.compilation import compiled


def scale_as_seen(columns: Any, seen: int, mean: Any, variance: Any) -> Any:
    """Standardise rows one by one, by the mean and deviation of the rows up to each.

    The same numbers for any cutting of the rows into blocks, bit for bit. A column that has had one
    value only is moved to 0 and not divided. O(rows x columns).

    Parameters
    ----------
    columns : (d, n)
        The new rows, a column each.
    seen : int
        How many rows came before.
    mean, variance : (d,)
        Of those rows; they become those of all.

    Returns
    -------
    (n, d)
        The scaled rows.
    """
    check_shape("columns", columns, None, None)
    check_shape("mean", mean, len(columns))
    check_shape("variance", variance, len(columns))
    out = np.empty(columns.shape[::-1])
    _scale_as_seen(columns, seen, mean, variance, out)
    return out


@compiled
def _scale_as_seen(columns, seen, mean, variance, out):
    for c in range(columns.shape[0]):
        m, v = mean[c], variance[c]
        for i in range(columns.shape[1]):
            x = columns[c, i]
            n = seen + i + 1
            apart = x - m
            m += apart / n
            v += (apart * (x - m) - v) / n
            out[i, c] = (x - m) / np.sqrt(v) if v > 0.0 else x - m
        mean[c], variance[c] = m, v
