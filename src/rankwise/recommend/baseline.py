r"""User biases and item biases of ratings in a CSR matrix of users x items.

The baseline of a rating is :math:`\mu + b_u + b_i`, with shrunk means that are computed in turn:

.. math::

    b_u = \frac{\sum_i (y_{ui} - \mu - b_i)}{n_u + 5}, \qquad
    b_i = \frac{\sum_u (y_{ui} - \mu - b_u) + 5 p_i}{n_i + 5}.

The prior :math:`p_i` of an item is 0 or, if features of the items are known, a ridge of the biases
on them, so that *cold items*, which few people have rated, are like items with such features. O(N)
for N ratings in each of ten turns.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]
Ratings: TypeAlias = sparse.csr_array

SHRINKAGE = 5.0
_TURNS = 10
# Penalty of the coefficients of features of items, in items; the constant is free.
_FEATURE_PENALTY, _FREE = 5.0, 1e-6
# Ratings are compared by their rounded shares of the range, so that sums of them are exact.
_GRADES = 2.0**20
# A feature that varies by less, in units of its largest value, is constant.
_CONSTANT = 1e-9


def with_values(R: Ratings, values: NDArray[Any]) -> Ratings:
    """Return a matrix with these values in place of the ratings."""
    return sparse.csr_array((values, R.indices, R.indptr), shape=R.shape)


def some_entries(R: Ratings, kept: NDArray[np.bool_]) -> Ratings:
    """Return some of the ratings, of all users and items."""
    starts = np.concatenate([[0], np.cumsum(kept)])[R.indptr]
    return sparse.csr_array((R.data[kept], R.indices[kept], starts), shape=R.shape)


def order_by_count(R: Ratings) -> Ints:
    """Return the rows by their number of ratings, most first, whatever the order of rows.

    Of equal numbers, rows with the more popular columns come first, and of these, as if all have
    rated all, those with high ratings where others have them.
    """
    counts = np.bincount(R.indices, minlength=R.shape[1]).astype(np.float64)
    rated = with_values(R, np.ones(R.nnz))
    grades = with_values(R, np.rint(_GRADES * R.data))
    agreed = grades @ grades.sum(axis=0)
    return np.lexsort((-agreed, -(rated @ counts**2), -(rated @ counts), -np.diff(R.indptr)))


def fit_baseline(R: Ratings, features: Matrix | None = None) -> tuple[Vector, Vector]:
    """Return the biases of the users, and the overall mean plus the biases of the items.

    ``features`` are standardised columns of the items.
    """
    mean = float(R.data.mean())
    sizes, counts = np.diff(R.indptr), np.bincount(R.indices, minlength=R.shape[1])
    rated, centred = with_values(R, np.ones(R.nnz)), with_values(R, R.data - mean)
    user_sums, item_sums = centred.sum(axis=1), centred.sum(axis=0)
    item_bias = np.zeros(R.shape[1])
    for _ in range(_TURNS):
        user_bias = (user_sums - rated @ item_bias) / (sizes + SHRINKAGE)
        sums = item_sums - user_bias @ rated
        prior = 0.0 if features is None else cold_item_prior(features, sums, counts)
        item_bias = (sums + SHRINKAGE * prior) / (counts + SHRINKAGE)
    return user_bias, mean + item_bias


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


def standardise(X: Matrix) -> Matrix:
    """Return features of the items with mean 0 and deviation 1, without those that are constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.abs(X).max(axis=0, initial=0.0)
        X = X / np.where(scale > 0, scale, 1.0)
        X = X - X.mean(axis=0)
        deviation = X.std(axis=0)
    useful = deviation > _CONSTANT
    return X[:, useful] / deviation[useful]
