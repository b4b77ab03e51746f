"""Inspect the advised method: which columns matter, what moves single rows, learning curve."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rankwise.comparison._columns import source_of
from rankwise.comparison._describe import plain
from rankwise.comparison._significance import corrected_interval
from rankwise.comparison.measures import Measure
from rankwise.comparison.methods import Method
from rankwise.comparison.problem import Problem, make_folds
from rankwise.comparison.trials import answer, fit, project

_SHARES = (1 / 8, 1 / 4, 1 / 2, 1.0)
# More rows than this are not inspected.
_MOST = 5000


class Effect(NamedTuple):
    """A column: what the measure loses without it, half its interval, and its direction."""

    name: str
    worth: float
    half: float
    sign: int

    @property
    def mark(self) -> str:
        """The direction as a sign in brackets."""
        return {1: " (+)", -1: " (\N{MINUS SIGN})", 0: ""}[self.sign]


class Curve(NamedTuple):
    """Sizes of samples, and the measure on each fold (rows) for each size (columns)."""

    sizes: list[int]
    values: NDArray[np.float64]


class Push(NamedTuple):
    """The change of a row's score that a column causes, compared with its usual value."""

    name: str
    value: str
    amount: float


def effects_of(
    method: Method, setting: dict[str, Any], problem: Problem, measure: Measure, seed: int
) -> list[Effect]:
    """Return the columns by what held-out rows lose when one is shuffled, the most first.

    The mean and its interval are over five folds. The direction is that of the mean score when a
    number goes from its lower to its upper quartile and all else stays. A category has none.
    """
    random = np.random.default_rng(seed)
    problem = replace(problem.sample(_MOST, seed), times=None)
    sources = _sources(problem)
    folds = make_folds(problem, 5, 1, seed)
    lost = np.empty((len(sources), len(folds)))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for number, (train, test) in enumerate(folds):
            held = problem.take(test)
            model = fit(method, problem.take(train), setting, seed)
            full = worth(model, held, measure)
            for place, columns in enumerate(sources.values()):
                other = held.rows.copy()
                other[columns] = other[columns].to_numpy()[random.permutation(len(other))]
                lost[place, number] = full - worth(model, replace(held, rows=other), measure)
        found = []
        for (name, columns), losses in zip(sources.items(), lost, strict=True):
            single = len(columns) == 1 and columns[0] not in problem.columns.categories
            sign = _direction(model, held, columns[0]) if single else 0
            mean, half = corrected_interval(losses, 1 / (len(folds) - 1))
            found.append(Effect(name, mean, half, sign))
    return sorted(found, key=lambda effect: -effect.worth)


def pushes_of(model: Any, problem: Problem, rows: list[int], most: int = 3) -> list[list[Push]]:
    """Return for some rows the columns that move their scores most, by a fitted model.

    A number is replaced by its median, a category by the most frequent one: what the score changes
    is what the column's value does for this row.
    """
    some = problem.take(np.array(rows))
    scores = _scores(model, some.rows)
    found: list[list[Push]] = [[] for _ in rows]
    for name, columns in _sources(problem).items():
        usual = problem.rows[columns]
        category = columns[0] in problem.columns.categories
        value = usual.mode().iloc[0] if category else usual.median()
        moved = scores - _scores(model, some.rows.assign(**value))
        for number, amount in enumerate(moved):
            own = some.rows[columns[0]].iloc[number]
            shown = "" if len(columns) > 1 else own if category else plain(own)
            found[number].append(Push(name, str(shown), float(amount)))
    return [sorted(one, key=lambda push: -abs(push.amount))[:most] for one in found]


def _scores(model: Any, rows: Any) -> NDArray[np.float64]:
    """Return the scores of rows by a model, whatever its labels are."""
    found = project(model, rows)
    return np.asarray(model.predict(rows), float) if found is None else found


def worth(model: Any, held: Problem, measure: Measure) -> float:
    """Return the measure of a fitted model on rows, more being better."""
    return float(measure.signed(measure.of(held.y, answer(model, held), held.qid)))


def _direction(model: Any, held: Problem, column: str) -> int:
    values = held.rows[column]
    low, high = values.quantile([0.25, 0.75])
    if low == high:
        low, high = values.min(), values.max()
    means = [
        float(answer(model, replace(held, rows=held.rows.assign(**{column: value}))).scores.mean())
        for value in (low, high)
    ]
    return int(np.sign(means[1] - means[0]))


def _sources(problem: Problem) -> dict[str, list[str]]:
    """Return the columns of the table with those that were made of them."""
    found: dict[str, list[str]] = {}
    for column in problem.rows.columns:
        found.setdefault(source_of(column), []).append(column)
    return found


def learning_curve(
    method: Method, setting: dict[str, Any], problem: Problem, measure: Measure, seed: int
) -> Curve:
    """Return the measure on three folds when parts of the rows are learned from."""
    values: list[list[float]] = []
    sizes: list[int] = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for train, test in make_folds(replace(problem, times=None), 5, 1, seed)[:3]:
            learned, held = problem.take(train), problem.take(test)
            row: list[float] = []
            sizes = []
            for share in _SHARES:
                part = learned.sample(max(20, int(share * len(train))), seed)
                model = fit(method, part, setting, seed)
                row.append(measure.of(held.y, answer(model, held), held.qid))
                sizes.append(len(part.y))
            values.append(row)
    return Curve(sizes, np.array(values))
