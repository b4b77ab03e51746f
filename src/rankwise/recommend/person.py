"""One person, live: says something about items, and has a ranking at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankwise._core.arguments import (
    check_flag,
    check_whole,
    check_word,
    is_finite_number,
    shortened,
)
from rankwise._core.ordinal import OrdinalMixin
from rankwise._core.ranking import cut_at_gap
from rankwise.recommend._answers import Explanation, TasteRanking, explanation
from rankwise.recommend._choice import weigh_by_rating
from rankwise.recommend._ids import Ids
from rankwise.recommend._table import RatingTable, deviation
from rankwise.recommend.baseline import Ints, Vector
from rankwise.recommend.fold_in import Evidence, Fold, best_questions, fold_in
from rankwise.recommend.taste import Taste

# Raters of the columns of a live person.
_RATERS = 300


@dataclass(frozen=True)
class Catalogue:
    """The data that all live people share.

    Attributes
    ----------
    ids : Ids
        The ids of the items.
    scale : tuple of two floats
        The lowest and the highest rating.
    taste : Taste or None
        What the ratings teach; None if there are none.
    choice : ChoiceModel or None
        What the choices teach.
    known : ndarray of shape (n_items,)
        The share of people who have rated each item.
    sd : float
        The standard deviation of all ratings.
    """

    ids: Ids
    scale: tuple[float, float]
    taste: Taste | None
    choice: Any
    known: Vector
    sd: float

    @classmethod
    def of(cls, table: RatingTable, taste: Taste | None, choice: Any) -> "Catalogue":
        """Describe the items of a table, with what was learned from it."""
        X = table.matrix
        known = np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0]
        return cls(table._item_ids, table.scale, taste, choice, known, deviation(X.data))


class PersonalModel:
    """An estimator in place of the taste kernel, fitted again at each question.

    The features of an item are the ratings of the 300 people who rated most of the items that this
    person has rated, what is missing filled by `RatingTable.problem_for`'s default.

    Parameters
    ----------
    table : RatingTable
        Everyone's ratings.
    estimator : estimator
        Any with ``fit(X, y)`` and ``predict(X)``. It is not changed.
    user : id or None
        The person, if in the table: no feature.
    """

    def __init__(self, table: Any, estimator: Any, user: Any = None) -> None:
        needed = "fit", "predict", "get_params"
        if isinstance(estimator, type) or not all(hasattr(estimator, name) for name in needed):
            raise ValueError(
                f"estimator={shortened(estimator)} must be a model with fit and predict: MPRank()"
            )
        self.table, self.estimator = table, estimator
        self.user, self._row = user, None
        if user is not None:
            self._row = int(table.user_index([user])[0])

    def scores(self, items: Ints, ratings: Vector) -> Vector:
        """Return a score of each item of the table; those of an ordinal model are projections."""
        model, X = self._fit(items, ratings)
        if isinstance(model, OrdinalMixin):
            found = model.project(X)
            if found.ndim == 1:
                return found
        return np.asarray(model.predict(X), np.float64)

    def predictions(self, items: Ints, ratings: Vector) -> Vector:
        """Return what the model predicts for each item of the table."""
        model, X = self._fit(items, ratings)
        return np.asarray(model.predict(X), np.float64)

    def _fit(self, items: Ints, ratings: Vector) -> tuple[Any, Any]:
        if len(ratings) < 2 or (ratings == ratings[0]).all():
            name = type(self.estimator).__name__
            raise ValueError(
                f"{name} needs two different ratings to learn from: rate more items, or leave "
                "estimator out"
            )
        table = self.table
        shared = np.bincount(table.by_item[items].indices, minlength=table.n_users)
        if self._row is not None:
            shared[self._row] = 0
        order = np.argsort(-shared, kind="stable")[:_RATERS]
        raters = table.users[np.sort(order[shared[order] > 0])]
        if not len(raters):
            raise ValueError("nobody else has rated any of these items: rate others")
        X, _ = table.features_for(self.user, table.items, raters=raters)
        return clone(self.estimator).fit(X[items], ratings), X


class TasteRanker:
    r"""One person: rates items, and has a ranking of all of them at once.

    `TasteModel.person` makes one, of a person of the table or of a new one. Nothing is trained
    again: the person's scores are a ridge on the kernel between items that everyone's ratings have
    taught, with the person's ratings, preferences and choice of items as its rows. It is solved
    whenever something is asked.

    Notes
    -----
    With n ratings and N items a ranking costs a Cholesky factor of n + 20 rows, :math:`n^3/3`, and
    2 n N for the scores; the standard deviations of k items :math:`n^2 k + n^3`. A person keeps
    16 bytes for each rating.

    A single rating may be that of a generous person or of a good item: it tells about the order
    only by which item was rated. Two ratings, or a preference, tell more.

    Each change puts a new record in the place of the old one: questions asked from other threads
    meanwhile are answered from one or the other. Two threads that change the same person at once
    may lose one of the changes.

    With up to some hundred ratings the solves are small, and threads of BLAS slow them down. How
    many there are is a setting of the whole process, so it is left alone: a server sets
    ``OMP_NUM_THREADS=1``, or calls `threadpoolctl.threadpool_limits` once.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.recommend import RatingTable, TasteModel
    >>> sweet = np.array([2, 1, 0, -1, -2])  # how sweet these are; people differ in what they like
    >>> drinks = ["cocoa", "cola", "milk", "tea", "bitters"]
    >>> likes = np.linspace(-1, 1, 40)
    >>> ratings = np.rint(3 + np.outer(likes, sweet)).ravel()
    >>> table = RatingTable.from_arrays(np.repeat(np.arange(40), 5), drinks * 40, ratings)
    >>> model = TasteModel(noise=1.0).fit(table)
    >>> person = model.person()
    >>> person.rate("cocoa", 5).rate("milk", 3).ranking().order
    array(['cola', 'tea', 'bitters'], dtype=object)
    >>> person.rate("cocoa", 1).ranking().order
    array(['bitters', 'tea', 'cola'], dtype=object)
    >>> person.forget("cocoa").prefer("cola", "tea").ranking(1).order
    array(['cocoa'], dtype=object)
    """

    def __init__(
        self,
        catalogue: Catalogue,
        evidence: Evidence | None = None,
        personal: PersonalModel | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._said = Evidence.of(np.arange(0), np.zeros(0)) if evidence is None else evidence
        self._personal = personal

    # What the person says

    def rate(self, item: Any, rating: float | None = None) -> Self:
        """Rate an item, or change its rating.

        Parameters
        ----------
        item : object
            The id of an item of the table.
        rating : float
            A number on the table's scale. For a table without ratings, leave it out: the person
            takes the item.

        Returns
        -------
        TasteRanker
            This person.
        """
        place = self._catalogue.ids.find_one(item, "item")
        value = self._check_rating(rating)
        said = self._said
        others = said.items != place
        items = np.append(said.items[others], place)
        self._said = replace(said, items=items, ratings=np.append(said.ratings[others], value))
        return self

    def prefer(self, better: Any, worse: Any) -> Self:
        """Say that one item is better than another, without a rating of either.

        It counts as one more row of the least-squares problem: the difference of the two scores,
        with the mean and the noise that such an answer has for a person of whom nothing else is
        known. The last word about a pair counts.

        Parameters
        ----------
        better, worse : object
            Ids of two items of the table.

        Returns
        -------
        TasteRanker
            This person.
        """
        self._need_taste("prefer")
        pair = [
            self._catalogue.ids.find_one(better, "better"),
            self._catalogue.ids.find_one(worse, "worse"),
        ]
        if pair[0] == pair[1]:
            raise ValueError(
                f"better={shortened(better)} and worse={shortened(worse)} are the same item: give "
                "two"
            )
        if self._personal is not None:
            raise ValueError("a person with an estimator has no preferences: leave estimator out")
        said = self._said
        others = said.pairs[(np.sort(said.pairs, axis=1) != np.sort(pair)).any(axis=1)]
        self._said = replace(said, pairs=np.vstack([others, np.array([pair])]))
        return self

    def forget(self, item: Any) -> Self:
        """Take back the rating of an item and all preferences with it.

        Parameters
        ----------
        item : object
            The id of an item that was rated or compared.

        Returns
        -------
        TasteRanker
            This person.
        """
        place = self._catalogue.ids.find_one(item, "item")
        said = self._said
        rated, compared = said.items == place, (said.pairs == place).any(axis=1)
        if not rated.any() and not compared.any():
            raise ValueError(
                f"item={shortened(item)} was neither rated nor compared, so there is nothing to "
                f"forget: {len(said.items)} items are rated"
            )
        self._said = Evidence(said.items[~rated], said.ratings[~rated], said.pairs[~compared])
        return self

    @property
    def ratings(self) -> Mapping[Any, float]:
        """The ratings by item, as given; read-only, and as of now."""
        said = self._said
        ids = self._catalogue.ids.values[said.items].tolist()
        return MappingProxyType(dict(zip(ids, said.ratings.tolist(), strict=True)))

    @property
    def preferences(self) -> list[tuple[Any, Any]]:
        """The preferences as pairs (better, worse)."""
        ids = self._catalogue.ids.values
        return [tuple(ids[pair].tolist()) for pair in self._said.pairs]

    # What the person asks

    def predict(self, items: ArrayLike | None = None) -> tuple[Vector, Vector]:
        """Return what the person would rate items, and how far off that may be.

        Parameters
        ----------
        items : array-like of shape (k,), default=None
            Ids of items. None: all of the table, in its order.

        Returns
        -------
        mean : ndarray of shape (k,)
            The ratings to expect, within the scale.
        sd : ndarray of shape (k,)
            Standard deviations of ratings from these. NaN for a person with an estimator, which
            doesn't tell.
        """
        places = self._places(items)
        low, high = self._catalogue.scale
        if self._personal is not None:
            found = self._personal.predictions(self._said.items, self._said.ratings)[places]
            return found, np.full(len(places), np.nan)
        fold = self._fold("predict")
        return np.clip(fold.scores()[places], low, high), fold.deviations(places)

    def ranking(
        self,
        k: int | None = None,
        *,
        flip: bool = False,
        rated: bool = False,
        by: str = "rating",
        gap: bool = False,
    ) -> TasteRanking:
        """Rank the items.

        Parameters
        ----------
        k : int, default=None
            How many items to return. None: all.
        flip : bool, default=False
            Whether the worst come first.
        rated : bool, default=False
            Whether items that the person has rated are ranked, too.
        by : {"rating", "choice"}, default="rating"
            The question: how would I grade it, or what would I take next? Many an item that its few
            takers love is graded high and taken by nobody.
        gap : bool, default=False
            Whether to end before the largest gap between the scores of the first k, as
            `rankwise.magnitude.cut_at_gap` does.

        Returns
        -------
        TasteRanking
        """
        most = None if k is None else check_whole(k, "k")
        check_word(by, "by", ("rating", "choice"))
        flip, rated, gap = (
            check_flag(value, name)
            for value, name in ((flip, "flip"), (rated, "rated"), (gap, "gap"))
        )
        said, ids, deviations = self._said, self._catalogue.ids.values, None
        if by == "choice":
            scores = standard = self._choice_scores(said)
        elif self._personal is not None:
            scores = standard = self._personal.scores(said.items, said.ratings)
        else:
            taste = self._need_taste("ranking(by='rating')")
            standard = fold_in(taste, said).standard_scores()

            # Solved again when asked for: what a solution holds is too much to keep.
            def deviations() -> Vector:
                return fold_in(taste, said).deviations(order)

            scores = taste.to_ratings(standard)
        keys = standard.copy() if flip else -standard
        if not rated:
            keys[said.items] = np.inf  # behind all others, and cut off
        ranked = len(keys) - (0 if rated else len(said.items))
        order = smallest(keys, ranked if most is None else min(ranked, most + gap))
        if gap and len(order):
            order = order[: cut_at_gap(-keys[order], max_keep=most)]
        positions = np.zeros(len(scores), np.int64)
        positions[order] = np.arange(1, len(order) + 1)
        return TasteRanking(ids[order], positions, scores=scores[order], deviations=deviations)

    def explain(self, item: Any) -> Explanation:
        """Return why an item has its score.

        The score is linear in the ratings: the weight of a rating says by how much the score would
        rise if the rating were 1 higher. Coefficients of the kernel would not explain it: they are
        large and cancel.

        Parameters
        ----------
        item : object
            The id of an item of the table.

        Returns
        -------
        Explanation
            In numbers; ``str()`` of it is a sentence.
        """
        if self._personal is not None:
            raise ValueError("a person with an estimator has no explanation: leave estimator out")
        place = self._catalogue.ids.find_one(item, "item")
        return explanation(self._fold("explain"), place, self._catalogue.ids.values)

    def suggest(self, n: int = 1, *, skip: Iterable[Any] = ()) -> list[Any]:
        """Return items to ask this person about next, the most telling first.

        The best question is the one whose answer, whatever it is, takes most uncertainty from the
        order of the other items, times the chance that the person knows the item: the share of
        people who do.

        Parameters
        ----------
        n : int, default=1
            How many questions; fewer if fewer items are left. Each takes into account that those
            before it will have been answered.
        skip : iterable of ids, default=()
            Items not to ask about, such as those that the person was asked about and doesn't know.

        Returns
        -------
        list
            Ids of items that are not rated.
        """
        most = check_whole(n, "n")
        fold = self._fold("suggest")
        ids = self._catalogue.ids
        if isinstance(skip, str | bytes) or not isinstance(skip, Iterable):
            raise ValueError(f"skip={shortened(skip)} must be a list of ids")
        left = np.ones(len(ids), bool)
        left[[ids.find_one(item, "skip") for item in skip]] = False
        left[fold.evidence.items] = False
        pool = np.flatnonzero(left)
        found = best_questions(fold, pool, self._catalogue.known[pool], most)
        return ids.values[found].tolist()

    def __repr__(self) -> str:
        n, p = len(self._said.items), len(self._said.pairs)
        return f"TasteRanker({n} ratings, {p} preferences, {len(self._catalogue.ids)} items)"

    # What is behind it

    def _check_rating(self, rating: Any) -> float:
        low, high = self._catalogue.scale
        if rating is None and self._catalogue.taste is None:
            return high
        if not (is_finite_number(rating) and low <= rating <= high):
            raise ValueError(
                f"rating={shortened(rating)} must be a number from {low:g} to {high:g}"
            )
        return float(rating)

    def _need_taste(self, what: str) -> Taste:
        if self._catalogue.taste is None:
            raise ValueError(
                f"{what} needs ratings, but the table has only choices: use ranking(by='choice')"
            )
        return self._catalogue.taste

    def _fold(self, what: str) -> Fold:
        return fold_in(self._need_taste(what), self._said)

    def _places(self, items: ArrayLike | None) -> Ints:
        if items is None:
            return np.arange(len(self._catalogue.ids))
        return self._catalogue.ids.find(items, "items")

    def _choice_scores(self, said: Evidence) -> Vector:
        """Return the scores of the choice model, weighed by the ratings to expect."""
        catalogue = self._catalogue
        if catalogue.choice is None:
            raise ValueError("by='choice' needs a model that was fitted with choice=True")
        scores = catalogue.choice.scores(said.items)
        taste = catalogue.taste
        if taste is None:
            return scores
        scale = taste.to_standard(np.array(catalogue.scale))
        rating = np.clip(fold_in(taste, said).standard_scores(), *scale)
        return weigh_by_rating(scores, rating * (taste.unit / (catalogue.sd or 1.0)))


def person_of(
    catalogue: Catalogue, table: RatingTable, user: Any = None, estimator: Any = None
) -> TasteRanker:
    """Return a person of the table with the ratings given there, or a new one."""
    personal = None if estimator is None else PersonalModel(table, estimator, user)
    if user is None:
        return TasteRanker(catalogue, None, personal)
    row = table.matrix[[int(table.user_index([user])[0])]]
    return TasteRanker(catalogue, Evidence.of(row.indices, row.data), personal)


def smallest(keys: Vector, k: int) -> Ints:
    """Return the positions of the k smallest keys, in their order, equal ones as they come."""
    if 2 * k >= len(keys):
        return np.argsort(keys, kind="stable")[:k]
    near = np.flatnonzero(keys <= np.partition(keys, k - 1)[k - 1])
    return near[np.argsort(keys[near], kind="stable")][:k]
