"""Measures of predictions, for each task; the first measure of a task decides."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics import (
    average_precision_score,
    magnitude_loss,
    ndcg_score,
    pairwise_misranking_loss,
)

Floats = NDArray[np.float64]


class Answers(NamedTuple):
    """Predictions for rows: scores; ranks from 1 of grades; (n, k) probabilities of the ranks."""

    scores: Floats
    ranks: Floats | None
    shares: Floats | None = None


class Measure(NamedTuple):
    """A measure: name, function of targets, answers and lists, direction, and what it says.

    In ``meaning`` a value stands in place of the braces. A measure that a model has no predictions
    for is nan.
    """

    name: str
    of: Callable[[Floats, Answers, NDArray[np.int64] | None], float]
    more_is_better: bool
    meaning: str

    def signed(self, value: Any) -> Any:
        """Return a value, or an array of them, of which more is better."""
        return value if self.more_is_better else -value

    def loss(self, value: Any) -> Any:
        """Return what a value loses: itself, or what is missing to 1."""
        return 1.0 - value if self.more_is_better else value

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Return the part of an interval that is possible: none is negative, shares end at 1."""
        return max(low, 0.0), min(high, 1.0) if self.more_is_better else high


def _mae(y: Floats, answers: Answers, _: Any) -> float:
    return float(np.abs(y - np.asarray(answers.ranks)).mean())


def _accuracy(y: Floats, answers: Answers, _: Any) -> float:
    return float((y == answers.ranks).mean())


def _pairs(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    return 1.0 - float(pairwise_misranking_loss(y, answers.scores, qid=qid, ties="half"))


def _ndcg(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    return float(ndcg_score(y - y.min(), answers.scores, qid=qid, k=10))


def _difference(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    return float(np.sqrt(magnitude_loss(y, answers.scores, qid=qid)))


def _rmse(y: Floats, answers: Answers, _: Any) -> float:
    return float(np.sqrt(np.mean((y - answers.scores) ** 2)))


def _average_precision(y: Floats, answers: Answers, _: Any) -> float:
    return float(average_precision_score(y > 1, answers.scores))


def _brier(y: Floats, answers: Answers, _: Any) -> float:
    if answers.shares is None:
        return np.nan
    return float(np.mean((answers.shares[:, 1] - (y > 1)) ** 2))


def _log_loss(y: Floats, answers: Answers, _: Any) -> float:
    if answers.shares is None:
        return np.nan
    own = answers.shares[np.arange(len(y)), y.astype(int) - 1]
    return float(-np.log(np.maximum(own, 1e-15)).mean())


MAE = Measure("MAE", _mae, False, "predictions are off by {} grades on average")
ACCURACY = Measure("accuracy", _accuracy, True, "{} of the predictions are right")
PAIRS = Measure("pairwise accuracy", _pairs, True, "{} of the pairs are in the right order")
AUC = Measure("AUC", _pairs, True, "{} of the pairs of a positive and a negative are in order")
PRECISION = Measure(
    "average precision",
    _average_precision,
    True,
    "the precision, averaged over the positives, is {}",
)
BRIER = Measure("Brier score", _brier, False, "the squared error of the probabilities is {}")
LOG_LOSS = Measure("log loss", _log_loss, False, "the log loss of the probabilities is {}")
NDCG = Measure(
    "NDCG@10", _ndcg, True, "the first ten of a query reach {} of the best possible gain"
)
DIFFERENCE = Measure(
    "difference error", _difference, False, "the difference of two rows is off by {} (RMS)"
)
RMSE = Measure("RMSE", _rmse, False, "predictions are off by {} (root mean square)")
# Positives rarer than this are judged by the average precision, too.
RARE = 0.1


def measures_of(kind: str, *, lists: bool, positives: float | None = None) -> list[Measure]:
    """Return the measures of a task; the first decides.

    Parameters
    ----------
    kind : str
        As in `Task`.
    lists : bool
        Whether there are queries.
    positives : float, default=None
        Of two classes the share of the higher one.
    """
    if positives is not None:
        return [AUC, *([PRECISION] if positives < RARE else []), BRIER, LOG_LOSS]
    if kind == "grades" and not lists:
        return [MAE, ACCURACY, PAIRS]
    if kind == "grades":
        return [NDCG, PAIRS]
    return [PAIRS, DIFFERENCE]
