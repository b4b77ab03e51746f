"""Sums of vectors over the partners of each row, for curvature matrices. Twin: the definition.

The partners of a row are those it forms a pair with whose cost lies in a band, ``low < cost``
and ``cost < high`` before it is cut at 0. A sweep over the rows sorted by score lets partners in at
one end of the band and out at the other. Where targets have to be in order, too, the sums are
kept in a binary indexed tree over them.
"""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled


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


class Sweep(NamedTuple):
    """Rows sorted by (query, target), and the order in which they are swept.

    ``rows`` and ``t`` of shape (m,) are the rows sorted by (query, t) and their t, ``starts`` of
    shape (n_queries + 1,) is where each query begins, and m, ``ranks`` of shape (m,) and
    ``n_ranks`` are from `target_ranks`.
    """

    rows: np.ndarray
    t: np.ndarray
    starts: np.ndarray
    ranks: np.ndarray
    n_ranks: int

    def turned(self) -> "Sweep":
        """Return the same rows with t and targets negated: the worse rows are now the better."""
        t, starts = turned(self.t, self.starts)
        rows = np.ascontiguousarray(self.rows[::-1])
        return Sweep(rows, t, starts, self.n_ranks - 1 - self.ranks, self.n_ranks)


def turned(t, starts):
    """Return -t in rising order again, and where its queries, the last first, begin."""
    return -t[::-1], t.shape[0] - starts[::-1]


def better_partners(sweep, V, band, out):
    """Fill ``out[i]`` with the sum of V over the j above i with t_i - t_j + margin in a band.

    V and ``out`` have the shape (m, d).
    """
    _better_partners(sweep, V, band, np.empty((sweep.n_ranks + 1, V.shape[1])), out)


@compiled
def _better_partners(sweep, V, band, tree, out):
    rows, t, starts, ranks, n_ranks = sweep
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


def lower_partners(r, starts, V, band, out):
    """Fill ``out[i]`` with the sum of V over the j with r_i - r_j + margin in a band.

    ``r`` of shape (m,) is sorted within queries, V and ``out`` have the shape (m, d).
    """
    _lower_partners(r, starts, V, band, np.empty((1, V.shape[1])), out)


@compiled
def _lower_partners(r, starts, V, band, total, out):
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
