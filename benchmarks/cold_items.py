"""Items with few ratings: errors by how many there are, with and without features (--data)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import load
from benchmarks.report import append, console, describe

Array = NDArray[Any]
BUCKETS = ((0, 0), (1, 2), (3, 5), (6, 10), (11, 50), (51, 10**9))


def films() -> Any:
    """Return the embedded films."""
    return load("rankwise.datasets.load_movies")()


def movielens() -> Any:
    """Return MovieLens-1M, from the folder that RANKWISE_DATA names, with genres and years."""
    import pandas as pd  # noqa: PLC0415

    folder = Path(os.environ["RANKWISE_DATA"]) / "ml-1m"
    names = ["item", "title", "genres"]
    options: dict[str, Any] = {"sep": "::", "engine": "python", "encoding": "latin-1"}
    movies = pd.read_csv(folder / "movies.dat", names=names, **options)
    movies["year"] = movies.title.str.extract(r"\((\d{4})\)")[0].astype(float)
    return load("rankwise.datasets.read_movielens")(folder).merge(movies, on="item")


def features(frame: Any, items: Array) -> Array:
    """Genres as 0 and 1, the age and its square, for each of the items."""
    rows = frame.drop_duplicates("item").set_index("item").loc[items]
    genres = rows.genres.str.get_dummies("|").to_numpy(float)
    year = rows.year.astype(float).fillna(rows.year.median()).to_numpy(float)
    age = np.clip((year.max() - year) / 30, 0, 2)
    return np.column_stack([genres, age, age * age])


def main(arguments: Sequence[str]) -> int:
    """Print the errors by the number of ratings that an item has."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cold_items", description=__doc__)
    parser.add_argument("--data", choices=["films", "movielens"], default="films")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    frame = films() if options.data == "films" else movielens()
    train, test = (
        load("rankwise.recommend.RatingTable")
        .from_frame(frame)
        .split(0.2, random_state=options.seed)
    )
    counts = np.bincount(train.matrix.indices, minlength=train.n_items)[test.matrix.indices]
    rows = np.repeat(np.arange(test.n_users), np.diff(test.matrix.indptr))
    for name, given in (("ratings only", None), ("genres, year", features(frame, train.items))):
        model = load("rankwise.recommend.TasteModel")(n_jobs=options.jobs)
        model.fit(train, item_features=given)
        scores = model.predict(test.users[rows], test.items[test.matrix.indices])
        squares = np.square(np.clip(scores, *train.scale) - test.matrix.data)
        errors = {
            f"{low}-{high}": float(np.sqrt(squares[(counts >= low) & (counts <= high)].mean()))
            for low, high in BUCKETS
        }
        errors["all"] = float(np.sqrt(squares.mean()))
        shown = "  ".join(f"{bucket} {error:.4f}" for bucket, error in errors.items())
        console.print(f"{name}: {shown}", highlight=False)
        append("cold_items", {"kind": "rows", **describe(), "features": name, **errors})
    return 0
