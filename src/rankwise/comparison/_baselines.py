"""What any method has to beat: a constant, one column, and the usual tools."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression

from rankwise.metrics import pairwise_misranking_loss

Floats = NDArray[np.float64]


class Constant(RegressorMixin, BaseEstimator):
    """The median of the targets for everyone."""

    def fit(self, X: Any, y: Floats) -> Self:
        """Learn the median, or the value below it, so that it is one of the targets."""
        self.value_ = float(np.quantile(y, 0.5, method="lower"))
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Floats:
        """Return the same for all rows."""
        return np.full(len(X), self.value_)


class BestColumn(RegressorMixin, BaseEstimator):
    """The one column that orders best, up or down, brought to the scale of the targets."""

    def fit(self, X: Any, y: Floats, qid: Any = None) -> Self:
        """Choose the column and its direction by the pairs, then a line to the scale of y."""
        right = [1.0 - pairwise_misranking_loss(y, column, qid=qid, ties="half") for column in X.T]
        self.column_ = int(np.argmax(np.abs(np.array(right) - 0.5)))
        values = X[:, self.column_]
        spread = float(np.var(values))
        slope = float(np.cov(values, y, bias=True)[0, 1]) / spread if spread else 0.0
        up = right[self.column_] >= 0.5
        if (slope > 0) != up or not slope:  # the order decides, not the line
            slope = 1e-9 if up else -1e-9
        self.slope_, self.level_ = slope, float(y.mean()) - slope * float(values.mean())
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Floats:
        """Return the line through the column."""
        return self.level_ + self.slope_ * X[:, self.column_]


class GradeProbabilities(BaseEstimator):
    """Multinomial logistic regression: the median of the probable grades, and their mean."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Floats) -> Self:
        """Learn the probabilities of the grades."""
        self.model_ = LogisticRegression(C=self.C, max_iter=2000).fit(X, y.astype(int))
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Floats:
        """Return the grade that is reached with probability one half."""
        below = np.cumsum(self.model_.predict_proba(X), axis=1)
        return self.classes_[np.argmax(below >= 0.5 - 1e-12, axis=1)].astype(float)

    def project(self, X: Any) -> Floats:
        """Return the mean grade."""
        return self.model_.predict_proba(X) @ self.classes_


class LightGBMRanker(RegressorMixin, BaseEstimator):
    """LightGBM's lambdarank, with rows in any order."""

    def __init__(self, n_estimators: int = 100, num_leaves: int = 15) -> None:
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves

    def fit(self, X: Any, y: Floats, qid: Any) -> Self:
        """Sort the rows by their lists and learn."""
        from lightgbm import LGBMRanker  # noqa: PLC0415

        order = np.argsort(qid, kind="stable")
        sizes = np.unique(qid, return_counts=True)[1]
        self.model_ = LGBMRanker(
            n_estimators=self.n_estimators, num_leaves=self.num_leaves, verbose=-1, n_jobs=1
        ).fit(X[order], np.unique(y, return_inverse=True)[1][order], group=sizes)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the scores."""
        return np.asarray(self.model_.predict(X), float)
