"""A kernel in factors, for tables with many items.

The exact kernel of the *head*, the items that are rated most, is replaced by ``V V' + diag`` of a
given rank. In these coordinates every user is a vector c_u, found by the same ridge as ever. Each
item of the *tail*, all others, gets the row of V that explains its ratings best, by a ridge on the
vectors of those who rated it. Its own ratings have no part in these vectors, so nothing counts
twice.

Cost: that of the exact form for the head, and O(N rank^2 + (U + n) rank^3) for the tail.
"""

import numpy as np

from rankwise._core.threads import Pool
from rankwise.recommend.baseline import Baseline, Ints, Matrix, Ratings, Vector
from rankwise.recommend.intervals import PRIOR_RATINGS
from rankwise.recommend.item_kernel import Say, UserRows, memory_of_kernel
from rankwise.recommend.solve import factor, run_users, solve
from rankwise.recommend.taste import FactorKernel

_HEAD, _LEAST_HEAD = 8_000, 500
# Penalty of the ridge of an item of the tail, in units of rank / mean |V_i|^2.
_PENALTY = 0.35
# Steps of the iteration that finds the factors, directions beyond the rank, rows of a task.
_STEPS, _BEYOND, _ROWS = 10, 20, 256


def head_for(n_users: int, n_items: int, n_ratings: int, memory: float) -> int:
    """Return how many items the head has: at most 8,000, fewer if the memory is small."""
    head = min(_HEAD, n_items)
    while head > _LEAST_HEAD and memory_of_kernel(n_users, head, n_ratings) > memory:
        head = max(_LEAST_HEAD, int(0.9 * head))
    return min(head, n_items)


def factor_kernel(
    K: Matrix,
    rows: UserRows,
    head: Ints,
    ratings: Ratings,
    baseline: Baseline,
    noise: float,
    rank: int,
    pool: Pool,
    say: Say,
) -> FactorKernel:
    """Return factors of all items, of the kernel K of the items of the head.

    Parameters
    ----------
    K : ndarray
        The kernel of the items of the head, and the pseudo-items.
    rows : UserRows
        The users who have rated any of the head.
    head : ndarray of int
        The items of K.
    ratings, baseline : Ratings, Baseline
        Those of all items.
    noise : float
    rank : int
    pool : Pool
    say : callable
    """
    say(f"factors of rank {rank}")
    n_pseudo = rows.coordinates.shape[1]
    V, extra = factorise(K, rank, pool)
    factors = np.zeros((ratings.n_items + n_pseudo, rank))
    index = np.concatenate([head, ratings.n_items + np.arange(n_pseudo)])
    factors[index] = V
    diagonal = np.full(len(factors), float(np.mean(extra[: len(head)])))
    diagonal[index] = extra
    tail = np.setdiff1d(np.arange(ratings.n_items), head)
    if len(tail):
        say(f"factors of {len(tail)} items with fewer ratings")
        _, users = ratings.only_items(head)
        vectors, user_bias = np.zeros((ratings.n_users, rank)), baseline.user_bias.copy()
        vectors[users], user_bias[users] = user_vectors(rows, noise, V, extra, pool)
        of_tail, raters = ratings.only_items(tail)
        typical = float(np.mean(np.square(V[: len(head)]).sum(axis=1)))
        factors[tail] = tail_factors(
            of_tail,
            vectors[raters],
            user_bias[raters],
            baseline.item_means[tail],
            _PENALTY * rank / typical,
            pool,
        )
    return FactorKernel(factors, diagonal)


def factorise(K: Matrix, rank: int, pool: Pool) -> tuple[Matrix, Vector]:
    """Return V and what is left of the diagonal, so that ``K ~ V V' + diag``: leading directions.

    By subspace iteration from a fixed start.
    """
    n = len(K)
    width = min(rank + _BEYOND, n)
    Q = np.random.default_rng(0).normal(size=(n, width))
    edges = range(0, n, _ROWS)
    for _ in range(_STEPS):
        Q, _ = np.linalg.qr(Q)
        Z = np.empty_like(Q)

        def rows(t: int, Q: Matrix = Q, Z: Matrix = Z) -> None:
            at = slice(edges[t], edges[t] + _ROWS)
            np.matmul(K[at], Q, out=Z[at])

        pool.run(rows, len(edges), work=float(K.size * width))
        last, Q = Q, Z
    values, vectors = np.linalg.eigh(last.T @ Q)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    V = np.zeros((n, rank))
    V[:, : len(values)] = (last @ vectors) * np.sqrt(np.maximum(values, 0.0))
    return V, np.maximum(np.diagonal(K) - np.square(V).sum(axis=1), 0.0)


def user_vectors(
    rows: UserRows, noise: float, V: Matrix, extra: Vector, pool: Pool
) -> tuple[Matrix, Vector]:
    """Return the coordinates of all users, and their biases."""
    ratings, item_means = rows.ratings, rows.baseline.item_means
    n_items, rank = ratings.n_items, V.shape[1]
    weights = 1 / (noise + extra)
    scaled = V * weights[:, None]
    # the part of the pseudo-items is the same for all
    common = np.eye(rank) + scaled[n_items:].T @ V[n_items:]
    of_pseudo = rows.pseudo_ratings @ scaled[n_items:]
    vectors, user_bias = np.empty((ratings.n_users, rank)), np.empty(ratings.n_users)

    def fit_user(u: int, _: None) -> None:
        at = slice(ratings.indptr[u], ratings.indptr[u + 1])
        items = ratings.indices[at]
        some, w = scaled[items], weights[items]
        targets = ratings.values[at] - item_means[items]
        right = np.array([of_pseudo[u] + targets @ some, some.sum(axis=0)])
        M, found = common + some.T @ V[items], right.copy()
        factor(M)
        solve(M, found)
        above = w @ targets - right[1] @ found[0]
        below = w.sum() - right[1] @ found[1]
        user_bias[u] = above / (below + PRIOR_RATINGS / noise)
        vectors[u] = found[0] - user_bias[u] * found[1]

    run_users(fit_user, ratings.n_users, pool, lambda: None)
    return vectors, user_bias


def tail_factors(
    ratings: Ratings,
    vectors: Matrix,
    user_bias: Vector,
    item_means: Vector,
    penalty: float,
    pool: Pool,
) -> Matrix:
    """Return the rows of V of items, by a ridge of their ratings on the vectors of the raters."""
    by_item = ratings.with_values(ratings.values).tocsc()
    rank = vectors.shape[1]
    found = np.zeros((ratings.n_items, rank))

    def fit_item(i: int, _: None) -> None:
        at = slice(by_item.indptr[i], by_item.indptr[i + 1])
        users = by_item.indices[at]
        if len(users) == 0:
            return
        X, y = vectors[users], by_item.data[at] - item_means[i] - user_bias[users]
        few = len(users) < rank
        M = X @ X.T if few else X.T @ X
        M[np.diag_indices_from(M)] += penalty
        solution = (y if few else X.T @ y)[None, :]
        factor(M)
        solve(M, solution)
        found[i] = solution[0] @ X if few else solution[0]

    run_users(fit_item, ratings.n_items, pool, lambda: None)
    return found
