"""New people: misranking and coverage by ratings given; with --known, coverage for known people.

MovieLens and Jester are read from the folder that RANKWISE_DATA names, as ``ml-1m/ratings.dat``,
``ml-100k/u.data`` and ``jester/jester-data-1.zip``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.harness import load
from benchmarks.report import append, console, describe
from rankwise.metrics import pairwise_misranking_loss
from rankwise.recommend import RatingTable, TasteRanker

Array = NDArray[Any]
GIVEN = (0, 1, 3, 5, 10, 20, 50)
LEVELS = (0.5, 0.8, 0.9, 0.95)
FILES = {"ml-1m": "ratings.dat", "ml-100k": "u.data", "jester": "jester-data-1.zip"}
QUESTIONS = (0, 2, 4, 6, 8, 10)


class Stranger(NamedTuple):
    """The ratings of somebody whom the model has not seen: what may be told, and what is tested."""

    items: Array
    ratings: Array
    tested: Array
    truth: Array


def strangers(table: RatingTable, seed: int, least: int = 20) -> list[Stranger]:
    """Return the people of a table, a random quarter of their ratings kept for the test."""
    found = []
    for row in range(table.n_users):
        mine = slice(*table.matrix.indptr[row : row + 2].tolist())
        items, ratings = table.items[table.matrix.indices[mine]], table.matrix.data[mine]
        if len(items) >= least:
            order = np.random.default_rng([seed, row]).permutation(len(items))
            items, ratings = items[order], ratings[order]
            cut = len(items) - len(items) // 4
            found.append(Stranger(items[:cut], ratings[:cut], items[cut:], ratings[cut:]))
    return found


class Found(NamedTuple):
    """What is predicted for all strangers, one after the other."""

    truth: Array
    mean: Array
    sd: Array
    who: Array

    @property
    def misranking(self) -> float:
        """Share of the pairs of one person in the wrong order."""
        return pairwise_misranking_loss(self.truth, self.mean, ties="half", qid=self.who)

    @property
    def rmse(self) -> float:
        """Root mean squared error."""
        return float(np.sqrt(np.mean(np.square(self.truth - self.mean))))

    def covered(self, level: float) -> float:
        """Share of the ratings that lie inside intervals of a level."""
        reach = norm.ppf(0.5 + level / 2) * self.sd
        return float(np.mean(np.abs(self.truth - self.mean) <= reach))


def predicted(people: list[Stranger], told: Callable[[Stranger], TasteRanker]) -> Found:
    """Return predictions of the test ratings by what each person has told."""
    parts: list[tuple[Array, Array, Array, Array]] = []
    for who, one in enumerate(people):
        mean, sd = told(one).predict(one.tested)
        parts.append((one.truth, mean, sd, np.full(len(mean), who)))
    return Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def covered_of_known(table: RatingTable, seed: int, people: int) -> Found:
    """Return predictions of a random fifth of the ratings, of some of those who gave the others."""
    train, test = table.split(0.2, random_state=seed)
    model = load("rankwise.recommend.TasteModel")(n_jobs=2).fit(train)
    parts: list[tuple[Array, Array, Array, Array]] = []
    for row in range(0, table.n_users, -(-table.n_users // people)):
        mine = slice(*test.matrix.indptr[row : row + 2].tolist())
        if mine.start == mine.stop:
            continue
        tested, truth = test.items[test.matrix.indices[mine]], test.matrix.data[mine]
        mean, sd = model.person(test.users[row]).predict(tested)
        parts.append((truth, mean, sd, np.full(len(mean), row)))
    return Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def first(model: Any, n: int | None) -> Callable[[Stranger], TasteRanker]:
    """Tell the first n ratings, or all."""

    def told(one: Stranger) -> TasteRanker:
        person: TasteRanker = model.person()
        for item, rating in zip(one.items[:n].tolist(), one.ratings[:n].tolist(), strict=True):
            person.rate(item, rating)
        return person

    return told


def pairs(model: Any, n: int) -> Callable[[Stranger], TasteRanker]:
    """Tell n comparisons of items next to each other, and no rating."""

    def told(one: Stranger) -> TasteRanker:
        person: TasteRanker = model.person()
        both = zip(one.items, one.items[1:], one.ratings, one.ratings[1:], strict=False)
        for i, j, y, z in [pair for pair in both if pair[2] != pair[3]][:n]:
            person.prefer(*((i, j) if y > z else (j, i)))
        return person

    return told


def interview(model: Any, one: Stranger, way: str, stops: Sequence[int]) -> tuple[list[Any], Any]:
    """Ask a stranger about items, until the last of ``stops`` ratings are given.

    Returns the predictions of the test ratings at each stop, and the number of questions that were
    asked until then. A question about an item that the stranger can't answer is lost.
    """
    person: TasteRanker = model.person()
    known = dict(zip(one.items.tolist(), one.ratings.tolist(), strict=True))
    tested = set(one.tested.tolist())
    random = np.random.default_rng(len(known)).permutation(one.items).tolist()
    table = model.table_
    counts = np.bincount(table.matrix.indices, minlength=table.n_items)
    popular = table.items[np.argsort(-counts, kind="stable")].tolist()
    popular = [item for item in popular if item not in tested]
    asked: list[Any] = []
    means, questions = [], []
    for stop in stops:
        while len(person.ratings) < min(stop, len(known)):
            if way == "suggest":
                item = person.suggest(skip=[*asked, *tested])[0]
            else:
                listed = random if way == "random" else popular
                item = next(i for i in listed if i not in person.ratings and i not in asked)
            if item in known:
                person.rate(item, known[item])
            else:
                asked.append(item)
        means.append(person.predict(one.tested)[0])
        questions.append(len(asked) + len(person.ratings))
    return means, questions


def told_by_questions(
    model: Any, people: list[Stranger], way: str
) -> tuple[dict[int, float], dict[int, float]]:
    """Return misranking, and questions asked, by the number of ratings given."""
    found = [interview(model, one, way, QUESTIONS) for one in people]
    truth = np.concatenate([one.truth for one in people])
    who = np.repeat(np.arange(len(people)), [len(one.truth) for one in people])
    losses, asked = {}, {}
    for k, stop in enumerate(QUESTIONS):
        mean = np.concatenate([means[k] for means, _ in found])
        losses[stop] = pairwise_misranking_loss(truth, mean, ties="half", qid=who)
        asked[stop] = float(np.mean([questions[k] for _, questions in found]))
    return losses, asked


def load_table(name: str) -> RatingTable | None:
    """Return the ratings of MovieLens or of the embedded films, or None if they are not there."""
    if name == "embedded":
        return RatingTable.from_frame(load("rankwise.datasets.load_movies")())
    folder = Path(os.environ.get("RANKWISE_DATA", "data"))
    path = folder / name / FILES[name]
    if not path.exists():
        console.print(f"{path} is absent: set RANKWISE_DATA to the folder that holds {name}")
        return None
    reader = "read_jester" if name == "jester" else "read_movielens"
    return RatingTable.from_frame(load(f"rankwise.datasets.{reader}")(path))


def main(arguments: Sequence[str]) -> int:
    """Print what new people get, by what they have told; always return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks new_people", description=__doc__)
    parser.add_argument("--data", default="ml-1m", choices=[*FILES, "embedded"])
    parser.add_argument("--people", type=int, default=1_000, help="who are kept out, or judged")
    parser.add_argument("--known", action="store_true", help="judge known people, by ratings kept")
    parser.add_argument("--asked", type=int, default=0, help="of these are asked questions, too")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    options = parser.parse_args(arguments)
    table = load_table(options.data)
    if table is None:
        return 0
    for seed in options.seeds if options.known else []:
        found = covered_of_known(table, seed, options.people)
        console.print(f"{options.data}, seed {seed}: a fifth of the ratings of known people")
        show(options.data, seed, "known", None, found)
    for seed in [] if options.known else options.seeds:
        train, test = table.split(options.people, by="user", random_state=seed)
        model = load("rankwise.recommend.TasteModel")(choice=False).fit(train)
        people = strangers(test, seed)
        console.print(f"{options.data}, seed {seed}: {len(people)} people are new")
        for n in (*GIVEN, None):
            found = predicted(people, first(model, n))
            show(options.data, seed, "ratings", n, found)
        for n in GIVEN[1:]:
            show(options.data, seed, "preferences", n, predicted(people, pairs(model, n)))
        for way in ("random", "popular", "suggest")[: 3 if options.asked else 0]:
            losses, asked = told_by_questions(model, people[: options.asked], way)
            for n, loss in losses.items():
                console.print(f"{way:8} {n:3} ratings: misranking {loss:.4f}, asked {asked[n]:.1f}")
    return 0


def show(data: str, seed: int, what: str, n: int | None, found: Found) -> None:
    """Print and keep one line."""
    cover = {f"{level:.0%}": round(found.covered(level), 4) for level in LEVELS}
    console.print(
        f"{'all' if n is None else n:>4} {what:11}: misranking {found.misranking:.4f}, RMSE "
        f"{found.rmse:.4f}, covered {' '.join(f'{k} {v:.1%}' for k, v in cover.items())}"
    )
    measured = {"misranking": found.misranking, "rmse": found.rmse, "covered": cover}
    record = {"kind": what, **describe(), "data": data, "seed": seed, "given": n, **measured}
    append("new_people", record)
