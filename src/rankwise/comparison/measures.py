"""What a method is measured by, for each kind of evidence; the first measure decides."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics import magnitude_loss, ndcg_score, pairwise_misranking_loss

Floats = NDArray[np.float64]


class Answers(NamedTuple):
    """What a model says of rows: scores, and ranks from 1 if it gives grades."""

    scores: Floats
    ranks: Floats | None


class Measure(NamedTuple):
    """A measure: name, function of targets, answers and lists, direction, and what it says.

    In ``meaning`` a value stands in place of the braces.
    """

    name: str
    of: Callable[[Floats, Answers, NDArray[np.int64] | None], float]
    more_is_better: bool
    meaning: str

    def signed(self, value: Any) -> Any:
        """Return a value, or an array of them, of which more is better."""
        return value if self.more_is_better else -value

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Return the part of an interval that is possible: none is negative, shares end at 1."""
        return max(low, 0.0), min(high, 1.0) if self.more_is_better else high


def _rank_loss(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    del qid
    return float(np.abs(y - np.asarray(answers.ranks)).mean())


def _accuracy(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    del qid
    return float((y == answers.ranks).mean())


def _pairs(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    return 1.0 - float(pairwise_misranking_loss(y, answers.scores, qid=qid, ties="half"))


def _ndcg(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    return float(ndcg_score(y - y.min(), answers.scores, qid=qid, k=10))


def _difference(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    return float(np.sqrt(magnitude_loss(y, answers.scores, qid=qid)))


def _rmse(y: Floats, answers: Answers, qid: NDArray[np.int64] | None) -> float:
    del qid
    return float(np.sqrt(np.mean((y - answers.scores) ** 2)))


RANK_LOSS = Measure("rank loss", _rank_loss, False, "a guess is {} grades off on average")
ACCURACY = Measure("exact", _accuracy, True, "{} of the guesses are exact")
PAIRS = Measure("pairs right", _pairs, True, "{} of the pairs are put in the right order")
NDCG = Measure("NDCG@10", _ndcg, True, "the first ten of a list reach {} of the best possible gain")
DIFFERENCE = Measure(
    "error of differences", _difference, False, "a difference of two scores is off by {}"
)
RMSE = Measure("RMSE", _rmse, False, "a rating is off by {}")


def measures_of(kind: str, *, lists: bool) -> list[Measure]:
    """Return the measures of a kind of evidence; the first decides."""
    if kind == "grades" and not lists:
        return [RANK_LOSS, ACCURACY, PAIRS]
    if kind == "grades":
        return [NDCG, PAIRS]
    return [PAIRS, DIFFERENCE]
