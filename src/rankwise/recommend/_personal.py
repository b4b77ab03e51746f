"""A person's ranking by any estimator, on the papers' features: other people's ratings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise._core.arguments import shortened
from rankwise._core.ordinal import OrdinalMixin
from rankwise.recommend._table import RatingTable

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

_RATERS = 300


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

    def __init__(self, table: RatingTable, estimator: Any, user: Any = None) -> None:
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
