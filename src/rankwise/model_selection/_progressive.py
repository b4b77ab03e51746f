"""Progressive validation: predict each row before learning from it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import check_array, check_consistent_length

from rankwise._core.inputs import refuse_masked
from rankwise._core.labels import found_labels, known_labels, warn_alphabetical
from rankwise.metrics import rank_losses


@dataclass(frozen=True, eq=False)
class ProgressiveResult:
    """Predictions of a model for each row before it learned from the row.

    Attributes
    ----------
    predictions : ndarray of shape (n_samples,)
        The label predicted before each update.
    losses : ndarray of shape (n_samples,)
        Its distance from the true label, in ranks.
    classes : ndarray of shape (k,)
        The labels, lowest rank first.
    estimator : estimator
        The model after the last row.
    X, y : array-likes
        The stream.
    """

    predictions: NDArray[Any]
    losses: NDArray[np.int64]
    classes: NDArray[Any]
    estimator: Any
    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)

    @property
    def loss_curve(self) -> NDArray[np.float64]:
        """The time-averaged rank loss after every round, of shape (n_samples,)."""
        return np.cumsum(self.losses) / np.arange(1, len(self.losses) + 1)

    def regret(self, comparator: Any) -> NDArray[np.int64]:
        """Return the cumulative loss minus that of one fixed model, after every round, in ranks.

        Parameters
        ----------
        comparator : fitted estimator
            Any model that predicts labels of ``classes``; one fitted on the whole stream tells how
            much was lost by learning on the way.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if not hasattr(comparator, "predict"):
            raise TypeError(f"comparator={comparator!r} must be a fitted model, with predict")
        fixed = rank_losses(self.y, comparator.predict(self.X), labels=self.classes)
        return np.cumsum(self.losses - fixed)


def progressive_validation(estimator: Any, X: ArrayLike, y: ArrayLike) -> ProgressiveResult:
    """Run a model over a stream, test-then-train, and keep its predictions.

    Every row is a test row exactly once, before it is learned from: no split, no refit, and the
    mean of the losses is the time-averaged rank loss of the online ranking papers.

    A rankwise model does this in one compiled pass. Any other classifier with ``partial_fit`` is
    called row by row; before its first update it is taken to predict the middle label, the
    safest guess in ranks.

    Parameters
    ----------
    estimator : classifier with ``partial_fit``
        A clone of it is fitted; the original is left alone.
    X : array-like of shape (n_samples, n_features)
        The rows of the stream, in order.
    y : array-like of shape (n_samples,)
        Their labels. The ranks are the estimator's ``label_order`` if it has one, else the
        categories of an ordered categorical, else the sorted labels of y.

    Returns
    -------
    ProgressiveResult

    Examples
    --------
    >>> from rankwise.datasets import make_herbrich
    >>> from rankwise.model_selection import progressive_validation
    >>> from rankwise.ordinal import PRank
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> X, y = make_herbrich(2000, random_state=0)
    >>> result = progressive_validation(PRank(vote=None), PolynomialFeatures(2).fit_transform(X), y)
    >>> print(f"{result.loss_curve[99]:.1f} {result.loss_curve[-1]:.1f}")
    1.3 0.7
    >>> best = PRank(epochs=20, shuffle=False).fit(PolynomialFeatures(2).fit_transform(X), y)
    >>> bool(result.regret(best)[-1] > 1000)
    True
    """
    if not (hasattr(estimator, "partial_fit") and is_classifier(estimator)):
        raise ValueError(
            f"{type(estimator).__name__} is not a classifier with partial_fit, so it can't learn "
            "ranks row by row: use a model of rankwise.ordinal, or cross-validation"
        )
    refuse_masked(X, "X")
    refuse_masked(y, "y")
    model = clone(estimator)
    classes, labels = known_labels(y, getattr(model, "label_order", None))
    if hasattr(model, "partial_fit_predict"):
        unnamed = found_labels(labels) if classes is None else None
        predictions = model.partial_fit_predict(X, y, classes=unnamed)
        classes = model.classes_
    else:
        if classes is None:
            classes = found_labels(labels)
            warn_alphabetical(classes)
        predictions = _row_by_row(model, X, labels, classes)
    losses = rank_losses(labels, predictions, labels=classes)
    return ProgressiveResult(predictions, losses, classes, model, X, labels)


def _row_by_row(model: Any, X: ArrayLike, y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    rows: Any = check_array(X, accept_sparse="csr")
    check_consistent_length(rows, y)
    predictions = np.full(len(y), classes[(len(classes) - 1) // 2], dtype=classes.dtype)
    for i in range(len(y)):
        if i:
            predictions[i] = model.predict(rows[i : i + 1])[0]
        model.partial_fit(rows[i : i + 1], y[i : i + 1], classes=classes)
    return predictions
