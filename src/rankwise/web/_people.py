"""Live people: what they said, and what follows from it. The last ones are kept in memory."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.magnitude import cut_at_gap
from rankwise.recommend import TasteRanker
from rankwise.recommend.catalogue import Catalogue
from rankwise.recommend.fold_in import Evidence, Fold, fold_in
from rankwise.recommend.person import smallest
from rankwise.web._items import Items
from rankwise.web._methods import METHODS, CannotLearnError, Line, learn_line, line_of_ratings
from rankwise.web._store import ForgottenError, Said, Store, Visitor

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

# What a visitor without a row starts with.
NOBODY = Said(Visitor("", "taste", False, 0), {}, [])
_REASONS = 5
# A list is cut at its largest gap behind the third entry at the earliest.
_BEFORE_CUT = 3


@dataclass(frozen=True)
class Entries:
    """The first entries of a ranking: places of items, deviations if known, and where to cut."""

    places: Places
    deviations: Vector | None
    cut: int | None
    total: int


class Person:
    """One visitor at one version.

    Ratings of items that the data no longer have, or outside of the scale, are left out.

    Parameters
    ----------
    said : Said
        What the visitor said.
    items : Items
        What is served.
    catalogue : Catalogue
        What everyone's ratings teach.
    """

    def __init__(self, said: Said, items: Items, catalogue: Catalogue) -> None:
        self.said, self.items, self._catalogue = said, items, catalogue
        place_of, scale = items.place_of, items.scale
        self.rating_of = {
            place_of[key]: rating
            for key, (rating, _) in said.ratings.items()
            if key in place_of and scale.low <= rating <= scale.high
        }
        pairs = [
            (place_of[better], place_of[worse])
            for better, worse in said.comparisons
            if better in place_of and worse in place_of
        ]
        self.evidence = Evidence.of(
            np.fromiter(self.rating_of, np.int64, len(self.rating_of)),
            np.fromiter(self.rating_of.values(), np.float64, len(self.rating_of)),
            np.array(pairs, np.int64).reshape(-1, 2),
        )
        self._lock = Lock()
        self._line: Line | None = None

    @property
    def version(self) -> int:
        """How often the visitor has changed something."""
        return self.said.visitor.version

    @property
    def method(self) -> str:
        """The name of the method that the visitor has chosen."""
        name = self.said.visitor.method
        return name if name in METHODS else "taste"

    def shown(self, place: int) -> dict[str, Any]:
        """Return an item with the visitor's rating."""
        return self.items.shown(place, self.rating_of.get(place))

    def line(self) -> Line:
        """Return all items on one line; it is learned when first asked for.

        Raises
        ------
        CannotLearnError
            If the method needs more ratings.
        """
        return self._learned()[0]

    def predicted(self, place: int) -> float | None:
        """Return the rating to expect for an item, None if there is too little to tell."""
        try:
            return self.line().prediction(place, self.items.scale)
        except CannotLearnError:
            return None

    def ranking(self, *, rated: bool, flip: bool, k: int) -> Entries:
        """Return the first k of the rated items or of all others, the worst first if flipped."""
        line, fold = self._learned()
        own = self.evidence.items
        pool = own if rated else np.delete(np.arange(len(self.items)), own)
        keys = line.scores[pool] if flip else -line.scores[pool]
        best = pool[smallest(keys, k)]
        shown = -line.scores[best] if flip else line.scores[best]
        cut = None
        if len(best) > _BEFORE_CUT:
            cut = int(cut_at_gap(shown, min_keep=_BEFORE_CUT))
        if cut == len(best):
            cut = None
        deviations = None
        if self.method == "taste":
            fold = self._solve() if fold is None else fold
            deviations = fold.deviations(best)
        return Entries(best, deviations, cut, len(pool))

    def explain(self, place: int) -> dict[str, Any]:
        """Return why an item has its score: parts that add up to it.

        Raises
        ------
        CannotLearnError
            If another method than the kernel is chosen: its reasons are other people's ratings.
        """
        if self.method != "taste":
            raise CannotLearnError("only the taste kernel says why: choose it and learn")
        why = self._ranker().explain(self._id(place))
        parts = [
            {
                "item": self.shown(self.items.place_of[str(reason.item)]),
                "rating": reason.rating,
                "contribution": reason.effect,
            }
            for reason in why.ratings[:_REASONS]
        ]
        rest = why.score - why.mean - sum(reason.effect for reason in why.ratings[:_REASONS])
        return {
            "item": self.shown(place),
            "score": why.score,
            "mean": why.mean,
            "parts": parts,
            "rest": rest,
            "sentence": _sentence(self.items.titles[place], why.score, why.mean, parts, rest),
        }

    def suggest(self, n: int, skip: list[int]) -> list[int]:
        """Return the places of items to rate next, those that tell most first."""
        found = self._ranker().suggest(n, skip=[self._id(place) for place in skip])
        return [self.items.place_of[str(one)] for one in found]

    def _learned(self) -> tuple[Line, Fold | None]:
        """Return the line, and the solution that it came from if it was learned just now."""
        with self._lock:
            if self._line is not None:
                return self._line, None
            said, items, fold = self.evidence, self.items, None
            if self.method == "taste":
                fold = self._solve()
                self._line = line_of_ratings(fold.scores(), said.items, said.ratings, items.scale)
            else:
                method = METHODS[self.method]
                self._line = learn_line(method, items.table, said.items, said.ratings, items.scale)
            return self._line, fold

    def _solve(self) -> Fold:
        return fold_in(self._catalogue.taste, self.evidence)  # type: ignore[arg-type]

    def _ranker(self) -> TasteRanker:
        return TasteRanker(self._catalogue, self.evidence)

    def _id(self, place: int) -> Any:
        return self._catalogue.ids.values[place : place + 1].tolist()[0]


class People:
    """Visitors by name, as of now: the database tells the version, the rest may come from memory.

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
        self._store, self._items, self._catalogue, self._size = store, items, catalogue, size
        self._kept: OrderedDict[str, Person] = OrderedDict()
        self._lock = Lock()
        self._nobody = Person(NOBODY, items, catalogue)
        self.hits = self.misses = 0

    def get(self, visitor: str | None) -> Person:
        """Return a visitor as of now; None is somebody who has said nothing.

        Raises
        ------
        ForgottenError
            If the visitor is not in the database.
        """
        if visitor is None:
            return self._nobody
        try:
            version = self._store.visitor(visitor).version
        except ForgottenError:  # by another worker
            self.drop(visitor)
            raise
        with self._lock:
            kept = self._kept.get(visitor)
            if kept is not None and kept.version == version:
                self._kept.move_to_end(visitor)
                self.hits += 1
                return kept
            self.misses += 1
        return self._keep(self.make(self._store.said(visitor)))

    def make(self, said: Said) -> Person:
        """Return a person who is not kept."""
        return Person(said, self._items, self._catalogue)

    def advance(self, person: Person, version: int, **changes: Any) -> None:
        """Keep a person after a change, if nothing else was changed in between."""
        if version == person.version + 1:
            said = person.said
            visitor = replace(said.visitor, version=version)
            self._keep(self.make(replace(said, visitor=visitor, **changes)))

    def keep_learned(self, person: Person, version: int) -> None:
        """Keep a person who has just learned, if nothing else was changed in between."""
        if version == person.version + 1:
            person.said = replace(
                person.said, visitor=replace(person.said.visitor, version=version)
            )
            self._keep(person)

    def drop(self, visitor: str) -> None:
        """Forget a person."""
        with self._lock:
            self._kept.pop(visitor, None)

    def _keep(self, person: Person) -> Person:
        visitor = person.said.visitor.id
        with self._lock:
            kept = self._kept.get(visitor)
            if kept is None or kept.version < person.version:
                self._kept[visitor] = person
            self._kept.move_to_end(visitor)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return person


def _sentence(title: str, score: float, mean: float, parts: list[Any], rest: float) -> str:
    """Say what a score is made of."""
    said = [f"{title} gets {score:.1f}: people give it {mean:.1f}"]
    for part in parts:
        verb = "adds" if part["contribution"] >= 0 else "takes away"
        said.append(
            f"{part['item']['title']}, which you gave {part['rating']:g}, {verb} "
            f"{abs(part['contribution']):.2f}"
        )
    if rest:
        verb = "adds" if rest >= 0 else "takes away"
        said.append(f"all else {verb} {abs(rest):.2f}")
    return "; ".join(said) + "."
