"""Bodies of requests and answers of the API."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat

from rankwise.web._items import Item, Scale
from rankwise.web._methods import Method, MethodName

ItemId = Annotated[str, Field(min_length=1, max_length=500)]


class Problem(BaseModel):
    """The error, in a sentence."""

    detail: str


class ItemPage(BaseModel):
    """A page of items; without a search the most rated come first."""

    items: list[Item]
    page: int
    pages: int
    total: int
    genres: list[str]


class Rated(BaseModel):
    """An item and its rating."""

    item: Item
    rating: float


class Me(BaseModel):
    """The visitor."""

    ratings: list[Rated]
    scale: Scale
    method: MethodName
    methods: list[Method]
    learned: bool
    version: int
    preferences: int


class Version(BaseModel):
    """The visitor's new version."""

    version: int


class NewRating(BaseModel):
    """A rating to give."""

    model_config = ConfigDict(extra="forbid", strict=True)
    rating: FiniteFloat


class RatingGiven(Version):
    """A rating that was given, and what was predicted before the item was first rated."""

    item: str
    rating: float
    predicted: float | None


class Learn(BaseModel):
    """The method to learn by."""

    model_config = ConfigDict(extra="forbid", strict=True)
    method: MethodName


class Learned(Version):
    """The method that was learned by, and the seconds that it took."""

    method: MethodName
    learned: bool
    seconds: float


class Entry(BaseModel):
    """An entry of a ranking. ``expected`` is the score on the scale of ratings."""

    position: int
    item: Item
    score: float
    rank: float
    expected: float
    sd: float | None


class RankingPage(Version):
    """A ranking: scores, grades, how sure they are, and where the list could end."""

    set: Literal["rated", "unseen"]
    flip: bool
    method: MethodName
    entries: list[Entry]
    cut: int | None
    thresholds: list[float]
    levels: list[float]
    direction: list[float]
    total: int


class Part(Rated):
    """The contribution of one rating to a score."""

    contribution: float


class Explanation(BaseModel):
    """Why an item has its score: ``mean``, ``parts`` and ``rest`` add up to it."""

    item: Item
    score: float
    expected: float
    mean: float
    parts: list[Part]
    rest: float
    sentence: str


class Suggestions(BaseModel):
    """Items to rate next, the most informative first."""

    items: list[Item]


class Round(Rated):
    """A rating, and what was predicted before it was given."""

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


class Export(Version):
    """All that is stored of the visitor."""

    created: AwareDatetime | None
    method: MethodName
    learned: bool
    ratings: list[ExportedRating]
    comparisons: list[Compare]


class Forgotten(BaseModel):
    """Whether the visitor was forgotten, and whether the bytes are gone from the files, too."""

    forgotten: bool
    erased: bool
