"""The items that are served: ratings, scale, what is shown of each item, and a search."""

import importlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from sklearn.feature_extraction.text import CountVectorizer

from rankwise.datasets import load_movies, read_ratings
from rankwise.io import read_table, scan_table
from rankwise.recommend import RatingTable

if TYPE_CHECKING:
    from pandas import DataFrame

PAGE = 24

# Usual names of columns.
_NAMES = {
    "user": {"user", "userid", "user_id", "user-id", "reader", "viewer", "person"},
    "item": {"item", "itemid", "item_id", "movieid", "movie_id", "isbn", "book_id"},
    "rating": {"rating", "score", "stars"},
    "title": {"title", "name"},
    "author": {"author", "authors", "director", "artist"},
    "year": {"year"},
    "genres": {"genres", "genre"},
    "description": {"description", "summary"},
    "image": {"image", "cover", "image_url"},
    "url": {"url", "link"},
}
_ARTICLES = "The|A|An|La|Le|Les|L'|Il|El|Los|Las|Lo|Un|Une|Der|Die|Das|Ein|Eine|Det|Den"
_ARTICLE = re.compile(rf"(.+), ({_ARTICLES})((?: \(.*\))?)")
# A host of an address, which also stands in the Content-Security-Policy.
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]+)?")
_MOST_LEVELS = 21
_USUAL_LEVELS = 11
# Words are alike from this coefficient of Dice on, and if they are nearly as alike as the best.
_ALIKE, _NEARLY = 0.45, 0.2


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

    def snap(self, rating: float) -> float | None:
        """Return the level that a rating is up to rounding, None if there is none."""
        place = (min(max(rating, self.low - 1.0), self.high + 1.0) - self.low) / self.step
        level = float(f"{self.low + round(place) * self.step:.12g}")
        if abs(rating - level) > 1e-9 * self.step or not self.low <= level <= self.high:
            return None
        return level

    @classmethod
    def of(cls, ratings: NDArray[np.float64], scale: tuple[float, float]) -> "Scale":
        """Return the scale of given ratings; ten steps if these follow none."""
        low, high = scale
        distinct = np.unique(ratings)
        if len(distinct) <= _MOST_LEVELS:
            step = float(np.diff(np.union1d(distinct, scale)).min())
            places = (distinct - low) / step
            n = round((high - low) / step)
            if n < _MOST_LEVELS and np.allclose(places, np.round(places), atol=1e-9):
                return cls(low, high, step)
        return cls(low, high, (high - low) / (_USUAL_LEVELS - 1))


class Item(BaseModel):
    """An item, with the visitor's rating."""

    id: str
    title: str
    author: str | None
    year: int | None
    genres: list[str]
    description: str | None
    image: str | None
    url: str | None
    rating: float | None = None


class Items:
    """The items that are served.

    Parameters
    ----------
    table : RatingTable
        Everyone's ratings.
    shown : list of Item
        What is shown, in the order of ``table.items``.
    scale : Scale
        The ratings that one may give.
    """

    def __init__(self, table: RatingTable, shown: list[Item], scale: Scale) -> None:
        self.table, self.all, self.scale = table, shown, scale
        counts = np.bincount(table.matrix.indices, minlength=len(shown))
        images = [urlsplit(item.image) for item in shown if item.image]
        self.place_of = {item.id: place for place, item in enumerate(shown)}
        self.genres = sorted({genre for item in shown for genre in item.genres})
        self.image_hosts = sorted({f"{url.scheme}://{url.netloc}" for url in images})
        self._by_count = np.argsort(-counts, kind="stable").tolist()
        self._texts = [
            _plain(f"{item.title} {item.author or ''} {item.year or ''}") for item in shown
        ]
        self._words = Words(self._texts)

    def __len__(self) -> int:
        return len(self.all)

    def search(self, text: str, genre: str) -> list[int]:
        """Return the places of items that hold all words and have a genre, most rated first.

        If there are none, a word stands for all words that are spelled nearly so.
        """
        words = _plain(text).split()
        return self._holding([[word] for word in words], genre) or (
            self._holding([self._words.like(word) for word in words], genre) if words else []
        )

    def _holding(self, asked: list[list[str]], genre: str) -> list[int]:
        """Return the places of items that hold a word of each list."""
        return [
            place
            for place in self._by_count
            if (not genre or genre in self.all[place].genres)
            and all(any(word in self._texts[place] for word in words) for words in asked)
        ]


class Words:
    """The words of all titles, by the pairs and triples of their letters.

    Parameters
    ----------
    texts : list of str
        The titles, in small letters.
    """

    def __init__(self, texts: list[str]) -> None:
        words = {word for text in texts for word in re.findall(r"\w+", text)}
        self._words = sorted(words) or ["-"]
        self._letters = CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), binary=True)
        self._grams = self._letters.fit_transform(self._words)
        self._counts = self._grams.sum(axis=1).A1

    def like(self, word: str) -> list[str]:
        """Return the words that are most like a word, if any are."""
        count = len({*self._letters.build_analyzer()(word)})
        common = (self._grams @ self._letters.transform([word]).T).toarray()[:, 0]
        alike = 2.0 * common / (self._counts + count)
        least = max(_ALIKE, float(alike.max()) - _NEARLY)
        return [self._words[place] for place in np.flatnonzero(alike >= least)]


def load_items(data: str, items: str | None = None) -> Items:
    """Read the embedded films, or a file of ratings, with what another file says of the items.

    Raises
    ------
    ValueError
        If a file can't be read, or there are no two different ratings.
    """
    frame = load_movies() if data == "movies" else _read(data)
    table = RatingTable.from_frame(frame, duplicates="last")
    if table.scale[0] == table.scale[1]:
        raise ValueError(f"data={data!r} has one rating only, {table.scale[0]:g}: nothing to learn")
    named = frame if items is None else _read_items(items)
    ids = [str(item) for item in table.items.tolist()]
    # in the path of an address a dot alone would be a folder
    keys = [f"'{name}'" if name in {".", ".."} else name for name in ids]
    if len({*keys}) < len(keys):
        raise ValueError(f"data={data!r} has item ids that become equal in a URL: rename them")
    shown = named.set_index(named["item"].astype(str))
    shown = shown[~shown.index.duplicated()].reindex(ids)
    column = {name: _texts(shown, name) for name in _NAMES}
    found = [
        Item(
            id=key,
            title=_readable(column["title"][i] or ids[i]),
            author=column["author"][i] or None,
            year=int(column["year"][i]) if re.fullmatch("[0-9]+", column["year"][i]) else None,
            genres=_genres(column["genres"][i]),
            description=column["description"][i] or None,
            image=_address(column["image"][i]),
            url=_address(column["url"][i]),
        )
        for i, key in enumerate(keys)
    ]
    return Items(table, found, Scale.of(table.matrix.data, table.scale))


def _read(data: str) -> "DataFrame":
    """Read a file of ratings, and the other columns that its header names."""
    path, names, source = _header(data, "data", "a file of ratings, or movies")
    if not {"user", "item", "rating"} <= {*names}:
        return read_ratings(path)
    if source["format"] != "csv":
        return read_table(path).set_axis(names, axis=1)
    # ids keep the zeros that they begin with
    return read_ratings(path, columns=names, header=True, separator=source["sep"])


def _read_items(items: str) -> "DataFrame":
    """Read a file of items, one a row."""
    path, names, source = _header(items, "items", "a file with a row for each item")
    if "item" not in names:
        raise ValueError(f"items={items!r} has no column item: its header has {names}")
    if source["format"] != "csv":
        return read_table(path).set_axis(names, axis=1)
    pandas = importlib.import_module("pandas")
    frame: DataFrame = pandas.read_csv(
        path, sep=source["sep"], encoding=source["encoding"], names=names, header=0, dtype=str
    )
    return frame


def _header(file: str, argument: str, expected: str) -> tuple[Path, list[str], dict[str, Any]]:
    """Return the path of a file, its columns, by our names where known, and how it is written."""
    path = Path(file)
    if not path.is_file():
        raise ValueError(f"{argument}={file!r} is not a file: expected {expected}")
    first = next(scan_table(path, rows=1))
    names = [
        next((ours for ours, known in _NAMES.items() if name.lower() in known), name)
        for name in map(str, first.columns)
    ]
    unique = len({*names}) == len(names)
    return path, names if unique else list(first.columns), first.attrs["source"]


def _texts(frame: "DataFrame", name: str) -> list[str]:
    """Return a column as strings, "" for what is missing."""
    if name not in frame:
        return [""] * len(frame)
    column = frame[name]
    return ["" if m else str(v).strip() for v, m in zip(column, column.isna(), strict=True)]


def _address(text: str) -> str | None:
    """Return the address of a picture or a page; other kinds, such as scripts, are left out."""
    url = urlsplit(text)
    return text if url.scheme in {"http", "https"} and _HOST.fullmatch(url.netloc) else None


def _genres(text: str) -> list[str]:
    return [g.strip() for g in text.split("|") if g.strip() and not g.startswith("(no ")]


def _readable(title: str) -> str:
    """Move an article from the end of a title to its beginning."""
    found = _ARTICLE.fullmatch(title)
    if not found:
        return title
    name, article, more = found.groups()
    return f"{article}{'' if article[-1] == chr(39) else ' '}{name}{more}"


def _plain(text: str) -> str:
    """Return a text in small letters without accents."""
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()
