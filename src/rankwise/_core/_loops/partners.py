"""Sums of vectors over the partners of each row, for curvature matrices.

The partners of a row are those it forms a pair with whose cost lies in a band, ``low < cost``
and ``cost < high`` before it is cut at 0. A sweep over the rows sorted by score lets partners in at
one end of the band and out at the other. Where targets have to be in order, too, the sums are
kept in a binary indexed tree over them. A band is a tuple of the margin, which is part of a cost,
``low`` and ``high``.
"""

import numpy as np

from rankwise._core.compilation import compiled


def target_ranks(y, starts):
    """Return the rank, from 0, of each sorted target in its query, and the most ranks of one."""
    new = np.append(True, y[1:] != y[:-1])
    new[starts[:-1][np.diff(starts) > 0]] = False
    ranks = np.cumsum(new, dtype=np.int32)
    ranks -= np.repeat(ranks[np.minimum(starts[:-1], len(y) - 1)], np.diff(starts))
    return ranks, int(ranks.max(initial=-1)) + 1


def turned(t, starts):
    """Return -t in rising order again, and where its queries, the last first, begin."""
    return -t[::-1], t.shape[0] - starts[::-1]


@compiled
def better_partners(rows, t, starts, ranks, n_ranks, V, band, tree, out):
    """Fill ``out[i]`` with the sum of V over the j above i with t_i - t_j + margin in a band.

    Rows are numbered by (query, target). ``rows`` and ``t`` of shape (m,) are the rows sorted by
    (query, t) and their t, ``starts`` of shape (n_queries + 1,) is where each query begins, and m,
    ``ranks`` of shape (m,) and ``n_ranks`` are from `target_ranks`. V and ``out`` have the shape
    (m, d), ``tree`` is an array of shape (n_ranks + 1, d).
    """
    margin, low, high = band
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        for rank in range(n_ranks + 1):
            for c in range(tree.shape[1]):
                tree[rank, c] = 0.0
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
def lower_partners(r, starts, V, band, total, out):
    """Fill ``out[i]`` with the sum of V over the j with r_i - r_j + margin in a band.

    ``r`` of shape (m,) is sorted within queries, V and ``out`` have the shape (m, d), ``total`` is
    working memory of shape (1, d).
    """
    margin, low, high = band
    for q in range(starts.shape[0] - 1):
        start, stop = starts[q], starts[q + 1]
        for c in range(total.shape[1]):
            total[0, c] = 0.0
        inside, outside = start, start
        for i in range(start, stop):
            while inside < stop and r[i] - r[inside] + margin > low:
                _add(total, 0, V[inside], 1.0)
                inside += 1
            while outside < inside and r[i] - r[outside] + margin >= high:
                _add(total, 0, V[outside], -1.0)
                outside += 1
            for c in range(out.shape[1]):
                out[i, c] = total[0, c]


@compiled(inner=True)
def _add(tree, at, v, sign):
    while at < tree.shape[0]:
        for c in range(v.shape[0]):
            tree[at, c] += sign * v[c]
        if at == 0:
            break
        at += at & -at


@compiled(inner=True)
def _sum(tree, n, out):
    for c in range(out.shape[0]):
        out[c] = 0.0
    while n > 0:
        for c in range(out.shape[0]):
            out[c] += tree[n, c]
        n -= n & -n
