"""What goes over the wire."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

MethodName = Literal["taste", "prank", "prank_paper", "oap", "mprank", "rankboost"]
ItemId = Annotated[str, Field(min_length=1, max_length=500)]


class Problem(BaseModel):
    """What went wrong, in a sentence."""

    detail: str


class Item(BaseModel):
    """An item, with the visitor's rating."""

    id: str
    title: str
    year: int | None
    genres: list[str]
    rating: float | None


class ItemPage(BaseModel):
    """A page of items, most rated first."""

    items: list[Item]
    page: int
    pages: int
    total: int
    genres: list[str]


class Rated(BaseModel):
    """An item and its rating."""

    item: Item
    rating: float


class ScaleOfRatings(BaseModel):
    """The ratings that one may give."""

    low: float
    high: float
    step: float


class MethodInfo(BaseModel):
    """A way to learn."""

    name: MethodName
    title: str
    sentence: str
    source: str


class Me(BaseModel):
    """The visitor."""

    ratings: list[Rated]
    scale: ScaleOfRatings
    method: MethodName
    methods: list[MethodInfo]
    learned: bool
    version: int
    preferences: int


class NewRating(BaseModel):
    """A rating to give."""

    model_config = ConfigDict(extra="forbid", strict=True)
    rating: FiniteFloat


class RatingGiven(BaseModel):
    """A rating that was given, and what was predicted before the item was first rated."""

    item: str
    rating: float
    predicted: float | None
    version: int


class Version(BaseModel):
    """The visitor's new version."""

    version: int


class Learn(BaseModel):
    """The method to learn by."""

    model_config = ConfigDict(extra="forbid", strict=True)
    method: MethodName


class Learned(BaseModel):
    """What was learned by, and how long it took."""

    method: MethodName
    learned: bool
    version: int
    seconds: float


class Entry(BaseModel):
    """An entry of a ranking."""

    position: int
    item: Item
    score: float
    rank: float
    sd: float | None


class RankingPage(BaseModel):
    """A ranking: scores, grades, how sure they are, and where the list could end."""

    set: Literal["rated", "unseen"]
    flip: bool
    method: MethodName
    version: int
    entries: list[Entry]
    cut: int | None
    thresholds: list[float]
    levels: list[float]
    direction: list[float]
    total: int


class Part(BaseModel):
    """What one rating adds to a score."""

    item: Item
    rating: float
    contribution: float


class Explanation(BaseModel):
    """Why an item has its score: ``mean``, ``parts`` and ``rest`` add up to it."""

    item: Item
    score: float
    mean: float
    parts: list[Part]
    rest: float
    sentence: str


class Suggestions(BaseModel):
    """Items to rate next, those that tell most first."""

    items: list[Item]


class Round(BaseModel):
    """A rating, and what was predicted before it was given."""

    item: Item
    rating: float
    predicted: float | None
    error: float | None


class Progress(BaseModel):
    """All rounds, and the mean absolute error up to each."""

    rounds: list[Round]
    loss: list[float | None]


class Compare(BaseModel):
    """Two items: which one is better."""

    model_config = ConfigDict(extra="forbid", strict=True)
    better: ItemId
    worse: ItemId


class ExportedRating(BaseModel):
    """A stored rating."""

    item: str
    title: str | None
    rating: float
    predicted: float | None


class ExportedComparison(BaseModel):
    """A stored comparison."""

    better: str
    worse: str


class Export(BaseModel):
    """All that is stored of the visitor."""

    created: str | None
    method: MethodName
    learned: bool
    version: int
    ratings: list[ExportedRating]
    comparisons: list[ExportedComparison]


class Forgotten(BaseModel):
    """That the visitor was forgotten."""

    forgotten: bool


class Status(BaseModel):
    """The state of the service."""

    status: str
