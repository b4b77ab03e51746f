"""Sorting by digits: linear in the number of keys."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def counting_sort(codes, n):
    """Return the stable order of codes in 0..n-1, and where each code starts in it."""
    starts = np.zeros(n + 1, dtype=np.int64)
    for code in codes:
        starts[code + 1] += 1
    for code in range(n):
        starts[code + 1] += starts[code]
    place = starts[:-1].copy()
    order = np.empty(codes.shape[0], dtype=np.int64)
    for i in range(codes.shape[0]):
        order[place[codes[i]]] = i
        place[codes[i]] += 1
    return order, starts
