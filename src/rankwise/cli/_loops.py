"""Rows of a stream, scaled by what was seen so far."""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def scale_as_seen(columns, seen, mean, variance):
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
    out = np.empty((columns.shape[1], columns.shape[0]))
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
    return out
