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
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
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

    def after(self, users: Ints, n: int) -> "UserRows":
        """Return the rows of some users, counted from 0, as if each had given n ratings only.

        They are spread over what the user has rated, by item. What users have added to the kernel
        stays.
        """
        ratings = self.ratings
        sizes = ratings.sizes[users][:, None]
        steps = np.arange(n) * sizes // n + np.arange(len(users))[:, None]
        at = np.sort(ratings.indptr[users][:, None] + steps % sizes, axis=1)
        items, at = ratings.indices[at], at.ravel()
        starts = n * np.arange(len(users) + 1)
        return replace(
            self,
            ratings=Ratings(starts, items.ravel(), ratings.values[at], ratings.n_items),
            own=self.own[:, at],
            pseudo_ratings=self.coordinates[items].sum(axis=1) / np.sqrt(n),
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


class Problems(NamedTuple):
    """The ranking problems of some users: user g has ``starts[g]`` to ``starts[g + 1]``.

    Attributes
    ----------
    starts : ndarray of shape (n_users + 1,)
    index : ndarray of shape (n,)
        The rated items, then the pseudo-items.
    targets : ndarray of shape (n,)
        Ratings less the means of the items, then those of the pseudo-items.
    own : ndarray of shape (2, n)
        The user's own rows of A and B.
    n_pseudo_items : int
    """

    starts: Ints
    index: Ints
    targets: Vector
    own: Matrix
    n_pseudo_items: int

    @classmethod
    def of(cls, rows: UserRows, users: Ints) -> "Problems":
        """Return the problems of these users."""
        ratings, n_pseudo = rows.ratings, rows.pseudo_ratings.shape[1]
        sizes = ratings.sizes[users]
        starts = np.concatenate([[0], np.cumsum(sizes + n_pseudo)])
        shift = ratings.indptr[users] - np.concatenate([[0], np.cumsum(sizes)])[:-1]
        at = np.arange(sizes.sum()) + np.repeat(shift, sizes)
        is_rating = np.ones(starts[-1], dtype=bool)
        for k in range(1, n_pseudo + 1):
            is_rating[starts[1:] - k] = False
        items = ratings.indices[at]
        index = np.empty(starts[-1], dtype=np.int64)
        targets, own = np.empty(starts[-1]), np.zeros((2, starts[-1]))
        index[is_rating] = items
        index[~is_rating] = np.tile(ratings.n_items + np.arange(n_pseudo), len(users))
        targets[is_rating] = ratings.values[at] - rows.baseline.item_means[items]
        targets[~is_rating] = rows.pseudo_ratings[users].ravel()
        own[:, is_rating] = rows.own[:, at]
        own[0, ~is_rating] = rows.own_pseudo[users].ravel()
        return cls(starts, index, targets, own, n_pseudo)

    def slice(self, first: int, last: int) -> "Problems":
        """Return the problems of the users from one to another."""
        at = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - at.start
        own = np.ascontiguousarray(self.own[:, at])
        return Problems(starts, self.index[at], self.targets[at], own, self.n_pseudo_items)

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self.starts) - 1

    def at(self, g: int) -> slice:
        """Return where the items of a user are."""
        return slice(self.starts[g], self.starts[g + 1])

    def is_rating(self, g: int) -> Vector:
        """Return 1 for each rating of a user and 0 for each pseudo-item."""
        e = np.ones(self.starts[g + 1] - self.starts[g])
        e[len(e) - self.n_pseudo_items :] = 0.0
        return e

    def buffer(self, precision: Any) -> NDArray[Any]:
        """Return memory for the kernel of any of these users."""
        return np.empty(int(np.diff(self.starts).max(initial=0)) ** 2, precision)


def score_users(
    K: Matrix, weights: Weights, last: Matrix | None, problems: Problems, noise: float, pool: Pool
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
    problems : Problems
    noise : float
    pool : Pool
    """
    first, second = weights
    coefs = np.empty(len(problems.index), K.dtype)
    along = np.zeros((3, problems.n_users))

    def fit_user(g: int, memory: Any) -> None:
        at, e = problems.at(g), problems.is_rating(g)
        index, own = problems.index[at], np.zeros((3, len(e)))
        own[:2] = np.sqrt(first) * problems.own[:, at]
        if last is not None:
            own[2] = np.sqrt(second) * last[g, index]
        right = np.array([problems.targets[at], e])
        of_targets, of_ones = solve_user(K, index, own, noise, right, memory)
        coefs[at] = of_targets - (e @ of_targets) / (e @ of_ones) * of_ones
        along[:, g] = own @ coefs[at]

    run_users(fit_user, problems.n_users, pool, partial(problems.buffer, K.dtype))
    shape = problems.n_users, len(K)
    combine = sparse.csr_array((coefs, problems.index, problems.starts), shape=shape)
    F = np.empty(shape, K.dtype)

    def some_columns(t: int) -> None:
        columns = slice(t * _COLUMNS, (t + 1) * _COLUMNS)
        F[:, columns] = combine @ np.ascontiguousarray(K[:, columns])

    pool.run(some_columns, -(-len(K) // _COLUMNS), work=float(len(coefs) * len(K)))
    for g in range(problems.n_users):
        at = problems.at(g)
        F[g, problems.index[at]] -= np.sqrt(first) * (along[:2, g] @ problems.own[:, at])
        if last is not None:
            F[g] -= np.sqrt(second) * along[2, g] * last[g]
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
        Takes `Problems`, and returns what the next steps take in their place.
    score_users : callable
        As `score_users`; what it returns is only passed on.
    multiply_scores : callable
        Takes a list of what `score_users` has returned, the counts of the items and the pool.
        Returns F'F and the sum of squares.
    """

    first_kernel: Callable[[UserRows, Pool, Any], Matrix]
    share: Callable[[Problems], Any]
    score_users: Callable[[Matrix, Weights, Any, Any, float, Pool], Any]
    multiply_scores: Callable[[list[Any], Ints, Pool], tuple[Matrix, float]]


HERE = Work(
    first_kernel,
    lambda problems: problems,
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
    groups = [work.share(Problems.of(rows, users)) for users in thirds(rows.ratings)]
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
