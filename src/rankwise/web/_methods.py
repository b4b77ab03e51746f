"""Ways to learn one person's taste: the kernel of everyone's ratings, or a ranker of the papers.

A ranker of the papers sees an item as the ratings that other people gave to it, less the middle of
the scale, 0 where there is none: those 300 people who rated most of the same items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal import OAPRank, PRank
from rankwise.recommend import RatingTable
from rankwise.web._cuts import fit_cuts
from rankwise.web._items import Scale

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

_RATERS = 300


class CannotLearnError(Exception):
    """There is too little to learn from; the message says what is missing."""


@dataclass(frozen=True)
class Method:
    """A way to learn: its name, what people call it, and what it does in a sentence."""

    name: str
    title: str
    sentence: str
    make: Callable[[], Any] | None = None


METHODS = {
    method.name: method
    for method in (
        Method(
            "taste",
            "Taste kernel",
            "Films are alike if the same people like both; yours are weighed by how alike they "
            "are.",
        ),
        Method(
            "prank",
            "PRank",
            "Goes through your ratings one by one, and moves a line and its thresholds after each "
            "mistake.",
            lambda: PRank(epochs=20, vote="averaged", shuffle=True, random_state=0),
        ),
        Method(
            "oap",
            "OAP-BPM",
            "Many PRanks, each of which sees a random part of your ratings, averaged.",
            lambda: OAPRank(epochs=5, shuffle=False, random_state=0),
        ),
        Method(
            "mprank",
            "MPRank",
            "Keeps the distances between your ratings, not only their order.",
            lambda: MPRank(C=10.0),
        ),
        Method(
            "rankboost",
            "RankBoost",
            "Adds up simple rules, such as whether a certain person liked the film.",
            lambda: RankBoost(n_estimators=50),
        ),
    )
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
    """

    scores: Vector
    thresholds: Vector
    levels: Vector
    rated: bool

    def grades(self, places: Places) -> Vector:
        """Return the grades of some items."""
        above = np.searchsorted(self.thresholds, self.scores[places], side="right")
        return self.levels[above]

    def prediction(self, place: int, scale: Scale) -> float:
        """Return the rating to expect for an item."""
        if self.rated:
            return float(np.clip(self.scores[place], scale.low, scale.high))
        return float(self.grades(np.array([place]))[0])


def line_of_ratings(scores: Vector, places: Places, ratings: Vector, scale: Scale) -> Line:
    """Return the line of scores that are ratings: grades are those of the scale.

    The thresholds fit the person's own ratings best; of equally good ones those are taken that are
    nearest to the middle between two grades.
    """
    levels = scale.levels
    usual = (levels[1:] + levels[:-1]) / 2.0
    return Line(scores, fit_cuts(scores[places], ratings, levels, usual), levels, rated=True)


def learn_line(
    method: Method, table: RatingTable, places: Places, ratings: Vector, scale: Scale
) -> Line:
    """Fit a ranker of the papers to one person's ratings.

    Raises
    ------
    CannotLearnError
        If there are no two different ratings, or nobody else has rated these items.
    """
    levels = np.unique(ratings)
    if len(levels) < 2:
        raise CannotLearnError(f"{method.title} needs two different ratings to learn from")
    X = _features(table, places)
    if not X.shape[1]:
        raise CannotLearnError("nobody else has rated any of these: rate others")
    model = method.make()  # type: ignore[misc]
    if isinstance(model, PRank | OAPRank):
        model.fit(X[places], np.searchsorted(levels, ratings))
        scores = np.asarray(model.project(X), np.float64)
        return Line(scores, model.thresholds_, levels, rated=False)
    scores = np.asarray(model.fit(X[places], ratings).predict(X), np.float64)
    if isinstance(model, MPRank):
        return line_of_ratings(scores, places, ratings, scale)
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
