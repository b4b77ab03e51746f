"""Measures on rows that a model has not seen, with intervals, and two models compared."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankwise.comparison.measures import Answers, Floats, Measure
from rankwise.metrics.intervals import binomial_interval

# About so many rows are looked at in all, in this range of resamples.
_ROWS, _LEAST, _MOST = 2e7, 100, 1000
_ROUNDING = 1e-12


@dataclass(frozen=True)
class HeldOut:
    """A measure of one model, or of two.

    Attributes
    ----------
    name : str
        The measure.
    values : list of float
        Of each model.
    intervals : list of tuple of float
        Of each model, 95 %.
    difference : float or None
        That of the second model less that of the first.
    interval : tuple of float or None
        Of the difference.
    pvalue : float or None
        That there is none.
    """

    name: str
    values: list[float]
    intervals: list[tuple[float, float]]
    difference: float | None = None
    interval: tuple[float, float] | None = None
    pvalue: float | None = None


def measure_held_out(
    measures: Sequence[Measure],
    y: Floats,
    answers: Sequence[Answers],
    qid: NDArray[np.int64] | None,
    seed: int = 0,
) -> list[HeldOut]:
    """Measure what one or two models say of the same rows.

    Standard errors are by the bootstrap: rows are drawn with replacement, or whole lists if there
    are any, and both models are measured on the same draws. The interval of a model is that of a
    binomial proportion with this standard error, see `rankwise.metrics.auc_interval`, a loss being
    a share of the largest that these targets and guesses can have. The difference of two models is
    tested by Student's t; n rows or lists have n - 1 degrees of freedom, and a single one says
    nothing: the p-value is 1. Takes 100 to 1,000 draws, fewer for more rows.

    Parameters
    ----------
    measures : sequence of Measure
        What to measure.
    y : ndarray of shape (n,)
        Ranks from 1, or values.
    answers : sequence of Answers
        Of one model or two.
    qid : ndarray of shape (n,) or None
        The list of each row.
    seed : int, default=0
        Of the draws.
    """
    random = np.random.default_rng(seed)
    n_draws = int(np.clip(_ROWS / max(len(y), 1), _LEAST, _MOST))
    drawn = np.full((n_draws, len(measures), len(answers)), np.nan)
    for draw in drawn:
        index, lists = _draw(len(y), qid, random)
        draw[:] = _measure(measures, y[index], [_take(one, index) for one in answers], lists)
    found = _measure(measures, y, answers, qid)
    n_units = len(y) if qid is None else len(np.unique(qid))
    guesses = [one.scores if one.ranks is None else one.ranks for one in answers]
    # no loss in grades is larger, nor a root mean square of differences, rows with themselves, too
    most = float(np.sqrt(2) * np.ptp(np.concatenate([y, *guesses]))) or 1.0
    return [_held_out(m, found[i], drawn[:, i], n_units, most) for i, m in enumerate(measures)]


def _measure(
    measures: Sequence[Measure],
    y: Floats,
    answers: Sequence[Answers],
    qid: NDArray[np.int64] | None,
) -> Floats:
    """Return a row for each measure; nan where no pair of the rows can be compared."""
    values = np.full((len(measures), len(answers)), np.nan)
    for i, measure in enumerate(measures):
        for j, answer in enumerate(answers):
            try:
                values[i, j] = measure.of(y, answer, qid)
            except ValueError:
                continue
    return values


def _held_out(
    measure: Measure, values: Floats, drawn: Floats, n_units: int, most: float
) -> HeldOut:
    known = drawn[~np.isnan(drawn).any(axis=1)]
    errors = [_error(column, value, n_units) for value, column in zip(values, known.T, strict=True)]
    intervals = [
        _scaled_interval(float(value), error, n_units, 1.0 if measure.more_is_better else most)
        for value, error in zip(values, errors, strict=True)
    ]
    if len(values) == 1:
        return HeldOut(measure.name, values.tolist(), intervals)
    difference = float(values[1] - values[0])
    error = _error(known[:, 1] - known[:, 0], difference, n_units)
    half = float(student.ppf(0.975, n_units - 1) * error) if n_units > 1 else np.nan
    interval = difference - half, difference + half
    pvalue = 1.0
    if difference and n_units > 1:
        pvalue = float(2 * student.sf(abs(difference) / error, n_units - 1))
    return HeldOut(measure.name, values.tolist(), intervals, difference, interval, pvalue)


def _error(drawn: Floats, value: float, n_units: int) -> float:
    """Return the standard error of a value of n units, from what it is in draws of them."""
    # draws of n units have the variance of a mean that divides by n, not by n - 1
    error = float(drawn.std()) * np.sqrt(n_units / max(1, n_units - 1)) if len(drawn) else np.nan
    # the same value in all units: its mean square takes the place of the variance
    return abs(value) / np.sqrt(n_units) if error <= _ROUNDING * abs(value) else error


def _scaled_interval(value: float, error: float, n_units: int, most: float) -> tuple[float, float]:
    """Return the interval of a mean between 0 and ``most``, as that of a binomial proportion."""
    low, high = binomial_interval(value / most, (error / most) ** 2, n_units, 0.95)
    return low * most, high * most


def _take(answers: Answers, index: NDArray[np.int64]) -> Answers:
    ranks, shares = (None if part is None else part[index] for part in answers[1:])
    return Answers(answers.scores[index], ranks, shares)


def _draw(
    n: int, qid: NDArray[np.int64] | None, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Draw rows with replacement, or lists, each of which is another one every time."""
    if qid is None:
        return random.integers(n, size=n), None
    order = np.argsort(qid, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(qid[order]) != 0))
    sizes = np.diff(np.append(starts, n))
    chosen = random.integers(len(starts), size=len(starts))
    index = np.concatenate([order[starts[q] : starts[q] + sizes[q]] for q in chosen])
    return index, np.repeat(np.arange(len(chosen)), sizes[chosen])
