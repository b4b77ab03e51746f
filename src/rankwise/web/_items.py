"""The items that are served: their table of ratings, titles, years and genres, and a search."""

import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets import load_movies, read_ratings
from rankwise.io import read_table, scan_table
from rankwise.recommend import RatingTable

if TYPE_CHECKING:
    from pandas import DataFrame

PAGE = 24

# Names that columns of ratings have in the world.
_NAMES = {
    "user": {"user", "userid", "user_id"},
    "item": {"item", "itemid", "item_id", "movieid", "movie_id"},
    "rating": {"rating", "score", "stars"},
    "title": {"title", "name"},
    "year": {"year"},
    "genres": {"genres", "genre"},
}
_ARTICLES = "The|A|An|La|Le|Les|L'|Il|El|Los|Las|Lo|Un|Une|Der|Die|Das|Ein|Eine|Det|Den"
_ARTICLE = re.compile(rf"(.+), ({_ARTICLES})((?: \(.*\))?)")
_MOST_LEVELS = 21
_USUAL_LEVELS = 11


@dataclass(frozen=True)
class Scale:
    """The ratings that one may give: from low to high in steps."""

    low: float
    high: float
    step: float

    @property
    def levels(self) -> NDArray[np.float64]:
        """All of them, ascending."""
        n = round((self.high - self.low) / self.step)
        return np.linspace(self.low, self.high, n + 1)

    def holds(self, rating: float) -> bool:
        """Say whether a rating is one of them."""
        place = (rating - self.low) / self.step
        return self.low <= rating <= self.high and abs(place - round(place)) < 1e-9

    @classmethod
    def of(cls, ratings: NDArray[np.float64], scale: tuple[float, float]) -> "Scale":
        """Return the scale of given ratings; ten steps if these follow none."""
        low, high = scale
        distinct = np.unique(ratings)
        if high <= low:
            return cls(low - 1.0, high + 1.0, 1.0)
        if len(distinct) <= _MOST_LEVELS:
            step = float(np.diff(np.union1d(distinct, scale)).min())
            places = (distinct - low) / step
            n = round((high - low) / step)
            if n < _MOST_LEVELS and np.allclose(places, np.round(places), atol=1e-9):
                return cls(low, high, step)
        return cls(low, high, (high - low) / (_USUAL_LEVELS - 1))


@dataclass(frozen=True)
class Items:
    """What is served.

    Attributes
    ----------
    table : RatingTable
        Everyone's ratings.
    keys, titles : list of str
        The ids as texts, and the titles, in the order of ``table.items``.
    years : list of int or None
        When they came out.
    genres : list of list of str
        Of each item.
    scale : Scale
        The ratings that one may give.
    """

    table: RatingTable
    keys: list[str]
    titles: list[str]
    years: list[int | None]
    genres: list[list[str]]
    scale: Scale
    place_of: dict[str, int] = field(init=False)
    all_genres: list[str] = field(init=False)
    _ordered: list[tuple[int, str, list[str]]] = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "place_of", {key: place for place, key in enumerate(self.keys)})
        put(self, "all_genres", sorted({genre for genres in self.genres for genre in genres}))
        counts = np.bincount(self.table.matrix.indices, minlength=len(self.keys))
        order = np.argsort(-counts, kind="stable").tolist()
        texts = [_plain(f"{self.titles[i]} {self.years[i] or ''}") for i in order]
        genres = [self.genres[i] for i in order]
        put(self, "_ordered", list(zip(order, texts, genres, strict=True)))

    def __len__(self) -> int:
        return len(self.keys)

    def search(self, words: str, genre: str) -> list[int]:
        """Return the places of items that hold all words and have a genre, most rated first."""
        wanted = _plain(words).split()
        return [
            place
            for place, text, genres in self._ordered
            if (not genre or genre in genres) and all(word in text for word in wanted)
        ]

    def shown(self, place: int, rating: float | None) -> dict[str, Any]:
        """Return an item as the API shows it, with the visitor's rating."""
        return {
            "id": self.keys[place],
            "title": self.titles[place],
            "year": self.years[place],
            "genres": self.genres[place],
            "rating": rating,
        }


def load_items(data: str) -> Items:
    """Read the embedded films, or a file of ratings.

    Raises
    ------
    ValueError
        If the file can't be read, or has no two different ratings.
    """
    frame = load_movies() if data == "movies" else _read(Path(data))
    table = RatingTable.from_frame(frame, duplicates="last")
    if table.scale[0] == table.scale[1]:
        raise ValueError(f"data={data!r} has one rating only, {table.scale[0]:g}: nothing to learn")
    first = frame.drop_duplicates("item").set_index("item").loc[table.items.tolist()]
    keys = [str(key) for key in table.items.tolist()]
    titles = _texts(first, "title")
    return Items(
        table,
        keys,
        [_readable(title) if title else key for title, key in zip(titles, keys, strict=True)],
        [
            int(text) if text.isascii() and text.isdigit() else None
            for text in _texts(first, "year")
        ],
        [_genres(text) for text in _texts(first, "genres")],
        Scale.of(table.matrix.data, table.scale),
    )


def _read(path: Path) -> "DataFrame":
    """Read a file of ratings, with its titles if its header names them."""
    if not path.is_file():
        raise ValueError(f"data={str(path)!r} is no file: name a file of ratings, or movies")
    first = next(scan_table(path, rows=1))
    names = [
        next((ours for ours, known in _NAMES.items() if name.lower() in known), name)
        for name in first.columns
    ]
    if not {"user", "item", "rating"} <= {*names} or len({*names}) < len(names):
        return read_ratings(path)
    source = first.attrs["source"]
    if source["format"] != "csv":
        return read_table(path).set_axis(names, axis=1)
    # ids keep the zeros that they begin with
    return read_ratings(path, columns=names, header=True, separator=source["sep"])


def _texts(frame: "DataFrame", name: str) -> list[str]:
    """Return a column as texts, "" for what is missing."""
    if name not in frame:
        return [""] * len(frame)
    column = frame[name]
    missing = column.isna().tolist()
    values = column.tolist()
    return ["" if m else str(v).strip() for v, m in zip(values, missing, strict=True)]


def _genres(text: str) -> list[str]:
    return [g.strip() for g in text.split("|") if g.strip() and not g.startswith("(no ")]


def _readable(title: str) -> str:
    """Put an article that stands behind a title before it."""
    found = _ARTICLE.fullmatch(title)
    if not found:
        return title
    name, article, more = found.groups()
    return f"{article}{'' if article[-1] == chr(39) else ' '}{name}{more}"


def _plain(text: str) -> str:
    """Return a text in small letters without accents."""
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()
