"""Rankers: regressors of a score, by which things are put in order."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from rankwise._core.queries import encode_queries, group_rows, positions_in_queries
from rankwise._core.warn import warn_user


def warn_without_qid(model: Any, qid: ArrayLike | None) -> None:
    """Warn if a model that was fitted with queries is scored without them."""
    if qid is None and model.n_queries_ > 1:
        warn_user(
            f"this {type(model).__name__} was fitted with qid and is scored without it, so rows "
            "of different queries are compared, too: pass qid=... to score (in GridSearchCV "
            "and cross_val_score through metadata routing)"
        )


class RankerMixin(RegressorMixin):
    """A regressor of a score, higher is better, by which rows are put in order.

    A subclass has ``fit(X, y, *, qid=None, sample_weight=None)`` and ``predict(X)``, and sets
    ``n_queries_``, the number of queries that it has learned from.
    """

    n_queries_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def rank(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row, from 1, best first; ties as they come.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: positions are counted within queries.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.predict(X)
        codes, n_queries = encode_queries(qid, len(values))
        best = np.argsort(-values, kind="stable")
        order, starts = group_rows(codes[best], n_queries)
        return positions_in_queries(best[order], codes, starts)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of comparable pairs that are put in the right order, a tie half.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their true ratings. Two rows are comparable if these differ.
        qid : array-like of shape (n_samples,), default=None
            The query of each row: only rows of one query are compared.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; a pair weighs their product.
        """
        from rankwise.metrics import pairwise_misranking_loss  # noqa: PLC0415

        values = self.predict(X)
        warn_without_qid(self, qid)
        return 1.0 - pairwise_misranking_loss(
            y, values, qid=qid, sample_weight=sample_weight, ties="half"
        )
