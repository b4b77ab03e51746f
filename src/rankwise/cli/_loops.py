"""Rows of a stream, scaled by what was seen so far."""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def scale_as_seen(columns, seen, mean, variance):
    """Standardise rows one by one, by the mean and deviation of the rows up to each.

    The same numbers for any blocks of rows, bit for bit. A column that has had one value only is
    moved to 0 and not divided. A missing number is imputed by the mean, which is 0. O(rows x
    columns).

    Parameters
    ----------
    columns : (d, n)
        The new rows, a column each; NaN is a missing number.
    seen, mean, variance : (d,)
        How many numbers each column had before, their mean and variance; they become those of all.

    Returns
    -------
    (n, d)
        The scaled rows.
    """
    out = np.zeros((columns.shape[1], columns.shape[0]))
    for c in range(columns.shape[0]):
        n, m, v = seen[c], mean[c], variance[c]
        for i in range(columns.shape[1]):
            x = columns[c, i]
            if not np.isnan(x):
                n += 1.0
                apart = x - m
                m += apart / n
                v += (apart * (x - m) - v) / n
                out[i, c] = (x - m) / np.sqrt(v) if v > 0.0 else x - m
        seen[c], mean[c], variance[c] = n, m, v
    return out
