"""Settings of the service: data, database and limits."""

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

_VARIABLE = "RANKWISE_WEB"
_LEAST = {
    "rate_visitor": 0,
    "rate_address": 0,
    "max_body": 1,
    "max_ratings": 1,
    "max_comparisons": 1,
    "cached_people": 1,
}


def data_folder() -> Path:
    """Return the folder where programs of this user keep their data, for rankwise."""
    home = Path.home()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or home / ".local" / "share"
    return Path(base) / "rankwise"


@dataclass(frozen=True)
class Settings:
    """Settings of the service.

    Parameters
    ----------
    data : str, default="movies"
        A file of ratings, or ``"movies"`` for the films that the extra ``data`` carries.
    database : str, default=None
        A URL of SQLAlchemy for SQLite or PostgreSQL, or the path of an SQLite file. None: a file in
        the user's data folder.
    folder : str, default=None
        Where learned models are kept, and the key if the database is not a file. None: the user's
        data folder.
    rate_visitor, rate_address : float, default=20, 200
        Requests a second of one visitor and of one address, counted by each worker; three seconds'
        worth may come at once. 0: any number.
    max_body : int, default=65536
        Bytes of a request's body, and of its headers.
    max_ratings, max_comparisons : int, default=1000, 500
        Rows of one visitor.
    cached_people : int, default=500
        People whose scores are kept in memory, by each worker.
    items : str, default=None
        A file with a row for each item: its id and what is shown of it, such as ``title``,
        ``author``, ``image``, ``url``, ``description``, ``year`` and ``genre``. None: the columns
        of ``data``.
    title : str, default=None
        The heading of the page. None: a question that has the noun.
    noun : str, default=None
        What one item and several are called, such as ``"book,books"``. None: film for the films,
        else item.

    Examples
    --------
    >>> from rankwise.web import Settings
    >>> Settings(database="sqlite:///taste.sqlite").max_ratings
    1000
    """

    data: str = "movies"
    database: str | None = None
    folder: str | None = None
    rate_visitor: float = 20.0
    rate_address: float = 200.0
    max_body: int = 65_536
    max_ratings: int = 1_000
    max_comparisons: int = 500
    cached_people: int = 500
    items: str | None = None
    title: str | None = None
    noun: str | None = None

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if not getattr(self, name) >= least:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is invalid: expected {least} or more"
                )
        if len(self.nouns) != 2 or not all(self.nouns):
            raise ValueError(
                f"noun={self.noun!r} is invalid: expected a word for one and a word for several, "
                "such as 'book,books'"
            )

    @property
    def nouns(self) -> tuple[str, ...]:
        """The words for one item and for several."""
        usual = "film,films" if self.data == "movies" else "item,items"
        return tuple(word.strip() for word in (self.noun or usual).split(","))

    @property
    def heading(self) -> str:
        """The title of the page."""
        return self.title or f"Which {self.nouns[1]} do you like?"

    @property
    def home(self) -> Path:
        """The folder of models, and of what else is kept in files."""
        return data_folder() if self.folder is None else Path(self.folder)


def hand_over(settings: Settings) -> None:
    """Give settings to the processes that are started from now on."""
    os.environ[_VARIABLE] = json.dumps(asdict(settings))


def handed_over() -> Settings:
    """Return the settings that were given to this process, or the defaults."""
    return Settings(**json.loads(os.environ.get(_VARIABLE) or "{}"))
