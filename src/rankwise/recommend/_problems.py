"""The papers' personal problem: other people's ratings are the features of an item."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.arguments import check_word, shortened
from rankwise.recommend._ids import Ids, Places

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

MISSING = ("median", "mean", "zero", "nan")
CENTER = ("scale", "user")


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
