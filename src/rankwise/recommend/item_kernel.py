r"""The kernel between items that everyone's ratings teach.

With r the residuals of the baseline, :math:`n_u` and :math:`n_i` counts, U users and N ratings:

- ``a_ui = c_0 r_ui omega_u w_i / sd_u`` and ``b_ui = c_B omega_u w_i``, where
  ``w_i = (n_i + 20)^-1/2``, ``omega_u = (n_u / mean n)^-1/4``, and sd_u is the user's own standard
  deviation;
- pseudo-items, which everyone has "rated": the coordinates q_i of an item are w_i times the leading
  right singular vectors of (omega_u w_i) over the ratings, their count-weighted mean removed; a
  user's pseudo-rating x_u is the sum of q over the rated items, divided by the root of their
  number. A pseudo-item has a = c_0 omega_u x_u (U + 20)^-1/2 and b = 0;
- the first kernel is ``C = A'A + B'B``;
- a round: each user's ranker, a ridge with a free bias on the kernel *without the user's own rows*,
  gives a row F_u of scores of all items and pseudo-items; then ``K = F'F + 0.3 C``, F scaled. Own
  rows are those of A and B, and that of F if the user was in the round before;
- rounds: each third of the H users who take part has one, so that a kernel is soon smooth, and then
  all have one, whose F has a row for each of them.

Own rows are taken out since otherwise the kernel repeats to each user what the user has said. All
sums are over users, so those of parts of the users add up: `Work` has the steps that a cluster may
take.

Cost: O(sum n_u^2) for C; for each of H users in two rounds n_u^3 / 3 + n_u n, and 2 H n^2 for F'F.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from rankwise._core.threads import Pool
from rankwise.recommend._loops import add_products, gather
from rankwise.recommend.baseline import (
    Ints,
    Matrix,
    Ratings,
    Vector,
    order_by_count,
    with_values,
)

N_PSEUDO_ITEMS = 20
# Weight of C beside F'F.
FIRST_WEIGHT = 0.3
_FEW_RATERS = _FEW_USERS = 20.0
_PRIOR_RATINGS = 10.0
_PRESENCE_WEIGHT, _PSEUDO_SD = 2.0, 0.6
# Numbers smaller than this share of what they are computed from are rounding errors.
ROUNDING = 1e-6
# Of larger matrices of users x items only the leading singular vectors are computed.
_SMALL = 200
# Half of the users take part in the rounds, but at least LEAST_USERS and at most MOST_USERS. None
# of them has more than _LONGEST ratings.
LEAST_USERS, MOST_USERS, _LONGEST = 3_000, 10_000, 800
_PARTS = 3
# Tasks of the products of items; rows and columns of a tile of F'F; columns of F in a task.
_TASKS, _TILE, _COLUMNS = 64, 512, 256

Numbers = NDArray[np.floating[Any]]
Weights = tuple[float, float]
Say = Callable[[str], None]

# LAPACK's ``posv`` as SciPy exports it to Cython: ``scipy.linalg.lapack`` holds the GIL.
_POINTERS = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)
_POSV = {
    np.dtype(numbers): _POINTERS(get_cython_function_address("scipy.linalg.cython_lapack", name))
    for numbers, name in ((np.float64, "dposv"), (np.float32, "sposv"))
}
# The upper half of an array in C order is the lower half of one in Fortran order.
_LOWER = ctypes.create_string_buffer(b"L")


def solve_in_place(A: Numbers, rows: Numbers) -> None:
    """Replace each row b by the solution of ``A x = b``, for a positive definite matrix A.

    The upper half of A is replaced by its Cholesky factor; the lower half is neither read nor
    written. Both arrays are in C order, and both of float64 or both of float32.
    """
    for array in (A, rows):
        if array.dtype not in _POSV or array.dtype != A.dtype or not array.flags.carray:
            raise ValueError(
                f"an array of {array.dtype} is invalid: expected writeable arrays in C order, both "
                "of float64 or both of float32"
            )
    n, m, info = ctypes.c_int(len(A)), ctypes.c_int(len(rows)), ctypes.c_int()
    size, step = ctypes.byref(n), ctypes.byref(ctypes.c_int(max(len(A), 1)))
    # quicker than A.ctypes
    left, right = (int(array.__array_interface__["data"][0]) for array in (A, rows))
    _POSV[A.dtype](_LOWER, size, ctypes.byref(m), left, step, right, step, ctypes.byref(info))
    if info.value:
        raise np.linalg.LinAlgError(
            f"a matrix of {len(A)} rows is not positive definite, as its row {info.value} shows"
        )


def solve_user(K: Numbers, index: Ints, own: Matrix, noise: float, right: Numbers) -> Numbers:
    """Return the solution x of ``(K_u + noise I) x = b`` for each row b of ``right``.

    K_u is the kernel among the items of one user, without the rows ``own`` of this user.
    """
    A, solutions = np.empty((len(index), len(index)), K.dtype), right.astype(K.dtype)
    gather(K, index, own, noise, A)
    solve_in_place(A, solutions)
    return solutions


def solve_with_bias(
    K: Numbers, index: Ints, right: Matrix, own: Matrix, noise: float
) -> tuple[Vector, float]:
    """Return the coefficients and the free bias of a user, of what `UserRows.problem` returns."""
    of_targets, of_ones = solve_user(K, index, own, noise, right)
    weight = right[1] @ of_ones
    user_bias = (right[1] @ of_targets) / weight if weight else 0.0
    return of_targets - user_bias * of_ones, user_bias


@dataclass(frozen=True)
class UserRows:
    """The rows of users in the first kernel ``C = A'A + B'B``.

    Attributes
    ----------
    ratings : csr_array of shape (n_users, n_items)
        All users have ratings.
    item_means : ndarray of shape (n_items,)
        The baseline without the user biases.
    residual_sd : float
        The root mean square of the residuals of the baseline.
    own : ndarray of shape (2, n_ratings)
        The rows of A and B, at the rated items.
    pseudo_ratings, own_pseudo : ndarrays of shape (n_users, n_pseudo_items)
        The ratings of the pseudo-items, and the rows of A there; those of B are 0.
    coordinates : ndarray of shape (n_items, n_pseudo_items)
        What rating an item adds to the ratings of the pseudo-items.
    """

    ratings: Ratings
    item_means: Vector
    residual_sd: float
    own: Matrix
    pseudo_ratings: Matrix
    own_pseudo: Matrix
    coordinates: Matrix

    def problem(self, user: int) -> tuple[Ints, Matrix, Matrix]:
        """Return the ranking problem of a user with m rated items and pseudo-items.

        Returns
        -------
        index : ndarray of shape (m,)
            The rated items, then the pseudo-items.
        right : ndarray of shape (2, m)
            The targets: ratings less the means of the items, then those of the pseudo-items. And 1
            for each rating, 0 for each pseudo-item.
        own : ndarray of shape (3, m)
            The user's rows of A and B, and zeros.
        """
        R, n_pseudo = self.ratings, self.coordinates.shape[1]
        at = slice(R.indptr[user], R.indptr[user + 1])
        items = R.indices[at]
        n = len(items)
        index = np.concatenate([items, R.shape[1] + np.arange(n_pseudo)])
        right, own = np.zeros((2, len(index))), np.zeros((3, len(index)))
        right[0, :n], right[0, n:] = R.data[at] - self.item_means[items], self.pseudo_ratings[user]
        right[1, :n] = 1.0
        own[:2, :n], own[0, n:] = self.own[:, at], self.own_pseudo[user]
        return index, right, own

    def only(self, users: Ints) -> "UserRows":
        """Return the rows of some users, counted from 0."""
        R = self.ratings
        entries = with_values(R, np.arange(R.nnz))[users]
        return replace(
            self,
            ratings=with_values(entries, R.data[entries.data]),
            own=self.own[:, entries.data],
            pseudo_ratings=self.pseudo_ratings[users],
            own_pseudo=self.own_pseudo[users],
        )

    def after(self, n: int) -> "UserRows":
        """Return the rows as if each user had given n ratings only.

        They are spread over what the user has rated, by item. What users have added to the kernel
        stays.
        """
        R, n_users = self.ratings, len(self.pseudo_ratings)
        sizes = np.diff(R.indptr)[:, None]
        steps = np.arange(n) * sizes // n + np.arange(n_users)[:, None]
        at = np.sort(R.indptr[:-1, None] + steps % sizes, axis=1).ravel()
        starts = n * np.arange(n_users + 1)
        few = sparse.csr_array((R.data[at], R.indices[at], starts), shape=R.shape)
        sums = self.coordinates[few.indices.reshape(n_users, n)].sum(axis=1)
        return replace(self, ratings=few, own=self.own[:, at], pseudo_ratings=sums / np.sqrt(n))


def make_rows(
    R: Ratings, user_bias: Vector, item_means: Vector, n_pseudo_items: int = N_PSEUDO_ITEMS
) -> UserRows:
    """Return the rows of all users in the first kernel."""
    sizes, counts = np.diff(R.indptr), np.bincount(R.indices, minlength=R.shape[1])
    users, n_users = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    residuals = R.data - item_means[R.indices] - user_bias[users]
    squares = np.bincount(users, residuals * residuals, minlength=n_users)
    residual_sd = float(np.sqrt(squares.sum() / R.nnz))
    # Where the baseline is exact, nothing is left to scale by.
    exact = residual_sd <= ROUNDING * float(np.abs(R.data).max())
    unit = 1.0 if exact else residual_sd
    w = np.power(counts + _FEW_RATERS, -0.5, dtype=np.float64)
    omega = (sizes * (n_users / R.nnz)) ** -0.25
    sd = np.sqrt((squares + _PRIOR_RATINGS * unit**2) / (sizes + _PRIOR_RATINGS)) / unit
    a = residuals * (omega / sd)[users] * w[R.indices]
    b = omega[users] * w[R.indices]
    share = counts[R.indices] / R.nnz
    c_0 = 0.0 if exact else 1 / np.sqrt(share @ (a * a))
    c_b = np.sqrt(_PRESENCE_WEIGHT / (share @ (b * b)))

    rated, roots = with_values(R, np.ones(R.nnz)), np.sqrt(sizes)[:, None]
    q = w[:, None] * leading_vectors(with_values(R, b), n_pseudo_items)
    largest = (rated @ np.abs(q)) / roots
    q -= counts @ q / R.nnz
    x = (rated @ q) / roots
    real = np.mean(x * x, axis=0) > ROUNDING**2 * np.mean(largest * largest, axis=0)
    x, q = x[:, real], q[:, real]
    scale = _PSEUDO_SD * unit / np.sqrt(np.mean(x * x, axis=0))
    x, q = x * scale, q * scale
    own_pseudo = c_0 * omega[:, None] * x / np.sqrt(n_users + _FEW_USERS)
    return UserRows(R, item_means, residual_sd, np.array([c_0 * a, c_b * b]), x, own_pseudo, q)


def leading_vectors(M: sparse.csr_array, k: int) -> Matrix:
    """Return the leading k right singular vectors of M, or fewer if its rank is lower.

    The sum of each is positive.
    """
    if min(M.shape) <= max(_SMALL, 2 * k + 2):
        _, values, rows = np.linalg.svd(M.toarray(), full_matrices=False)
        vectors = rows[:k][values[:k] > ROUNDING * values[0]].T
    else:
        T = M.T.tocsr()
        products = LinearOperator((M.shape[1],) * 2, matvec=lambda v: T @ (M @ v), dtype=np.float64)
        values, vectors = eigsh(products, k, v0=T @ np.ones(M.shape[0]))
        order = np.argsort(-values)
        vectors = vectors[:, order[values[order] > ROUNDING**2 * values.max()]]
    return np.where(vectors.sum(axis=0) < 0, -vectors, vectors)


def first_kernel(rows: UserRows, pool: Pool, precision: Any = np.float64) -> Matrix:
    """Return C = A'A + B'B over items and pseudo-items, summed in this precision."""
    R, n_items = rows.ratings, rows.ratings.shape[1]
    by_item = with_values(R, np.arange(R.nnz)).tocsc()
    entries = np.column_stack([by_item.data, R.indptr[1:].astype(np.int64)[by_item.indices]])
    starts, columns = by_item.indptr.astype(np.int64), R.indices.astype(np.int32, copy=False)
    n = n_items + rows.coordinates.shape[1]
    C = np.zeros((n, n), precision)

    def some_items(t: int) -> None:
        add_products(t, _TASKS, starts, entries, columns, rows.own, C)

    pool.run(some_items, _TASKS, work=float(np.square(np.diff(R.indptr), dtype=float).sum()))
    C[:n_items, n_items:] = with_values(R, rows.own[0]).T @ rows.own_pseudo
    C[n_items:, n_items:] = rows.own_pseudo.T @ rows.own_pseudo
    for i in range(1, n):
        C[i, :i] = C[:i, i]
    return C


def score_users(
    K: Matrix, weights: Weights, last: Matrix | None, group: UserRows, noise: float, pool: Pool
) -> Matrix:
    """Return F: everyone's scores of all items, by the kernel without the user's own rows.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel ``first C + second F'F``.
    weights : tuple of two floats
        Those of C and F'F in it.
    last : ndarray of shape (n_users, n) or None
        The rows of F of these users in K; None if it has none.
    group : UserRows
        The users.
    noise : float
    pool : Pool
    """
    n_users, n_pseudo = group.pseudo_ratings.shape
    first, second = np.sqrt(weights)
    starts = group.ratings.indptr.astype(np.int64) + n_pseudo * np.arange(n_users + 1)
    coefs, columns = np.empty(starts[-1], K.dtype), np.empty(starts[-1], np.int64)
    by_rows, by_last = np.empty(starts[-1]), np.empty(n_users)

    def fit_user(u: int) -> None:
        at = slice(starts[u], starts[u + 1])
        columns[at], right, own = group.problem(u)
        own *= first
        if last is not None:
            own[2] = second * last[u, columns[at]]
        coefs[at], _ = solve_with_bias(K, columns[at], right, own, noise)
        along = own @ coefs[at]
        by_rows[at], by_last[u] = along[:2] @ own[:2], second * along[2]

    pool.run(fit_user, n_users, work=np.inf)
    combine = sparse.csr_array((coefs, columns, starts), shape=(n_users, len(K)))
    F = np.empty(combine.shape, K.dtype)

    def some_columns(t: int) -> None:
        some = slice(t * _COLUMNS, (t + 1) * _COLUMNS)
        F[:, some] = combine @ np.ascontiguousarray(K[:, some])

    pool.run(some_columns, -(-len(K) // _COLUMNS), work=float(len(coefs) * len(K)))
    F[np.repeat(np.arange(n_users), np.diff(starts)), columns] -= by_rows
    if last is not None:
        F -= by_last.astype(K.dtype)[:, None] * last
    return F


def multiply_scores(scores: Sequence[Matrix], pool: Pool) -> Matrix:
    """Return F'F, tile by tile; F is one matrix above the other."""
    n = scores[0].shape[1]
    out = np.empty((n, n), scores[0].dtype)
    edges = range(0, n, _TILE)
    tiles = [(i, j) for i in edges for j in edges if i <= j]

    def tile(t: int) -> None:
        i, j = (slice(start, start + _TILE) for start in tiles[t])
        out[i, j] = sum(F[:, i].T @ F[:, j] for F in scores)
        out[j, i] = out[i, j].T

    pool.run(tile, len(tiles), work=float(sum(map(np.size, scores)) * n))
    return out


class Work(NamedTuple):
    """The steps over all users, here or on a cluster.

    Attributes
    ----------
    first_kernel, score_users, multiply_scores : callable
        As the functions of these names; what `score_users` returns is only passed on.
    share : callable
        Takes the rows of some users, and returns what the other steps take in their place.
    """

    first_kernel: Callable[[UserRows, Pool, Any], Matrix]
    share: Callable[[UserRows], Any]
    score_users: Callable[[Matrix, Weights, Any, Any, float, Pool], Any]
    multiply_scores: Callable[[list[Any], Pool], Matrix]


HERE = Work(first_kernel, lambda group: group, score_users, multiply_scores)


def learn_kernel(
    rows: UserRows, C: Matrix, noise: float, work: Work, pool: Pool, say: Say
) -> Matrix:
    """Return the kernel after a round of each third of the users, and one of all.

    Scores that are rounding errors have no weight: enlarged, they would be a kernel that is not
    positive definite.
    """
    R = rows.ratings
    counts = np.bincount(R.indices, minlength=R.shape[1])
    groups = [work.share(rows.only(users)) for users in thirds(R)]
    rounds = [[g] for g in range(len(groups))] + [list(range(len(groups)))]
    K, weights, scores = C, (1.0, 0.0), dict[int, Any]()
    for k, taking_part in enumerate(rounds, 1):
        say(f"round {k} of {len(rounds)}, noise {noise:g}")
        scores = {
            g: work.score_users(K, weights, scores.get(g), groups[g], noise, pool)
            for g in taking_part
        }
        K = work.multiply_scores(list(scores.values()), pool)
        squares = float(counts @ np.diagonal(K)[: len(counts)])
        is_rounding = squares * max(noise, 1.0) ** 2 <= ROUNDING**2 * R.nnz
        weights = FIRST_WEIGHT, 0.0 if is_rounding else R.nnz / squares
        K *= weights[1]
        K += FIRST_WEIGHT * C
    return K


def thirds(R: Ratings) -> list[Ints]:
    """Return the users who take part in the rounds: those with most ratings, but for very many.

    Users of all sizes are in each part.
    """
    order = order_by_count(R)
    short = order[np.diff(R.indptr)[order] <= _LONGEST]
    users = short[: min(max(LEAST_USERS, R.shape[0] // 2), MOST_USERS)]
    n_parts = max(1, min(_PARTS, len(users)))
    return [np.sort(users[k::n_parts]) for k in range(n_parts)]
