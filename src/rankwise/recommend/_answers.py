"""The answers to a live person: a ranking with scores, and the reasons for an item's place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.ranking import Ranking
from rankwise.recommend.baseline import Vector
from rankwise.recommend.fold_in import Fold

_SHOWN = 3


@dataclass(frozen=True, eq=False, repr=False)
class TasteRanking(Ranking):
    """One person's ranking of items.

    Attributes
    ----------
    order : ndarray of shape (k,)
        The ids of the items, best first.
    positions : ndarray of shape (n_items,)
        The position of each item of the table, from 1; 0 for items that are not in ``order``.
    scores : ndarray of shape (k,)
        The scores of ``order``. For ``by="rating"`` they are ratings that are not cut at the ends
        of the scale; for ``by="choice"`` they have no unit.
    sd : ndarray of shape (k,) or None
        How far a rating may be from the score: its standard deviation. It is computed when first
        asked for, since it costs more than the ranking. None if nothing is known about it.

    Examples
    --------
    >>> from rankwise.recommend import TasteRanking
    >>> import numpy as np
    >>> ranking = TasteRanking(np.array(["b", "a"]), np.array([2, 1]), scores=np.array([4.5, 3.0]))
    >>> ranking
    TasteRanking(b 4.50, a 3.00)
    """

    scores: Any = None
    deviations: Callable[[], Vector] | None = None

    @property
    def sd(self) -> Vector | None:
        """The standard deviation of a rating of each item of ``order``."""
        if self.deviations is not None and "_sd" not in self.__dict__:
            self.__dict__["_sd"] = self.deviations()
        return self.__dict__.get("_sd")

    def __repr__(self) -> str:
        if self.scores is None:
            return super().__repr__()
        shown = [f"{i} {s:.2f}" for i, s in zip(self.order[:5], self.scores[:5], strict=True)]
        if len(self.order) > len(shown):
            shown.append(f"... {len(self.order)} items")
        return f"TasteRanking({', '.join(shown)})"


class Reason(NamedTuple):
    """The effect of one rating on the score of another item.

    Attributes
    ----------
    item : object
        The rated item.
    rating : float
        Its rating.
    weight : float
        By how much the score would rise if the rating were 1 higher.
    effect : float
        The weight times the rating's distance from the mean of its item.
    """

    item: Any
    rating: float
    weight: float
    effect: float


@dataclass(frozen=True)
class Explanation:
    """Why an item has its score. ``str()`` says it in a sentence.

    The score is linear in what the person said, so its parts add up to it:
    ``score = mean + sum of the effects of ratings + sum of those of preferences + place``.

    Attributes
    ----------
    item : object
        The item.
    score : float
        Its score, which is not cut at the ends of the scale.
    mean : float
        Its mean rating, corrected for its raters, and shrunk to the overall mean if they are few.
    ratings : tuple of Reason
        The person's ratings, the largest effect first.
    preferences : tuple of (better, worse, effect)
        The person's preferences, the largest effect first.
    place : float
        The effect of the choice of the rated items on the score, whatever the ratings.

    Examples
    --------
    >>> from rankwise.recommend import Explanation, Reason
    >>> why = Explanation("Heat", 4.25, 3.75, (Reason("Casino", 5.0, 0.25, 0.375),), (), 0.125)
    >>> print(why)
    Heat: 4.25. Its mean is 3.75; Casino, which you gave 5, adds 0.38; your choice of items
    adds 0.12.
    """

    item: Any
    score: float
    mean: float
    ratings: tuple[Reason, ...]
    preferences: tuple[tuple[Any, Any, float], ...]
    place: float

    def __str__(self) -> str:
        effects = [(f"{r.item}, which you gave {r.rating:g},", r.effect) for r in self.ratings]
        effects += [(f"that you prefer {b} to {w}", effect) for b, w, effect in self.preferences]
        effects.sort(key=lambda pair: -abs(pair[1]))
        rest = sum(effect for _, effect in effects[_SHOWN:])
        shown = effects[:_SHOWN]
        if len(effects) > _SHOWN:
            shown.append(("the rest of your answers", rest))
        if self.place:
            shown.append(("your choice of items", self.place))
        said = [
            f"{what} {'adds' if effect >= 0 else 'takes away'} {abs(effect):.2f}"
            for what, effect in shown
        ]
        return (
            f"{self.item}: {self.score:.2f}. {'; '.join([f'Its mean is {self.mean:.2f}', *said])}."
        )


def explanation(fold: Fold, place: int, ids: NDArray[Any]) -> Explanation:
    """Split the score of an item into its parts."""
    said, taste = fold.evidence, fold.taste
    n, p = len(said.items), len(said.pairs)
    weights = fold.weights(np.array([place]))[0]
    effects = taste.unit * weights * fold.target
    columns = ids[said.items], said.ratings, weights[:n], effects[:n]
    reasons = [Reason(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    pairs = [
        (*ids[pair].tolist(), effect)
        for pair, effect in zip(said.pairs, effects[n : n + p].tolist(), strict=True)
    ]
    return Explanation(
        item=ids[place : place + 1].tolist()[0],
        score=float(taste.to_ratings(taste.means[place]) + effects.sum()),
        mean=float(taste.to_ratings(taste.means[place])),
        ratings=tuple(sorted(reasons, key=lambda reason: -abs(reason.effect))),
        preferences=tuple(sorted(pairs, key=lambda pair: -abs(pair[2]))),
        place=float(effects[n + p :].sum()),
    )
