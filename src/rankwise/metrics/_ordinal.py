"""Losses over ranks: how many ranks lie between the guess and the truth."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from rankwise._core.inputs import refuse_masked
from rankwise._core.labels import (
    found_labels,
    known_labels,
    to_ranks,
    warn_alphabetical,
)


def rank_losses(
    y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Return the distance of each guess from the truth, in ranks.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    labels : array-like of shape (k,), default=None
        All labels, lowest rank first. None: the categories of an ordered categorical ``y_true`` or
        ``y_pred``, else the sorted labels that occur in either array. Name them where some may be
        absent: with 1 and 5 alone, 5 is the next rank after 1.

    Examples
    --------
    >>> from rankwise.metrics import rank_losses
    >>> rank_losses([1, 2, 4], [2, 2, 1])
    array([1, 0, 2])
    >>> rank_losses([1, 5], [5, 1]), rank_losses([1, 5], [5, 1], labels=[1, 2, 3, 4, 5])
    (array([1, 1]), array([4, 4]))
    """
    true, guessed, _ = _ranks(y_true, y_pred, labels)
    return np.abs(guessed - true)


def mean_rank_loss(
    y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None
) -> float:
    r"""Mean distance of the guess from the truth, in ranks.

    .. math:: \frac1m \sum_i |\hat r_i - r_i|

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    labels : array-like of shape (k,), default=None
        All labels, lowest rank first; see `rank_losses`.

    Examples
    --------
    >>> from rankwise.metrics import mean_rank_loss
    >>> mean_rank_loss([1, 2, 4, 4], [1, 4, 4, 1])
    0.75
    >>> mean_rank_loss(["good"], ["poor"], labels=["poor", "fair", "good"])
    2.0
    """
    return float(rank_losses(y_true, y_pred, labels=labels).mean())


def mean_rank_loss_per_rank(
    y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Mean distance of the guess from the truth for the rows of each true rank.

    Tells whether a low mean comes from the middle ranks alone. The mean of the result is the
    macro-averaged loss.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    labels : array-like of shape (k,), default=None
        All labels, lowest rank first; see `rank_losses`.

    Returns
    -------
    ndarray of shape (k,)
        NaN for a label that ``y_true`` does not hold.

    Examples
    --------
    >>> from rankwise.metrics import mean_rank_loss_per_rank
    >>> mean_rank_loss_per_rank([1, 2, 4, 4], [1, 4, 4, 1])
    array([0., 1., 1.])
    """
    true, guessed, k = _ranks(y_true, y_pred, labels)
    rows = np.bincount(true, minlength=k)
    losses = np.bincount(true, weights=np.abs(guessed - true), minlength=k)
    return np.divide(losses, rows, out=np.full(k, np.nan), where=rows > 0)


def neg_mean_rank_loss_scorer(estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
    """Score a fitted model by its negative mean rank loss, over the ranks of its ``classes_``.

    For ``scoring=`` in scikit-learn's model selection.

    Parameters
    ----------
    estimator : fitted classifier
        Its ``classes_`` are taken as the ranks, lowest first.
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their true labels.

    Examples
    --------
    >>> from rankwise.datasets import make_herbrich
    >>> from rankwise.metrics import neg_mean_rank_loss_scorer
    >>> from rankwise.ordinal import PRank
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_herbrich(300, random_state=0)
    >>> cross_val_score(PRank(), X, y, cv=3, scoring=neg_mean_rank_loss_scorer).shape
    (3,)
    """
    if not (hasattr(estimator, "classes_") and hasattr(estimator, "predict")):
        raise ValueError(
            f"{type(estimator).__name__} has no classes_, which are the ranks: fit a classifier"
        )
    return -mean_rank_loss(y, estimator.predict(X), labels=estimator.classes_)


def _ranks(
    y_true: ArrayLike, y_pred: ArrayLike, labels: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return true and predicted ranks from 0, and their number k."""
    for name, values in (("y_true", y_true), ("y_pred", y_pred), ("labels", labels)):
        refuse_masked(values, name)
    known, true = known_labels(y_true, labels, name="y_true", say="labels")
    # the order of a categorical is that of its type, and both must have one
    known, guessed = known_labels(y_pred, known, name="y_pred", say="labels")
    check_consistent_length(true, guessed)
    if not len(true):
        raise ValueError("y_true is empty: a mean loss needs at least one row")
    if known is None:
        kinds = {"number" if a.dtype.kind in "biuf" else a.dtype.kind for a in (true, guessed)}
        if len(kinds - {"O"}) > 1:
            raise ValueError(
                f"y_true holds {true.dtype} and y_pred {guessed.dtype}: labels must be of one kind"
            )
        known = found_labels(np.concatenate([true, guessed]), name="y_true or y_pred", say="labels")
        warn_alphabetical(known, name="y_true", say="labels")
    return to_ranks(true, known, "y_true"), to_ranks(guessed, known, "y_pred"), len(known)
