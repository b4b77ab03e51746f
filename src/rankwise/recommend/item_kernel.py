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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from rankwise._core.threads import Pool
from rankwise.recommend._loops import add_products
from rankwise.recommend.baseline import Baseline, Ints, Matrix, Ratings, Vector
from rankwise.recommend.solve import run_users, solve_user

N_PSEUDO_ITEMS = 20
# Weight of C beside F'F.
FIRST_WEIGHT = 0.3
_FEW_RATERS = _FEW_USERS = 20.0
_PRIOR_RATINGS = 10.0
_PRESENCE_WEIGHT, _PSEUDO_SD = 2.0, 0.6
# What is smaller than this share of what it is computed from is rounding.
_ROUNDING = 1e-6
# Of larger matrices of users x items only the leading singular vectors are computed.
_SMALL = 200
# Half of the users take part in the rounds, but at least and at most so many, with at most so many
# ratings each.
_LEAST, _MOST, _LONGEST = 3_000, 10_000, 800
_PARTS = 3
# Tasks of the products of items; rows and columns of a tile of F'F; columns of F in a task.
_TASKS, _TILE, _COLUMNS = 64, 512, 256

Weights = tuple[float, float]
Say = Callable[[str], None]


@dataclass(frozen=True)
class UserRows:
    """The rows of users in the first kernel ``C = A'A + B'B``.

    Attributes
    ----------
    ratings : Ratings
    baseline : Baseline
    residual_sd : float
        The root mean square of the residuals.
    own : ndarray of shape (2, n_ratings)
        The rows of A and B, at the rated items.
    pseudo_ratings, own_pseudo : ndarrays of shape (n_users, n_pseudo_items)
        The ratings of the pseudo-items, and the rows of A there; those of B are 0.
    coordinates : ndarray of shape (n_items, n_pseudo_items)
        What rating an item adds to the ratings of the pseudo-items.
    """

    ratings: Ratings
    baseline: Baseline
    residual_sd: float
    own: Matrix
    pseudo_ratings: Matrix
    own_pseudo: Matrix
    coordinates: Matrix

    @property
    def n(self) -> int:
        """The number of items and pseudo-items."""
        return self.ratings.n_items + self.coordinates.shape[1]

    @property
    def largest(self) -> int:
        """The largest number of items and pseudo-items that a user has rated."""
        return int(self.ratings.sizes.max(initial=0)) + self.coordinates.shape[1]

    def problem(self, user: int) -> tuple[Ints, Vector, Vector, Matrix]:
        """Return the ranking problem of a user.

        Returns
        -------
        index : ndarray of shape (m,)
            The rated items, then the pseudo-items.
        targets : ndarray of shape (m,)
            Ratings less the means of the items, then those of the pseudo-items.
        is_rating : ndarray of shape (m,)
            1 for each rating and 0 for each pseudo-item.
        own : ndarray of shape (3, m)
            The user's rows of A and B, and zeros.
        """
        ratings, n_pseudo = self.ratings, self.coordinates.shape[1]
        at = slice(ratings.indptr[user], ratings.indptr[user + 1])
        items = ratings.indices[at]
        n = len(items)
        index = np.empty(n + n_pseudo, np.int64)
        targets, is_rating = np.empty(len(index)), np.zeros(len(index))
        own = np.zeros((3, len(index)))
        index[:n], index[n:] = items, ratings.n_items + np.arange(n_pseudo)
        targets[:n] = ratings.values[at] - self.baseline.mean - self.baseline.item_bias[items]
        targets[n:] = self.pseudo_ratings[user]
        is_rating[:n] = 1.0
        own[:2, :n], own[0, n:] = self.own[:, at], self.own_pseudo[user]
        return index, targets, is_rating, own

    def only(self, users: Ints) -> "UserRows":
        """Return the rows of some users, counted from 0."""
        ratings = self.ratings
        sizes = ratings.sizes[users]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        at = np.arange(starts[-1]) + np.repeat(ratings.indptr[users] - starts[:-1], sizes)
        return self._with(users, starts, at)

    def after(self, users: Ints, n: int) -> "UserRows":
        """Return the rows of some users, counted from 0, as if each had given n ratings only.

        They are spread over what the user has rated, by item. What users have added to the kernel
        stays.
        """
        ratings = self.ratings
        sizes = ratings.sizes[users][:, None]
        steps = np.arange(n) * sizes // n + np.arange(len(users))[:, None]
        at = np.sort(ratings.indptr[users][:, None] + steps % sizes, axis=1)
        few = self._with(users, n * np.arange(len(users) + 1), at.ravel())
        pseudo_ratings = self.coordinates[ratings.indices[at]].sum(axis=1) / np.sqrt(n)
        return replace(few, pseudo_ratings=pseudo_ratings)

    def _with(self, users: Ints, starts: Ints, at: Ints) -> "UserRows":
        """Return the rows of some users with some of their ratings."""
        ratings = self.ratings
        indices, values = ratings.indices[at], ratings.values[at]
        return replace(
            self,
            ratings=Ratings(starts, indices, values, ratings.n_items),
            own=self.own[:, at],
            pseudo_ratings=self.pseudo_ratings[users],
            own_pseudo=self.own_pseudo[users],
        )


def make_rows(
    ratings: Ratings, baseline: Baseline, n_pseudo_items: int = N_PSEUDO_ITEMS
) -> UserRows:
    """Return the rows of all users in the first kernel."""
    users, sizes, counts = ratings.users, ratings.sizes, ratings.counts
    n_ratings, n_users = len(users), ratings.n_users
    fitted = baseline.item_means[ratings.indices] + baseline.user_bias[users]
    residuals = ratings.values - fitted
    squares = np.bincount(users, residuals * residuals, minlength=n_users)
    residual_sd = float(np.sqrt(squares.sum() / n_ratings))
    # Where the baseline is exact, nothing is left to scale by.
    exact = residual_sd <= _ROUNDING * float(np.abs(ratings.values).max())
    unit = 1.0 if exact else residual_sd
    w = np.power(counts + _FEW_RATERS, -0.5, dtype=np.float64)
    omega = (sizes * (n_users / n_ratings)) ** -0.25
    sd = np.sqrt((squares + _PRIOR_RATINGS * unit**2) / (sizes + _PRIOR_RATINGS)) / unit

    b = omega[users] * w[ratings.indices]
    x, q = pseudo_items(ratings, b, w, n_pseudo_items)
    scale = _PSEUDO_SD * unit / np.sqrt(np.mean(x * x, axis=0))
    x, q = x * scale, q * scale
    a = residuals * (omega / sd)[users] * w[ratings.indices]
    weights = counts[ratings.indices] / n_ratings
    c_0 = 0.0 if exact else 1 / np.sqrt(weights @ (a * a))
    c_b = np.sqrt(_PRESENCE_WEIGHT / (weights @ (b * b)))
    own_pseudo = c_0 * omega[:, None] * x / np.sqrt(n_users + _FEW_USERS)
    return UserRows(ratings, baseline, residual_sd, np.array([c_0 * a, c_b * b]), x, own_pseudo, q)


def pseudo_items(ratings: Ratings, b: Vector, w: Vector, k: int) -> tuple[Matrix, Matrix]:
    """Return everyone's ratings of the pseudo-items, and what an item adds to them; not scaled."""
    q = w[:, None] * leading_vectors(ratings.with_values(b), k)
    roots = np.sqrt(ratings.sizes)[:, None]
    rated = ratings.with_values(np.ones(len(b)))
    largest = (rated @ np.abs(q)) / roots
    q -= ratings.counts @ q / len(b)
    x = (rated @ q) / roots
    real = np.mean(x * x, axis=0) > _ROUNDING**2 * np.mean(largest * largest, axis=0)
    return x[:, real], q[:, real]


def leading_vectors(M: sparse.csr_array, k: int) -> Matrix:
    """Return the leading k right singular vectors of M, or fewer if its rank is lower."""
    if min(M.shape) <= max(_SMALL, 2 * k + 2):
        _, values, vectors = np.linalg.svd(M.toarray(), full_matrices=False)
        return vectors[:k][values[:k] > _ROUNDING * values[0]].T
    T = M.T.tocsr()
    products = LinearOperator((M.shape[1],) * 2, matvec=lambda v: T @ (M @ v), dtype=np.float64)
    values, vectors = eigsh(products, k, v0=T @ np.ones(M.shape[0]))
    order = np.argsort(-values)
    return np.asarray(vectors[:, order[values[order] > _ROUNDING**2 * values.max()]])


def first_kernel(rows: UserRows, pool: Pool, precision: Any = np.float64) -> Matrix:
    """Return C = A'A + B'B over items and pseudo-items, summed in this precision."""
    ratings, n_items, n_ratings = rows.ratings, rows.ratings.n_items, len(rows.ratings.values)
    by_item = ratings.with_values(np.arange(n_ratings)).tocsc()
    entries = np.column_stack([by_item.data, ratings.indptr[1:][by_item.indices]])
    starts = by_item.indptr.astype(np.int64)
    C = np.zeros((rows.n, rows.n), precision)
    edges = np.searchsorted(starts, np.linspace(0, n_ratings, _TASKS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], edges, [n_items]]))

    def some_items(t: int) -> None:
        add_products(edges[t : t + 2], starts, entries, ratings.indices, rows.own, C)

    pool.run(some_items, len(edges) - 1, work=float(np.square(ratings.sizes, dtype=float).sum()))
    C[:n_items, n_items:] = ratings.with_values(rows.own[0]).T @ rows.own_pseudo
    C[n_items:, n_items:] = rows.own_pseudo.T @ rows.own_pseudo
    for i in range(1, rows.n):
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
    n_users, (first, second) = group.ratings.n_users, np.sqrt(weights)
    starts = group.ratings.indptr + group.coordinates.shape[1] * np.arange(n_users + 1)
    coefs, columns = np.empty(starts[-1], K.dtype), np.empty(starts[-1], np.int64)
    by_rows, by_last = np.empty(starts[-1]), np.empty(n_users)

    def fit_user(g: int, memory: Any) -> None:
        at = slice(starts[g], starts[g + 1])
        columns[at], targets, e, own = group.problem(g)
        own *= first
        if last is not None:
            own[2] = second * last[g, columns[at]]
        right = np.array([targets, e])
        of_targets, of_ones = solve_user(K, columns[at], own, noise, right, memory)
        coefs[at] = of_targets - (e @ of_targets) / (e @ of_ones) * of_ones
        along = own @ coefs[at]
        by_rows[at], by_last[g] = along[:2] @ own[:2], second * along[2]

    run_users(fit_user, n_users, pool, lambda: np.empty(group.largest**2, K.dtype))
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
    """Return F'F, tile by tile, where F is one matrix above the other."""
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


def sum_squares(F: Matrix, counts: Ints) -> float:
    """Return the sum of the squared scores of the items, each times its count."""
    scores = F[:, : len(counts)]
    return float(np.einsum("ui,ui,i->", scores, scores, counts))


class Work(NamedTuple):
    """The steps over all users, here or on a cluster.

    Attributes
    ----------
    first_kernel : callable
        As `first_kernel`.
    share : callable
        Takes the rows of some users, and returns what the next steps take in their place.
    score_users : callable
        As `score_users`; what it returns is only passed on.
    multiply_scores : callable
        Takes a list of what `score_users` has returned, the counts of the items and the pool.
        Returns F'F and the sum of squares.
    """

    first_kernel: Callable[[UserRows, Pool, Any], Matrix]
    share: Callable[[UserRows], Any]
    score_users: Callable[[Matrix, Weights, Any, Any, float, Pool], Any]
    multiply_scores: Callable[[list[Any], Ints, Pool], tuple[Matrix, float]]


HERE = Work(
    first_kernel,
    lambda group: group,
    score_users,
    lambda scores, counts, pool: (
        multiply_scores(scores, pool),
        sum(sum_squares(F, counts) for F in scores),
    ),
)


def learn_kernel(
    rows: UserRows, C: Matrix, noise: float, work: Work, pool: Pool, say: Say
) -> Matrix:
    """Return the kernel after a round of each third of the users, and one of all.

    Scores that are rounding errors weigh nothing: enlarged, they would be a kernel that is not
    positive definite.
    """
    counts = rows.ratings.counts
    n = float(counts.sum())
    groups = [work.share(rows.only(users)) for users in thirds(rows.ratings)]
    rounds = [[g] for g in range(len(groups))] + [list(range(len(groups)))]
    K, weights, scores = C, (1.0, 0.0), dict[int, Any]()
    for k, taking_part in enumerate(rounds, 1):
        say(f"round {k} of {len(rounds)}, noise {noise:g}")
        scores = {
            g: work.score_users(K, weights, scores.get(g), groups[g], noise, pool)
            for g in taking_part
        }
        K, squares = work.multiply_scores(list(scores.values()), counts, pool)
        is_rounding = squares * max(noise, 1.0) ** 2 <= _ROUNDING**2 * n
        weights = FIRST_WEIGHT, 0.0 if is_rounding else n / squares
        K *= weights[1]
        K += FIRST_WEIGHT * C
    return K


def thirds(ratings: Ratings) -> list[Ints]:
    """Return the users who take part in the rounds: those with most ratings, but for very many.

    Users of all sizes are in each part.
    """
    order = ratings.users_by_size()
    short = order[ratings.sizes[order] <= _LONGEST]
    users = short[: min(max(_LEAST, ratings.n_users // 2), _MOST)]
    n_parts = max(1, min(_PARTS, len(users)))
    return [np.sort(users[k::n_parts]) for k in range(n_parts)]


def memory_of_kernel(n_users: int, n_items: int, n_ratings: int) -> int:
    """Return about how many bytes learning takes at most: C, K, F and the ratings."""
    users = min(n_users, max(_LEAST, n_users // 2), _MOST)
    return 8 * (2 * n_items * n_items + users * n_items + 8 * n_ratings)
