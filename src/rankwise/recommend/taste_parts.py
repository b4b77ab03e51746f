r"""The taste kernel of a table of ratings, in the exact form: one matrix of items x items.

With r the ratings without biases, n_u and n_i counts, U people and N ratings:

- ``a_ui = c_0 r_ui omega_u w_i / sd_u`` and ``b_ui = c_B omega_u w_i``, where
  ``w_i = (n_i + 20)^-1/2``, ``omega_u = (n_u / mean n)^-1/4``, and sd_u is the person's own spread;
- places: q_i is w_i times the leading right singular vectors of (omega_u w_i) over the ratings, its
  count-weighted mean removed; a person's place is the sum of q over the rated items, divided by
  the square root of their number. A place has a = c_0 omega_u x_u (U + 20)^-1/2 and b = 0;
- ``C = A'A + B'B``, and K = C at first;
- a round: each person's ranker, a ridge with a free level on K *without the person's own rows*,
  gives a row F_u of scores for all items and places; then ``K = F'F + 0.3 C``, F scaled. Own rows
  are those of A and B, and that of F if the person was in the round before;
- rounds: each third of the H people who take part has one, so that a kernel is soon smooth, and
  then all have one, whose F has a row for each of them.

All sums are sums over people, so those of parts of the people add up. A person's own rows are taken
out since otherwise the kernel repeats to each person what he or she has said.

Cost: O(sum n_u^2) for C; for each of H people in two rounds n_u^3 / 3 + n_u n, and 2 H n^2 for F'F.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from rankwise._core.threads import Pool
from rankwise.recommend._loops import add_levels, add_products
from rankwise.recommend.taste import Matrix, Vector

N_PLACES = 20
_ALTERNATIONS, _SHRINK = 10, 5.0
_FEW_RATERS = _FEW_PEOPLE = 20.0
_OWN_SPREAD = 10.0
_CHOICE, _PLACE = 2.0, 0.6
# Penalty of the coefficients of what else is known of items, in items.
_SIDE = 5.0
# A place, or a direction of the map of items, that is smaller than this share of what it is
# computed from is rounding.
_ROUNDING = 1e-6
# Tasks that the items are cut into.
_TASKS = 64
# Of larger matrices of people x items only the leading singular vectors are computed.
_SMALL = 200

Ints = NDArray[np.int64]


class Ratings(NamedTuple):
    """The ratings of people who have all rated something, as the arrays of a CSR matrix."""

    indptr: Ints
    indices: NDArray[np.int32]
    values: Vector
    n_items: int

    @classmethod
    def of(cls, matrix: Any) -> "Ratings":
        """Return the ratings in a CSR matrix with explicit entries; people without are left out."""
        counts = np.diff(matrix.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts[counts > 0], dtype=np.int64)])
        indices = matrix.indices.astype(np.int32, copy=False)
        return cls(indptr, indices, matrix.data, matrix.shape[1])

    @property
    def n_users(self) -> int:
        """How many people there are."""
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Ints:
        """How many ratings each person has given."""
        return np.diff(self.indptr)

    @property
    def counts(self) -> Ints:
        """How many ratings each item has got."""
        return np.bincount(self.indices, minlength=self.n_items)

    @property
    def people(self) -> Ints:
        """Who gave each rating."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    def only(self, kept: NDArray[np.bool_]) -> tuple["Ratings", Ints]:
        """Return some of the ratings, and who gave any of them."""
        sizes = np.diff(np.concatenate([[0], np.cumsum(kept)])[self.indptr])
        indptr = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        part = Ratings(indptr, self.indices[kept], self.values[kept], self.n_items)
        return part, np.flatnonzero(sizes)

    def only_items(self, items: Ints) -> tuple["Ratings", Ints]:
        """Return the ratings of some items, in this order, and who gave any of them."""
        column = np.full(self.n_items, -1, dtype=np.int32)
        column[items] = np.arange(len(items))
        part, people = self.only(column[self.indices] >= 0)
        part = part._replace(indices=column[part.indices], n_items=len(items))
        matrix = part.with_values(part.values)
        matrix.sort_indices()
        return part._replace(indices=matrix.indices, values=matrix.data), people

    def with_values(self, values: NDArray[Any]) -> sparse.csr_array:
        """Return a matrix of people x items that has these values in place of the ratings."""
        shape = self.n_users, self.n_items
        return sparse.csr_array((values, self.indices, self.indptr), shape=shape)


class Levels(NamedTuple):
    """The overall mean, and what people and items add to it."""

    mean: float
    users: Vector
    items: Vector


def find_levels(ratings: Ratings, side: Matrix | None = None) -> Levels:
    """Return shrunk means of people and items, found in turn.

    Items are drawn to 0 or, if something else is known of them, to what that says: with
    standardised columns ``side``, the prior is a ridge of the items' means on the columns, an item
    of n ratings weighing n / (n + 5).
    """
    mean = float(ratings.values.mean())
    users, items = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    y, counts = ratings.values - mean, ratings.counts
    for _ in range(_ALTERNATIONS):
        sums = np.zeros(ratings.n_items)
        add_levels(ratings.indptr, ratings.indices, y, items, _SHRINK, users, sums)
        prior = 0.0 if side is None else _explain(side, sums, counts)
        items = (sums + _SHRINK * prior) / (counts + _SHRINK)
    return Levels(mean, users, items)


def _explain(side: Matrix, sums: Vector, counts: Ints) -> Vector:
    """Return what the columns say of the means of the items."""
    X = np.column_stack([np.ones(len(side)), side])
    weighted = X * (counts / (counts + _SHRINK))[:, None]
    penalty = np.full(X.shape[1], _SIDE)
    penalty[0] = _ROUNDING  # the constant is free
    gram = weighted.T @ X + np.diag(penalty)
    return X @ np.linalg.solve(gram, weighted.T @ (sums / np.maximum(counts, 1)))


@dataclass(frozen=True)
class Parts:
    """What the kernel is made of before the first round.

    Attributes
    ----------
    ratings : Ratings
    levels : Levels
    sigma : float
        Root mean square of what the levels leave.
    a, b : ndarrays of shape (n_ratings,)
        The rows of A and B, at the rated items.
    x, xa : ndarrays of shape (n_users, n_places)
        The values of the places, and the rows of A there.
    places : ndarray of shape (n_items, n_places)
        What an item adds to the values.
    """

    ratings: Ratings
    levels: Levels
    sigma: float
    a: Vector
    b: Vector
    x: Matrix
    xa: Matrix
    places: Matrix

    @property
    def n(self) -> int:
        """How many items and places there are."""
        return self.ratings.n_items + self.places.shape[1]

    @property
    def means(self) -> Vector:
        """The overall mean plus the bias of each item."""
        return self.levels.mean + self.levels.items


def find_parts(ratings: Ratings, levels: Levels, n_places: int = N_PLACES) -> Parts:
    """Return what the kernel is made of, given the levels."""
    people, sizes, counts = ratings.people, ratings.sizes, ratings.counts
    n_ratings, n_users = len(people), ratings.n_users
    r = ratings.values - levels.mean - levels.users[people] - levels.items[ratings.indices]
    squares = np.bincount(people, r * r, minlength=n_users)
    sigma = float(np.sqrt(squares.sum() / n_ratings))
    # Where the levels say all, nothing is left to scale by.
    unit = sigma if sigma > _ROUNDING * float(np.abs(ratings.values).max()) else 1.0
    w = np.power(counts + _FEW_RATERS, -0.5, dtype=np.float64)
    omega = (sizes * (n_users / n_ratings)) ** -0.25
    spread = np.sqrt((squares + _OWN_SPREAD * unit**2) / (sizes + _OWN_SPREAD)) / unit

    b = omega[people] * w[ratings.indices]
    x, places = _find_places(ratings, b, w, n_places)
    scale = _PLACE * unit / np.sqrt(np.mean(x * x, axis=0))
    x, places = x * scale, places * scale
    a = r * (omega / spread)[people] * w[ratings.indices]
    weights = counts[ratings.indices] / n_ratings
    c_0 = 1 / np.sqrt(weights @ (a * a)) if sigma == unit else 0.0
    a *= c_0
    b *= np.sqrt(_CHOICE / (weights @ (b * b)))
    xa = c_0 * omega[:, None] * x / np.sqrt(n_users + _FEW_PEOPLE)
    return Parts(ratings, levels, sigma, a, b, x, xa, places)


def few_ratings(parts: Parts, people: Ints, n: int) -> Parts:
    """Return the parts of some people, counted from 0, as if each had given only n ratings.

    They are spread over what the person has rated, by item. What people have added to the kernel
    stays.
    """
    ratings = parts.ratings
    sizes = ratings.sizes[people][:, None]
    steps = np.arange(n) * sizes // n + np.arange(len(people))[:, None]
    at = np.sort(ratings.indptr[people][:, None] + steps % sizes, axis=1)
    items, at = ratings.indices[at], at.ravel()
    starts = n * np.arange(len(people) + 1)
    return replace(
        parts,
        ratings=Ratings(starts, items.ravel(), ratings.values[at], ratings.n_items),
        a=parts.a[at],
        b=parts.b[at],
        x=parts.places[items].sum(axis=1) / np.sqrt(n),
        xa=parts.xa[people],
    )


def _find_places(ratings: Ratings, b: Vector, w: Vector, n_places: int) -> tuple[Matrix, Matrix]:
    """Return the values of the places for each person, and what an item adds; not scaled."""
    vectors = _leading_vectors(ratings.with_values(b), n_places)
    q = w[:, None] * vectors
    sizes = np.sqrt(ratings.sizes)[:, None]
    ones = ratings.with_values(np.ones(len(b)))
    largest = (ones @ np.abs(q)) / sizes
    q -= ratings.counts @ q / len(b)
    x = (ones @ q) / sizes
    real = np.mean(x * x, axis=0) > _ROUNDING**2 * np.mean(largest * largest, axis=0)
    return x[:, real], q[:, real]


def _leading_vectors(M: sparse.csr_array, k: int) -> Matrix:
    """Return the leading k right singular vectors of M, or fewer if its rank is lower."""
    if min(M.shape) <= max(_SMALL, 2 * k + 2):
        _, values, vectors = np.linalg.svd(M.toarray(), full_matrices=False)
        return vectors[:k][values[:k] > _ROUNDING * values[0]].T
    T = M.T.tocsr()
    products = LinearOperator((M.shape[1],) * 2, matvec=lambda v: T @ (M @ v), dtype=np.float64)
    values, vectors = eigsh(products, k, v0=T @ np.ones(M.shape[0]))
    order = np.argsort(-values)
    return np.asarray(vectors[:, order[values[order] > _ROUNDING**2 * values.max()]])


def multiply_items(parts: Parts, pool: Pool, precision: Any = np.float64) -> Matrix:
    """Return C = A'A + B'B over items and places, added up in this precision."""
    ratings = parts.ratings
    n, n_items, n_ratings = parts.n, ratings.n_items, len(ratings.values)
    by_item = ratings.with_values(np.arange(n_ratings)).tocsc()
    entries = np.column_stack([by_item.data, ratings.indptr[1:][by_item.indices]])
    starts = by_item.indptr.astype(np.int64)
    C = np.zeros((n, n), precision)
    a, b = (parts.a, ratings.indices), (parts.b, ratings.indices)
    edges = np.searchsorted(starts, np.linspace(0, n_ratings, _TASKS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], edges, [n_items]]))

    def rows(t: int) -> None:
        add_products(edges[t : t + 2], starts, entries, a, b, C)

    pool.run(rows, len(edges) - 1, work=float(np.square(ratings.sizes, dtype=float).sum()))
    C[:n_items, n_items:] = ratings.with_values(parts.a).T @ parts.xa
    C[n_items:, n_items:] = parts.xa.T @ parts.xa
    for i in range(1, n):
        C[i, :i] = C[:i, i]
    return C
