"""Compiled loops over ratings and kernels.

Ratings are the arrays of a CSR matrix of users x items, with sorted indices. All sums run in a
fixed order.
"""

from rankwise._core.compilation import compiled


@compiled
def add_products(first, step, starts, entries, indices, own, total):
    """Add a_ui a_uj + b_ui b_uj of all users to ``total[i, j]``, for j >= i and some items i.

    Parameters
    ----------
    first, step : int64
        The items i are first, first + step, ...
    starts : int64 (n_items + 1,)
        The entries of item i are ``entries[starts[i]:starts[i + 1]]``.
    entries : int64 (n_ratings, 2)
        The rating of an entry, and where the user's ratings end.
    indices : int32 (n_ratings,)
        The item of each rating.
    own : float64 (2, n_ratings)
        The rows a and b of the users, at their ratings.
    total : float64 (n_items or more, n_items or more)
    """
    a, b = own[0], own[1]
    for i in range(first, starts.shape[0] - 1, step):
        for s in range(starts[i], starts[i + 1]):
            p = entries[s, 0]
            x, z = a[p], b[p]
            for q in range(p, entries[s, 1]):
                total[i, indices[q]] += x * a[q] + z * b[q]


@compiled
def gather(K, index, own, shift, out):
    """Fill the upper half of ``out`` with K among some items, without a user's own rows.

    ``own`` has three of them, at these items; ``shift`` is added to the diagonal.
    """
    for i in range(index.shape[0]):
        row = K[index[i]]
        a, b, f = own[0, i], own[1, i], own[2, i]
        for j in range(i, index.shape[0]):
            out[i, j] = row[index[j]] - a * own[0, j] - b * own[1, j] - f * own[2, j]
        out[i, i] += shift
