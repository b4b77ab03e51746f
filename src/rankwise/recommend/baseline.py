r"""Ratings as arrays, and their baseline: an overall mean, user biases and item biases.

The baseline of a rating is :math:`\mu + b_u + b_i`, with shrunk means that are found in turn:

.. math::

    b_u = \frac{\sum_i (y_{ui} - \mu - b_i)}{n_u + 5}, \qquad
    b_i = \frac{\sum_u (y_{ui} - \mu - b_u) + 5 p_i}{n_i + 5}.

The prior :math:`p_i` of an item is 0 or, where features of the items are known, a ridge of the
biases on them, so that *cold items*, which few people have rated, are like items with such
features. O(N) for N ratings in each of ten turns.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

SHRINKAGE = 5.0
_TURNS = 10
# Penalty of the coefficients of features of items, in items; the constant is free.
_FEATURE_PENALTY, _FREE = 5.0, 1e-6
# Ratings are compared by their rounded shares of the range, so that sums of them are exact.
_GRADES = 2.0**20


class Ratings(NamedTuple):
    """The ratings of users who have all rated something, as the arrays of a CSR matrix."""

    indptr: Ints
    indices: NDArray[np.int32]
    values: Vector
    n_items: int

    @classmethod
    def of(cls, matrix: Any) -> "Ratings":
        """Return the ratings in a CSR matrix; users without any are left out."""
        counts = np.diff(matrix.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts[counts > 0], dtype=np.int64)])
        indices = matrix.indices.astype(np.int32, copy=False)
        return cls(indptr, indices, matrix.data, matrix.shape[1])

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Ints:
        """The number of ratings of each user."""
        return np.diff(self.indptr)

    @property
    def counts(self) -> Ints:
        """The number of ratings of each item."""
        return np.bincount(self.indices, minlength=self.n_items)

    @property
    def users(self) -> Ints:
        """The user of each rating."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    def only(self, kept: NDArray[np.bool_]) -> tuple["Ratings", Ints]:
        """Return some of the ratings, and the users who gave any of them."""
        sizes = np.diff(np.concatenate([[0], np.cumsum(kept)])[self.indptr])
        indptr = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        part = Ratings(indptr, self.indices[kept], self.values[kept], self.n_items)
        return part, np.flatnonzero(sizes)

    def only_items(self, items: Ints) -> tuple["Ratings", Ints]:
        """Return the ratings of some items, in this order, and the users who gave any of them."""
        column = np.full(self.n_items, -1, dtype=np.int32)
        column[items] = np.arange(len(items))
        part, users = self.only(column[self.indices] >= 0)
        part = part._replace(indices=column[part.indices], n_items=len(items))
        matrix = part.with_values(part.values)
        matrix.sort_indices()
        return part._replace(indices=matrix.indices, values=matrix.data), users

    def with_values(self, values: NDArray[Any]) -> sparse.csr_array:
        """Return a matrix of users x items that has these values in place of the ratings."""
        shape = self.n_users, self.n_items
        return sparse.csr_array((values, self.indices, self.indptr), shape=shape)

    def users_by_size(self) -> Ints:
        """Return the users by their number of ratings, most first, whatever their ids.

        Of equal numbers, those of the more popular items come first, and of these, as where all
        have rated all, those who rate high what others rate high.
        """
        counts, first = self.counts.astype(np.float64)[self.indices], self.indptr[:-1]
        popular = np.add.reduceat(counts, first)
        crowded = np.add.reduceat(counts * counts, first)
        grades = np.rint(_GRADES * self.values)
        totals = np.bincount(self.indices, grades, minlength=self.n_items)
        agreed = np.add.reduceat(totals[self.indices] * grades, first)
        return np.lexsort((-agreed, -crowded, -popular, -self.sizes))

    def items_by_count(self) -> Ints:
        """Return the items by their number of ratings, most first, whatever their ids.

        Of equal numbers, those that the busier users have rated come first.
        """
        sizes = self.sizes.astype(np.float64)[self.users]
        busy = np.bincount(self.indices, sizes, minlength=self.n_items)
        busier = np.bincount(self.indices, sizes * sizes, minlength=self.n_items)
        return np.lexsort((-busier, -busy, -self.counts))


class Baseline(NamedTuple):
    """The overall mean, and what users and items add to it."""

    mean: float
    user_bias: Vector
    item_bias: Vector

    @property
    def item_means(self) -> Vector:
        """The overall mean plus the bias of each item."""
        return self.mean + self.item_bias


def fit_baseline(ratings: Ratings, features: Matrix | None = None) -> Baseline:
    """Return the baseline of ratings; ``features`` are standardised columns of the items."""
    mean, sizes, counts = float(ratings.values.mean()), ratings.sizes, ratings.counts
    rated, centred = np.ones(len(ratings.values)), ratings.values - mean
    by_user = ratings.with_values(rated)
    user_sums = ratings.with_values(centred).sum(axis=1)
    item_sums = np.bincount(ratings.indices, centred, minlength=ratings.n_items)
    item_bias = np.zeros(ratings.n_items)
    for _ in range(_TURNS):
        user_bias = (user_sums - by_user @ item_bias) / (sizes + SHRINKAGE)
        sums = item_sums - user_bias @ by_user
        prior = 0.0 if features is None else cold_item_prior(features, sums, counts)
        item_bias = (sums + SHRINKAGE * prior) / (counts + SHRINKAGE)
    return Baseline(mean, user_bias, item_bias)


def cold_item_prior(features: Matrix, sums: Vector, counts: Ints) -> Vector:
    """Return the item biases that features predict, by a ridge; n ratings weigh n / (n + 5)."""
    X = np.column_stack([np.ones(len(features)), features])
    weighted = X * (counts / (counts + SHRINKAGE))[:, None]
    penalty = np.full(X.shape[1], _FEATURE_PENALTY)
    penalty[0] = _FREE
    coef = np.linalg.solve(
        weighted.T @ X + np.diag(penalty), weighted.T @ (sums / np.maximum(counts, 1))
    )
    return X @ coef
