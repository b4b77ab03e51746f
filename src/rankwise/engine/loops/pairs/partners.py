"""Sums of vectors over the partners of each row, for curvature matrices. Twin: the definition.

The partners of a row are those it forms a pair with whose cost lies in a band, ``low < cost``
and ``cost < high`` before it is cut at 0. A sweep over the rows sorted by score lets partners in at
one end of the band and out at the other. Where targets have to be in order, too, the sums are
kept in a binary indexed tree over them.
"""

import numpy as np

from rankwise.engine.loops.compiled import compiled


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
def better_partners(rows, t, starts, ranks, n_ranks, V, margin, low, high, out):
    """Fill ``out[i]`` with the sum of V over the j above i with low < t_i - t_j + margin < high."""
    tree = np.zeros((n_ranks + 1, V.shape[1]))
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        tree[:] = 0.0
        inside, outside = start, start
        for x in range(start, stop):
            while inside < stop and t[x] - t[inside] + margin > low:
                p = rows[inside]
                _add(tree, n_ranks - ranks[p], V[p], 1.0)
                inside += 1
            while outside < inside and t[x] - t[outside] + margin >= high:
                p = rows[outside]
                _add(tree, n_ranks - ranks[p], V[p], -1.0)
                outside += 1
            p = rows[x]
            _sum(tree, n_ranks - ranks[p] - 1, out[p])


@compiled
def worse_partners(rows, t, starts, ranks, n_ranks, V, margin, low, high, out):
    """Fill ``out[j]`` with the sum of V over the i below j with low < t_i - t_j + margin < high."""
    tree = np.zeros((n_ranks + 1, V.shape[1]))
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        tree[:] = 0.0
        inside, outside = stop - 1, stop - 1
        for x in range(stop - 1, start - 1, -1):
            while inside >= start and t[inside] - t[x] + margin > low:
                p = rows[inside]
                _add(tree, ranks[p] + 1, V[p], 1.0)
                inside -= 1
            while outside > inside and t[outside] - t[x] + margin >= high:
                p = rows[outside]
                _add(tree, ranks[p] + 1, V[p], -1.0)
                outside -= 1
            p = rows[x]
            _sum(tree, ranks[p], out[p])


@compiled
def lower_partners(r, starts, V, epsilon, low, high, out):
    """Fill ``out[i]`` with the sum of V over the j with low < r_i - r_j - epsilon < high."""
    total = np.empty(V.shape[1])
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        total[:] = 0.0
        inside, outside = start, start
        for i in range(start, stop):
            while inside < stop and r[i] - r[inside] - epsilon > low:
                total += V[inside]
                inside += 1
            while outside < inside and r[i] - r[outside] - epsilon >= high:
                total -= V[outside]
                outside += 1
            out[i] = total


@compiled
def higher_partners(r, starts, V, epsilon, low, high, out):
    """Fill ``out[j]`` with the sum of V over the i with low < r_i - r_j - epsilon < high."""
    total = np.empty(V.shape[1])
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        total[:] = 0.0
        inside, outside = stop - 1, stop - 1
        for j in range(stop - 1, start - 1, -1):
            while inside >= start and r[inside] - r[j] - epsilon > low:
                total += V[inside]
                inside -= 1
            while outside > inside and r[outside] - r[j] - epsilon >= high:
                total -= V[outside]
                outside -= 1
            out[j] = total


@compiled
def _add(tree, at, v, sign):
    while at < tree.shape[0]:
        for c in range(v.shape[0]):
            tree[at, c] += sign * v[c]
        at += at & -at


@compiled
def _sum(tree, n, out):
    out[:] = 0.0
    while n > 0:
        for c in range(out.shape[0]):
            out[c] += tree[n, c]
        n -= n & -n
