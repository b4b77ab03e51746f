"""Sums of vectors over the partners of each row, for curvature matrices. Twin: the definition.

The partners of a row are those it forms a pair with whose cost lies in a band, ``low < cost``
and ``cost < high`` before it is cut at 0. A sweep over the rows sorted by score lets partners in at
one end of the band and out at the other. Where targets have to be in order, too, the sums are
kept in a binary indexed tree over them.
"""

from typing import NamedTuple

import numpy as np

from rankwise.engine.loops.compiled import compiled


class Band(NamedTuple):
    """Which pairs are partners: those with ``low < cost < high``; ``margin`` is part of a cost."""

    margin: float
    low: float
    high: float


@compiled
def target_ranks(y, starts, ranks):
    """Fill the rank, from 0, of each target among those of its query; return the most of them."""
    most = 0
    for q in range(starts.shape[0] - 1):
        rank = 0
        for p in range(starts[q], starts[q + 1]):
            if p > starts[q] and y[p] != y[p - 1]:
                rank += 1
            ranks[p] = rank
            most = max(most, rank + 1)
    return most


@compiled
def better_partners(rows, t, starts, ranks, n_ranks, V, band, out):
    """Fill ``out[i]`` with the sum of V over the j above i with t_i - t_j + margin in a band.

    Rows are sorted by (query, target). ``rows`` and ``t`` of shape (m,) are them sorted by (query,
    t) and their t, ``ranks`` of shape (m,) is from `target_ranks`, V and ``out`` have the shape
    (m, d).
    """
    tree = np.zeros((n_ranks + 1, V.shape[1]))
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        _clear(tree)
        inside, outside = start, start
        for x in range(start, stop):
            while inside < stop and t[x] - t[inside] + band.margin > band.low:
                p = rows[inside]
                _add(tree, n_ranks - ranks[p], V[p], 1.0)
                inside += 1
            while outside < inside and t[x] - t[outside] + band.margin >= band.high:
                p = rows[outside]
                _add(tree, n_ranks - ranks[p], V[p], -1.0)
                outside += 1
            p = rows[x]
            _sum(tree, n_ranks - ranks[p] - 1, out[p])


@compiled
def worse_partners(rows, t, starts, ranks, n_ranks, V, band, out):
    """Fill ``out[j]`` with the sum of V over the i below j with t_i - t_j + margin in a band.

    The arrays are those of `better_partners`.
    """
    tree = np.zeros((n_ranks + 1, V.shape[1]))
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        _clear(tree)
        inside, outside = stop - 1, stop - 1
        for x in range(stop - 1, start - 1, -1):
            while inside >= start and t[inside] - t[x] + band.margin > band.low:
                p = rows[inside]
                _add(tree, ranks[p] + 1, V[p], 1.0)
                inside -= 1
            while outside > inside and t[outside] - t[x] + band.margin >= band.high:
                p = rows[outside]
                _add(tree, ranks[p] + 1, V[p], -1.0)
                outside -= 1
            p = rows[x]
            _sum(tree, ranks[p], out[p])


@compiled
def lower_partners(r, starts, V, band, out):
    """Fill ``out[i]`` with the sum of V over the j with r_i - r_j + margin in a band.

    ``r`` of shape (m,) is sorted within queries, V and ``out`` have the shape (m, d).
    """
    total = np.empty((1, V.shape[1]))
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        _clear(total)
        inside, outside = start, start
        for i in range(start, stop):
            while inside < stop and r[i] - r[inside] + band.margin > band.low:
                _add(total, 0, V[inside], 1.0)
                inside += 1
            while outside < inside and r[i] - r[outside] + band.margin >= band.high:
                _add(total, 0, V[outside], -1.0)
                outside += 1
            for c in range(V.shape[1]):
                out[i, c] = total[0, c]


@compiled
def higher_partners(r, starts, V, band, out):
    """Fill ``out[j]`` with the sum of V over the i with r_i - r_j + margin in a band.

    The arrays are those of `lower_partners`.
    """
    total = np.empty((1, V.shape[1]))
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        _clear(total)
        inside, outside = stop - 1, stop - 1
        for j in range(stop - 1, start - 1, -1):
            while inside >= start and r[inside] - r[j] + band.margin > band.low:
                _add(total, 0, V[inside], 1.0)
                inside -= 1
            while outside > inside and r[outside] - r[j] + band.margin >= band.high:
                _add(total, 0, V[outside], -1.0)
                outside -= 1
            for c in range(V.shape[1]):
                out[j, c] = total[0, c]


@compiled
def _add(tree, at, v, sign):
    while at < tree.shape[0]:
        for c in range(v.shape[0]):
            tree[at, c] += sign * v[c]
        if at == 0:
            break
        at += at & -at


@compiled
def _sum(tree, n, out):
    for c in range(out.shape[0]):
        out[c] = 0.0
    while n > 0:
        for c in range(out.shape[0]):
            out[c] += tree[n, c]
        n -= n & -n


@compiled
def _clear(matrix):
    for i in range(matrix.shape[0]):
        for c in range(matrix.shape[1]):
            matrix[i, c] = 0.0
