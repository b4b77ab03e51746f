"""A kernel in factors, for tables with many items.

The exact kernel of the *head*, the items that are rated most, is replaced by ``V V' + diag`` of a
given rank. In these coordinates every user is a vector c_u, found by the same ridge as ever. Each
item of the *tail*, all others, gets the row of V that explains its ratings best, by a ridge on the
vectors of those who rated it. Its own ratings have no part in these vectors, so nothing counts
twice.

Cost: that of the exact form for the head, and O(N rank^2 + (U + n) rank^3) for the tail.
"""

import numpy as np
from sklearn.utils.extmath import randomized_svd

from rankwise._core.threads import Pool
from rankwise.recommend.baseline import Ints, Matrix, Ratings, Vector
from rankwise.recommend.intervals import PRIOR_RATINGS
from rankwise.recommend.item_kernel import UserRows, solve_in_place
from rankwise.recommend.taste import FactorKernel, Kernel

# Penalty of the ridge of an item of the tail, in units of rank / mean |V_i|^2.
_PENALTY = 0.35
# Steps of the iteration that finds the factors, and directions beyond the rank.
_STEPS, _BEYOND = 6, 20


def factor_kernel(
    K: Matrix,
    rows: UserRows,
    users: Ints,
    head: Ints,
    R: Ratings,
    baseline: tuple[Vector, Vector],
    noise: float,
    rank: int,
    pool: Pool,
) -> Kernel:
    """Return factors of all items, of the kernel K of the items of the head.

    Parameters
    ----------
    K : ndarray
        The kernel of the items of the head, and the pseudo-items.
    rows : UserRows
        The users who have rated any of the head.
    users, head : ndarrays of int
        These users, and the items of K, in R.
    R : csr_array of shape (n_users, n_items)
        All ratings.
    baseline : tuple of two ndarrays
        The user biases and the item means of R.
    noise : float
    rank : int
    pool : Pool
    """
    n_items, n_pseudo = R.shape[1], rows.coordinates.shape[1]
    V, extra = factorise(K, rank)
    factors = np.zeros((n_items + n_pseudo, rank))
    index = np.concatenate([head, n_items + np.arange(n_pseudo)])
    factors[index] = V
    diagonal = np.full(len(factors), float(np.mean(extra[: len(head)])))
    diagonal[index] = extra
    tail = np.setdiff1d(np.arange(n_items), head)
    if len(tail):
        user_bias, item_means = baseline[0].copy(), baseline[1]
        vectors = np.zeros((len(user_bias), rank))
        vectors[users], user_bias[users] = user_vectors(rows, noise, V, extra, pool)
        penalty = _PENALTY * rank / float(np.mean(np.square(V[: len(head)]).sum(axis=1)))
        factors[tail] = tail_factors(
            R[:, tail], vectors, user_bias, item_means[tail], penalty, pool
        )
    return FactorKernel(factors, diagonal)


def factorise(K: Matrix, rank: int) -> tuple[Matrix, Vector]:
    """Return V of the leading directions and the rest of the diagonal: ``K ~ V V' + diag``."""
    options = {"n_oversamples": _BEYOND, "n_iter": _STEPS, "power_iteration_normalizer": "QR"}
    vectors, values, _ = randomized_svd(K, min(rank, len(K)), random_state=0, **options)
    V = np.zeros((len(K), rank))
    V[:, : len(values)] = vectors * np.sqrt(values)
    return V, np.maximum(np.diagonal(K) - np.square(V).sum(axis=1), 0.0)


def user_vectors(
    rows: UserRows, noise: float, V: Matrix, extra: Vector, pool: Pool
) -> tuple[Matrix, Vector]:
    """Return the coordinates of all users, and their biases."""
    R, n_items, rank = rows.ratings, rows.ratings.shape[1], V.shape[1]
    weights = 1 / (noise + extra)
    scaled = V * weights[:, None]
    # the part of the pseudo-items is the same for all
    common = np.eye(rank) + scaled[n_items:].T @ V[n_items:]
    of_pseudo = rows.pseudo_ratings @ scaled[n_items:]
    vectors, user_bias = np.empty((R.shape[0], rank)), np.empty(R.shape[0])

    def fit_user(u: int) -> None:
        at = slice(R.indptr[u], R.indptr[u + 1])
        items = R.indices[at]
        some, w = scaled[items], weights[items]
        targets = R.data[at] - rows.item_means[items]
        right = np.array([of_pseudo[u] + targets @ some, some.sum(axis=0)])
        solutions = right.copy()
        solve_in_place(common + some.T @ V[items], solutions)
        above = w @ targets - right[1] @ solutions[0]
        below = w.sum() - right[1] @ solutions[1]
        user_bias[u] = above / (below + PRIOR_RATINGS / noise)
        vectors[u] = solutions[0] - user_bias[u] * solutions[1]

    pool.run(fit_user, R.shape[0], work=np.inf)
    return vectors, user_bias


def tail_factors(
    R: Ratings,
    vectors: Matrix,
    user_bias: Vector,
    item_means: Vector,
    penalty: float,
    pool: Pool,
) -> Matrix:
    """Return the rows of V of items, by a ridge of their ratings on the vectors of the raters."""
    by_item = R.tocsc()
    rank = vectors.shape[1]
    factors = np.zeros((R.shape[1], rank))

    def fit_item(i: int) -> None:
        at = slice(by_item.indptr[i], by_item.indptr[i + 1])
        users = by_item.indices[at]
        if len(users) == 0:
            return
        X, y = vectors[users], by_item.data[at] - item_means[i] - user_bias[users]
        few = len(users) < rank
        M = X @ X.T if few else X.T @ X
        M[np.diag_indices_from(M)] += penalty
        solution = (y if few else X.T @ y)[None, :]
        solve_in_place(M, solution)
        factors[i] = solution[0] @ X if few else solution[0]

    pool.run(fit_item, R.shape[1], work=np.inf)
    return factors
