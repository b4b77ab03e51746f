"""Methods that learn one person's taste: the kernel of all ratings, or a ranker of the papers.

A ranker of the papers sees an item as the ratings that other people gave to it, less the middle of
the scale, 0 where there is none: those 300 people who rated most of the same items.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from starlette.exceptions import HTTPException

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal import OAPRank, PRank
from rankwise.ordinal.cuts import best_places
from rankwise.papers import prank
from rankwise.recommend import RatingTable
from rankwise.web._items import Scale

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

MethodName = Literal["taste", "prank", "prank_paper", "oap", "mprank", "rankboost"]
_RATERS = 300


class CannotLearnError(HTTPException):
    """There is too little to learn from; the message says what is missing."""

    def __init__(self, detail: str) -> None:
        super().__init__(409, detail)


@dataclass(frozen=True)
class Method:
    """A way to learn: name, title, what it does in a sentence, and where it is published."""

    name: str
    title: str
    sentence: str
    source: str


METHODS = {
    method.name: method
    for method in (
        Method(
            "taste",
            "Taste kernel",
            "Two {nouns} are alike if the same people like both. Each of your ratings also counts "
            "for the {nouns} that are like it.",
            "rankwise's own method",
        ),
        Method(
            "prank",
            "PRank",
            "Goes through your ratings one by one, and moves a line and its thresholds after each "
            "mistake; many rounds, averaged.",
            "Crammer and Singer, Pranking with ranking, NIPS 2001",
        ),
        Method(
            "prank_paper",
            "PRank, as in the paper",
            "One round through your ratings, a step after each mistake; the last line and its "
            "thresholds are kept.",
            "Crammer and Singer, Pranking with ranking, NIPS 2001, figure 2",
        ),
        Method(
            "oap",
            "OAP-BPM",
            "Many PRanks, each of which sees a random part of your ratings, averaged.",
            "Harrington, Online ranking by the perceptron, ICML 2003, algorithm 2",
        ),
        Method(
            "mprank",
            "MPRank",
            "Keeps the distances between your ratings, not only their order.",
            "Cortes, Mohri and Rastogi, Magnitude-preserving ranking, 2007, equation 8",
        ),
        Method(
            "rankboost",
            "RankBoost",
            "Adds up simple rules, such as whether a certain person liked the {noun}.",
            "Freund et al. 2003; Mohri, lecture on ranking",
        ),
    )
}
_MODELS: dict[str, Callable[[], Any]] = {
    "prank": lambda: PRank(epochs=20, vote="averaged", shuffle=True, random_state=0),
    "prank_paper": prank,
    "oap": lambda: OAPRank(epochs=5, shuffle=False, random_state=0),
    "mprank": lambda: MPRank(C=10.0),
    "rankboost": lambda: RankBoost(n_estimators=50),
}


@dataclass(frozen=True)
class Line:
    """All items on one line of scores, and the thresholds between grades.

    Attributes
    ----------
    scores : ndarray of shape (n_items,)
        A score of each item.
    thresholds : ndarray of shape (m - 1,)
        Rising.
    levels : ndarray of shape (m,)
        The grades between them.
    rated : bool
        Whether scores are ratings.
    direction : ndarray
        The weights of a linear method, one for each of the other people; empty for others.
    """

    scores: Vector
    thresholds: Vector
    levels: Vector
    rated: bool
    direction: Vector = field(default_factory=lambda: np.empty(0))

    def grades(self, places: Places) -> Vector:
        """Return the grades of some items."""
        above = np.searchsorted(self.thresholds, self.scores[places], side="right")
        return self.levels[above]

    def expected(self, places: Places, scale: Scale) -> Vector:
        """Return the ratings to expect for some items."""
        if self.rated:
            return np.clip(self.scores[places], scale.low, scale.high)
        return self.grades(places)


def line_of_ratings(scores: Vector, places: Places, ratings: Vector, scale: Scale) -> Line:
    """Return the line of scores that are ratings: grades are those of the scale.

    The thresholds fit the person's own ratings best; of equally good ones those are taken that are
    nearest to the middle between two grades.
    """
    levels = scale.levels
    usual = (levels[1:] + levels[:-1]) / 2.0
    return Line(scores, fit_cuts(scores[places], ratings, levels, usual), levels, rated=True)


def learn_line(
    method: str, table: RatingTable, places: Places, ratings: Vector, scale: Scale
) -> Line:
    """Fit a ranker of the papers to one person's ratings.

    Raises
    ------
    CannotLearnError
        If all ratings are equal, or nobody else has rated these items.
    """
    levels = np.unique(ratings)
    if len(levels) < 2:
        raise CannotLearnError(f"{METHODS[method].title} needs two different ratings to learn from")
    X = _features(table, places)
    if not X.shape[1]:
        raise CannotLearnError("nobody else has rated any of these: rate others")
    model = _MODELS[method]()
    if isinstance(model, PRank | OAPRank):
        model.fit(X[places], np.searchsorted(levels, ratings))
        scores = np.asarray(model.project(X), np.float64)
        return Line(scores, model.thresholds_, levels, rated=False, direction=model.coef_)
    scores = np.asarray(model.fit(X[places], ratings).predict(X), np.float64)
    if isinstance(model, MPRank):
        line = line_of_ratings(scores, places, ratings, scale)
        return replace(line, direction=model.coef_)
    return Line(scores, fit_cuts(scores[places], ratings, levels), levels, rated=False)


def _features(table: RatingTable, places: Places) -> sparse.csr_array:
    """Return other people's ratings, a row for each item; rated rows have norm 1 on average."""
    by_item = table.by_item
    shared = np.bincount(by_item[places].indices, minlength=table.n_users)
    order = np.argsort(-shared, kind="stable")[:_RATERS]
    raters = np.sort(order[shared[order] > 0])
    X = sparse.csr_array(by_item[:, raters], dtype=np.float64)
    X.data -= sum(table.scale) / 2.0
    rows = X[places]
    norm = np.sqrt(np.square(rows.data).sum() / len(places))
    if norm > 0:
        X.data /= norm
    return X


# How much of a gap between two scores is left beside a threshold that would lie outside of it.
_BESIDE = 0.1
# Of equally good thresholds those are taken that move the fewest scores from their usual grade.
_USUAL = 1e-6


def fit_cuts(
    scores: Vector, ratings: Vector, levels: Vector, usual: Vector | None = None
) -> Vector:
    """Return rising thresholds whose grades are nearest to the ratings, in total distance.

    A score has grade ``levels[np.searchsorted(cuts, score, side="right")]``.

    Parameters
    ----------
    scores, ratings : ndarray of shape (n,)
        What the rated items have.
    levels : ndarray of shape (m,)
        The grades, ascending.
    usual : ndarray of shape (m - 1,), default=None
        Where the thresholds lie if nothing speaks against it. None: in the middle between scores.

    Returns
    -------
    ndarray of shape (m - 1,)
    """
    order = np.argsort(scores, kind="stable")
    s, y = scores[order], ratings[order]
    n, m = len(s), len(levels)
    if m < 2 or not n:
        return np.zeros(m - 1) if usual is None else usual.copy()
    middle = None if usual is None else np.searchsorted(usual, s, side="right")

    def cost(level: int) -> Vector:
        distance = np.abs(y - levels[level])
        return distance if middle is None else distance + _USUAL * np.abs(middle - level)

    places = best_places(s, cost, m)
    beside = max(float(s[-1] - s[0]) / n, 0.5)
    edges = np.concatenate([[s[0] - 2.0 * beside], s, [s[-1] + 2.0 * beside]])
    low, high = edges[places], edges[places + 1]
    if usual is None:
        cuts = (low + high) / 2.0
    else:
        gap = np.where((places == 0) | (places == n), 0.5, _BESIDE) * (high - low)
        inside = ((low < usual) | (places == 0)) & ((usual <= high) | (places == n))
        cuts = np.where(inside, usual, np.clip(usual, low + gap, high - gap))
        cuts[~inside & (cuts <= low)] = high[~inside & (cuts <= low)]  # neighbours in floats
    return np.maximum.accumulate(cuts)
