"""The papers' personal problem: other people's ratings are the features of an item."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rankwise._core.arguments import check_word, shortened
from rankwise._core.ordinal import OrdinalMixin
from rankwise.recommend._ids import Ids, Places

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

MISSING = ("median", "mean", "zero", "nan")
CENTER = ("scale", "user")
# Raters of the columns of a live person.
_RATERS = 300


class Features(NamedTuple):
    """How items become rows: one column for each rater.

    Attributes
    ----------
    raters : ndarray of shape (n_raters,)
        The place of each column's rater in the table.
    shift, fill : ndarrays of shape (n_raters,)
        What is subtracted from a rater's ratings, and what stands for an item not rated.
    """

    raters: Places
    shift: Vector
    fill: Vector

    def rows(self, by_item: sparse.csr_array, items: Places) -> Matrix:
        """Return the rows of some items, from a matrix of items by people."""
        X = np.empty((len(items), len(self.raters)))
        X[:] = self.fill
        column = np.full(by_item.shape[1], -1)
        column[self.raters] = np.arange(len(self.raters))
        given = by_item[items]
        row = np.repeat(np.arange(len(items)), np.diff(given.indptr))
        place = column[given.indices]
        row, ratings = row[place >= 0], given.data[place >= 0]
        place = place[place >= 0]
        X[row, place] = ratings - self.shift[place]
        return X


def check_options(missing: Any, center: Any) -> None:
    """Refuse options that `RatingTable.problem_for` does not have."""
    check_word(missing, "missing", MISSING)
    if center is not None and not (isinstance(center, str) and center in CENTER):
        raise ValueError(f"center={shortened(center)} must be 'scale', 'user' or None")


def choose_raters(
    matrix: sparse.csr_array, by_item: sparse.csr_array, person: int | None, raters: Any, ids: Ids
) -> Places:
    """Return the raters of a person's features, never the person.

    None are all others who rated something, a number n the n of them who rated most of the person's
    items (most of all items if there is no person), equals in the order of the table.
    """
    n_given = np.diff(matrix.indptr)
    if raters is None:
        chosen = np.flatnonzero(n_given)
    elif isinstance(raters, Integral) and not isinstance(raters, bool | np.bool_):
        if raters < 1:
            raise ValueError(f"raters={shortened(raters)} must be 1 or more, ids, or None for all")
        shared = n_given
        if person is not None:
            own = matrix.indices[matrix.indptr[person] : matrix.indptr[person + 1]]
            shared = np.bincount(by_item[own].indices, minlength=len(n_given))
            shared[person] = -1
        order = np.argsort(-shared, kind="stable")
        order = order[n_given[order] > 0]
        chosen = np.sort(order[order != person][: int(raters)])
    else:
        chosen = ids.find(raters, "raters")
        if len(np.unique(chosen)) < len(chosen):
            twice = np.flatnonzero(np.bincount(chosen) > 1)[0]
            raise ValueError(f"raters names {ids.show(twice)} twice: name each person once")
    chosen = chosen[chosen != person] if person is not None else chosen
    if not len(chosen):
        raise ValueError(
            "raters names nobody but the person: the features are other people's ratings"
        )
    return chosen


def features_of(raters: Places, table: Any, missing: str, center: str | None) -> Features:
    """Return the shifts and fills of some raters of a table."""
    shift = np.zeros(len(raters))
    if center == "scale":
        shift += middle(table.scale)
    elif center == "user":
        shift += table._means[raters]
    if missing in ("median", "mean"):
        fill = (table._medians if missing == "median" else table._means)[raters] - shift
    else:
        fill = np.full(len(raters), 0.0 if missing == "zero" else np.nan)
    return Features(raters, shift, fill)


def middle(scale: tuple[float, float]) -> float:
    """Return the middle of a scale."""
    return scale[0] + (scale[1] - scale[0]) / 2


def row_means(matrix: sparse.csr_array, empty: float) -> Vector:
    """Return the mean of each row's entries, ``empty`` for a row without any."""
    n = np.diff(matrix.indptr)
    if not len(matrix.data):
        return np.full(len(n), empty)
    # from the first entry of each row, so that a large offset costs no digits
    first = matrix.data[np.minimum(matrix.indptr[:-1], len(matrix.data) - 1)]
    rows = _rows(matrix)
    sums = np.bincount(rows, weights=matrix.data - first[rows], minlength=len(n))
    return np.where(n > 0, first + sums / np.maximum(n, 1), empty)


def row_medians(matrix: sparse.csr_array, empty: float) -> Vector:
    """Return the median of each row's entries, ``empty`` for a row without any."""
    n = np.diff(matrix.indptr)
    if not len(matrix.data):
        return np.full(len(n), empty)
    ordered = matrix.data[np.lexsort((matrix.data, _rows(matrix)))]
    last = len(ordered) - 1
    low = np.minimum(matrix.indptr[:-1] + np.maximum(n - 1, 0) // 2, last)
    high = np.minimum(matrix.indptr[:-1] + n // 2, last)
    return np.where(n > 0, (ordered[low] + ordered[high]) / 2, empty)


def _rows(matrix: sparse.csr_array) -> Places:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


class PersonalModel:
    """An estimator in the place of the taste kernel, fitted anew whenever something is asked.

    The features of an item are the ratings of the 300 people who rated most of the items that this
    person has rated, what is missing filled by `RatingTable.problem_for`'s default.

    Parameters
    ----------
    table : RatingTable
        Everyone's ratings.
    estimator : estimator
        Any with ``fit(X, y)`` and ``predict(X)``. It is not changed.
    user : id or None
        The person, if in the table: no feature.
    """

    def __init__(self, table: Any, estimator: Any, user: Any = None) -> None:
        needed = "fit", "predict", "get_params"
        if isinstance(estimator, type) or not all(hasattr(estimator, name) for name in needed):
            raise ValueError(
                f"estimator={shortened(estimator)} must be a model with fit and predict: MPRank()"
            )
        self.table, self.estimator = table, estimator
        self.user, self._row = user, None
        if user is not None:
            self._row = int(table.user_index([user])[0])

    def scores(self, items: Places, ratings: Vector) -> Vector:
        """Return a score of each item of the table; those of an ordinal model are projections."""
        model, X = self._fit(items, ratings)
        if isinstance(model, OrdinalMixin):
            found = model.project(X)
            if found.ndim == 1:
                return found
        return np.asarray(model.predict(X), np.float64)

    def predictions(self, items: Places, ratings: Vector) -> Vector:
        """Return what the model predicts for each item of the table."""
        model, X = self._fit(items, ratings)
        return np.asarray(model.predict(X), np.float64)

    def _fit(self, items: Places, ratings: Vector) -> tuple[Any, Any]:
        if len(ratings) < 2 or (ratings == ratings[0]).all():
            name = type(self.estimator).__name__
            raise ValueError(
                f"{name} needs two different ratings to learn from: rate more items, or leave "
                "estimator out"
            )
        table = self.table
        shared = np.bincount(table.by_item[items].indices, minlength=table.n_users)
        if self._row is not None:
            shared[self._row] = 0
        order = np.argsort(-shared, kind="stable")[:_RATERS]
        raters = table.users[np.sort(order[shared[order] > 0])]
        if not len(raters):
            raise ValueError("nobody else has rated any of these items: rate others")
        X, _ = table.features_for(self.user, table.items, raters=raters)
        return clone(self.estimator).fit(X[items], ratings), X
