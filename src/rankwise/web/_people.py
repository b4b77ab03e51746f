"""Visitors by name, as of now: what they submitted, and what follows from it."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from prometheus_client import Counter

from rankwise.magnitude import cut_at_gap
from rankwise.recommend import TasteRanker
from rankwise.recommend.fold_in import Evidence, Fold, fold_in
from rankwise.recommend.person import Catalogue, smallest
from rankwise.web._items import Item, Items
from rankwise.web._methods import (
    METHODS,
    CannotLearnError,
    Line,
    MethodName,
    learn_line,
    line_of_ratings,
)
from rankwise.web._schemas import Entry, Explanation, Part, RankingPage
from rankwise.web._store import ForgottenError, Store, Submitted, Visitor

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

_REASONS = 5
PEOPLE = Counter(
    "rankwise_people_total",
    "Visitors found in memory, or read from the database",
    ["found"],
)
# A list is cut at its largest gap behind the third entry at the earliest.
_BEFORE_CUT = 3


class Person:
    """One visitor at one version.

    Ratings of items that the data no longer have, or outside of the scale, are left out.

    Parameters
    ----------
    submitted : Submitted
        What the visitor submitted.
    items : Items
        What is served.
    catalogue : Catalogue
        What everyone's ratings teach.
    """

    def __init__(self, submitted: Submitted, items: Items, catalogue: Catalogue) -> None:
        self.submitted, self.items, self._catalogue = submitted, items, catalogue
        place_of, scale = items.place_of, items.scale
        self.rating_of = {
            place_of[key]: rating
            for key, (rating, _) in submitted.ratings.items()
            if key in place_of and scale.low <= rating <= scale.high
        }
        pairs = [
            (place_of[better], place_of[worse])
            for better, worse in submitted.comparisons
            if better in place_of and worse in place_of
        ]
        self.evidence = Evidence.of(
            np.fromiter(self.rating_of, np.int64, len(self.rating_of)),
            np.fromiter(self.rating_of.values(), np.float64, len(self.rating_of)),
            np.array(pairs, np.int64).reshape(-1, 2),
        )
        self._fold = partial(fold_in, catalogue.taste, self.evidence)  # type: ignore[arg-type]
        name = submitted.visitor.method
        self.method = cast(MethodName, name if name in METHODS else "taste")
        self._line: Line | None = None

    def shown(self, place: int) -> Item:
        """Return an item with the visitor's rating."""
        return self.items.all[place].model_copy(update={"rating": self.rating_of.get(place)})

    def learn(self, method: MethodName) -> None:
        """Raise if nothing can be learned by a method."""
        if not self.rating_of and not len(self.evidence.pairs):
            raise CannotLearnError("rate something first")
        chosen = replace(self.submitted.visitor, method=method)
        submitted = replace(self.submitted, visitor=chosen)
        Person(submitted, self.items, self._catalogue).line()

    def line(self) -> Line:
        """Return all items on one line; it is learned at the first call.

        Raises
        ------
        CannotLearnError
            If the method needs more ratings.
        """
        if self._line is None:
            self._line = self._learn(self._fold() if self.method == "taste" else None)
        return self._line

    def predicted(self, place: int) -> float | None:
        """Return the rating to expect for an item, None if there is too little to tell."""
        one, scale = np.array([place]), self.items.scale
        if self._line is None and self.method == "taste":  # the score of one item is enough
            return float(np.clip(self._fold().scores(one)[0], scale.low, scale.high))
        try:
            return float((self._line or self.line()).expected(one, scale)[0])
        except CannotLearnError:
            return None

    def ranking(self, which: Literal["rated", "unseen"], *, flip: bool, k: int) -> RankingPage:
        """Return the first k of the rated items or of all others, the worst first if flipped."""
        fold = self._fold() if self.method == "taste" else None
        line = self._line = self._line or self._learn(fold)
        own, signed = self.evidence.items, -line.scores if flip else line.scores
        pool = own if which == "rated" else np.delete(np.arange(len(self.items)), own)
        best = pool[smallest(-signed[pool], k)]
        n, cut = len(best), None
        if n > _BEFORE_CUT:
            cut = int(cut_at_gap(signed[best], min_keep=_BEFORE_CUT))
        columns = (
            [self.shown(place) for place in best.tolist()],
            line.scores[best].tolist(),
            line.grades(best).tolist(),
            line.expected(best, self.items.scale).tolist(),
            [None] * n if fold is None else fold.deviations(best).tolist(),
        )
        return RankingPage(
            set=which,
            flip=flip,
            method=self.method,
            version=self.submitted.visitor.version,
            entries=[
                Entry(position=i, item=item, score=score, rank=grade, expected=expected, sd=sd)
                for i, (item, score, grade, expected, sd) in enumerate(
                    zip(*columns, strict=True), start=1
                )
            ],
            cut=None if cut == n else cut,
            thresholds=line.thresholds.tolist(),
            levels=line.levels.tolist(),
            direction=sorted(line.direction.tolist(), reverse=True),
            total=len(pool),
        )

    def explain(self, place: int) -> Explanation:
        """Return why an item has its score: parts that add up to it.

        Raises
        ------
        CannotLearnError
            If another method than the kernel is chosen: its reasons are other people's ratings.
        """
        if self.method != "taste":
            raise CannotLearnError("only the taste kernel explains scores: choose it and learn")
        why = self._ranker().explain(self._id(place))
        parts = [
            Part(
                item=self.shown(self._place(reason.item)),
                rating=reason.rating,
                contribution=reason.effect,
            )
            for reason in why.ratings[:_REASONS]
        ]
        scale = self.items.scale
        expected = min(max(why.score, scale.low), scale.high)
        rest = why.score - why.mean - sum(part.contribution for part in parts)
        title = self.items.all[place].title
        words = [f"{title}: we expect you to give it {expected:.1f}"]
        words.append(f"people give it {why.mean:.1f} on average")
        effects = [(f"your {p.rating:g} for {p.item.title}", p.contribution) for p in parts]
        for name, effect in [*effects, ("all else", rest)]:
            if effect:
                words.append(f"{name} {'adds' if effect > 0 else 'takes away'} {abs(effect):.2f}")
        return Explanation(
            item=self.shown(place),
            score=why.score,
            expected=expected,
            mean=why.mean,
            parts=parts,
            rest=rest,
            sentence="; ".join(words) + ".",
        )

    def suggest(self, n: int, skip: list[int]) -> list[Item]:
        """Return items to rate next, the most informative first."""
        found = self._ranker().suggest(n, skip=[self._id(place) for place in skip])
        return [self.shown(self._place(one)) for one in found]

    def _learn(self, fold: Fold | None) -> Line:
        """Return the line: of the scores of the kernel, or of the chosen ranker."""
        evidence, items = self.evidence, self.items
        if fold is None:
            own = (evidence.items, evidence.ratings)
            return learn_line(self.method, items.table, *own, items.scale)
        return line_of_ratings(fold.scores(), evidence.items, evidence.ratings, items.scale)

    def _ranker(self) -> TasteRanker:
        return TasteRanker(self._catalogue, self.evidence)

    def _id(self, place: int) -> object:
        return self._catalogue.ids.values[place : place + 1].tolist()[0]

    def _place(self, item: object) -> int:
        return self._catalogue.ids.find_one(item, "item")


class People:
    """Visitors as of now: the database has the version, the rest may come from memory.

    Parameters
    ----------
    store : Store
        The database.
    items : Items
        What is served.
    catalogue : Catalogue
        What everyone's ratings teach.
    size : int
        How many people are kept.
    """

    def __init__(self, store: Store, items: Items, catalogue: Catalogue, size: int) -> None:
        self._store, self._items, self._catalogue = store, items, catalogue
        self._nobody = Person(Submitted(Visitor(""), {}, []), items, catalogue)
        # a list for each visitor, with the person at the version that was last asked for
        self._kept = lru_cache(size)(lambda _: [self._nobody])

    def get(self, visitor: str | None) -> Person:
        """Return a visitor as of now; None is somebody who has submitted nothing.

        Raises
        ------
        ForgottenError
            If the visitor is not in the database.
        """
        if visitor is None:
            return self._nobody
        try:
            kept = self._kept(visitor)
            person = kept[0]
            submitted = self._store.submitted(visitor, person.submitted)
        except ForgottenError:  # by another worker
            self.forget()
            raise
        found = "memory"
        if submitted is not person.submitted:
            person = kept[0] = Person(submitted, self._items, self._catalogue)
            found = "database"
        PEOPLE.labels(found).inc()
        return person

    def forget(self) -> None:
        """Remove all people from memory."""
        self._kept.cache_clear()
