"""Compare the taste model with means, on ratings of items by people."""

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rankwise._core.terminal import sentence
from rankwise.comparison._recognise import Task
from rankwise.comparison.measures import PAIRS, RMSE, Answers
from rankwise.comparison.methods import Method
from rankwise.comparison.runner import (
    Comparison,
    Progress,
    provenance,
    rank_rows,
    run_jobs,
    tied_with_best,
)
from rankwise.comparison.trials import Trials
from rankwise.recommend import RatingTable, TasteModel

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = NDArray[np.float64]
_SHARE = 0.2


class _Means:
    """Means of items, and with ``people`` those of people, drawn to the mean of all."""

    def __init__(self, *, items: bool, people: bool, weight: float = 5.0) -> None:
        self.items, self.people, self.weight = items, people, weight

    def fit(self, table: RatingTable) -> "_Means":
        matrix = table.matrix.tocoo()
        rest = matrix.data - matrix.data.mean()
        self.mean_ = float(matrix.data.mean())
        self.item_ = self._shrunk(matrix.col, rest, table.n_items) * self.items
        rest = rest - self.item_[matrix.col]
        self.person_ = self._shrunk(matrix.row, rest, table.n_users) * self.people
        return self

    def _shrunk(self, place: Any, rest: Floats, n: int) -> Floats:
        return np.bincount(place, rest, n) / (np.bincount(place, minlength=n) + self.weight)

    def scores(self, rows: Any, columns: Any) -> Floats:
        return self.mean_ + self.item_[columns] + self.person_[rows]


class _Taste:
    """The taste model, by places instead of ids."""

    def fit(self, table: RatingTable) -> "_Taste":
        self.table_, self.model_ = table, TasteModel().fit(table)
        return self

    def scores(self, rows: Any, columns: Any) -> Floats:
        return self.model_.predict(self.table_.users[rows], self.table_.items[columns])


def _nobody(problem: Any) -> None:
    """Ratings are not fitted as rows are."""


_METHODS = {
    "constant": (partial(_Means, items=False, people=False), "the mean for everyone"),
    "means of items": (partial(_Means, items=True, people=False), "the same list for everyone"),
    "means of items and people": (partial(_Means, items=True, people=True), "a level for each"),
    "TasteModel": (_Taste, "a ranking for each person"),
}


def ratings_of(frame: "DataFrame", task: Task) -> tuple[RatingTable, "DataFrame", list[str]]:
    """Return complete ratings, the last of each item by a person, and what was left out."""
    names, odd = _names(task), []
    kept = frame.dropna(subset=list(names.values()))
    if len(kept) < len(frame):
        odd.append(f"{len(frame) - len(kept):,} rows lack a user, an item or a rating.")
    twice = kept.duplicated([names["user"], names["item"]], keep="last")
    if twice.any():
        odd.append(f"{int(twice.sum()):,} ratings are of an item rated again: the last counts.")
        kept = kept[~twice]
    return RatingTable.from_frame(kept, **names), kept, odd


def _names(task: Task) -> dict[str, Any]:
    return {part: task.roles[part] for part in ("user", "item", "rating")}


def compare_ratings(
    frame: "DataFrame",
    task: Task,
    quick: bool,
    max_rows: int | None,
    timeout: float | None,
    n_jobs: int,
    seed: int,
    progress: Progress,
) -> Comparison:
    """Compare the taste model with means, on ratings that are left out of everybody's."""
    whole, kept, odd = ratings_of(frame, task)
    table, names = whole, _names(task)
    most = max_rows or (200_000 if quick else 2_000_000)
    if len(kept) > most:
        some = _people(kept, names["user"], most, seed)
        table = RatingTable.from_frame(some, **names)
        odd.append(
            f"{len(some):,} of the {len(kept):,} ratings, all of some people, are compared "
            "(max_rows, or --max-rows); the model learns from all."
        )
    if table.n_ratings < 20:
        raise ValueError(f"{table.n_ratings} ratings are too few to compare anything")
    seeds = range(seed, seed + (3 if quick else 5))
    jobs = {name: partial(_run, name, make, table, seeds) for name, (make, _) in _METHODS.items()}
    trials = run_jobs(jobs, timeout, n_jobs, progress)
    methods = {
        name: Method(name, about, _nobody, baseline=name != "TasteModel", kept=name == "TasteModel")
        for name, (_, about) in _METHODS.items()
    }
    rows = rank_rows(trials, methods, PAIRS, _SHARE / (1 - _SHARE), table.n_ratings)
    model, best = None, rows[0].name
    if not trials["TasteModel"].failure and tied_with_best(rows, "TasteModel"):
        progress("TasteModel, on all ratings")
        model, best = TasteModel().fit(whole), "TasteModel"
    facts = {
        "task": f"ratings: {task.why}",
        "ratings": f"{table.n_ratings:,} by {table.n_users:,} people of {table.n_items:,} items",
        "scale": f"{table.scale[0]:g} to {table.scale[1]:g}",
    }
    how = f"{len(seeds)} times a fifth of the ratings is left out; seeds from {seed}"
    return Comparison(
        task, [PAIRS, RMSE], rows, trials, odd, facts, best, model, whole, how, {}, seed,
        about=provenance(seed),
    )  # fmt: skip


def _people(frame: "DataFrame", user: str, most: int, seed: int) -> "DataFrame":
    """Return all ratings of random people, at most about ``most`` ratings."""
    counts = frame[user].value_counts().sample(frac=1, random_state=seed)
    n_people = max(1, int(np.searchsorted(np.cumsum(counts.to_numpy()), most)))
    return frame[frame[user].isin(counts.index[:n_people])]


def _run(name: str, make: Any, table: RatingTable, seeds: range) -> Trials:
    values, fitting, predicting = [], [], []
    try:
        with threadpool_limits(1):
            for seed in seeds:
                train, test = table.split(_SHARE, random_state=seed)
                held = test.matrix.tocoo()
                begun = perf_counter()
                model = make().fit(train)
                fitted = perf_counter()
                scores = model.scores(held.row, held.col)
                predicting.append(perf_counter() - fitted)
                fitting.append(fitted - begun)
                answers = Answers(scores, None)
                qid = held.row.astype(np.int64)
                values.append([m.of(held.data, answers, qid) for m in (PAIRS, RMSE)])
    except Exception as error:  # as in the trials of rows: a row of the table, not the end
        return Trials(name, failure=f"{type(error).__name__}: {sentence(error)[:200]}")
    return Trials(name, np.array(values), np.array(fitting), np.array(predicting))
