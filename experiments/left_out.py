"""Proposition 1 of paper 4 by simulation: the leave-pair-out error has no bias for m - 2 rows.

The mean cost of a pair that is left out, over all pairs of a sample of m rows, has the expectation
that the cost of a new pair has under a model of m - 2 rows. Here both are drawn many times. A
model of m - 2 rows keeps the penalty of the model of m rows, as the pairs that are left out do.
"""

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from experiments._index import claim
from experiments._trials import INTERVAL, check_sizes
from rankwise.magnitude import MPRank
from rankwise.metrics import mean_interval
from rankwise.model_selection import leave_pair_out
from rankwise.reports import Report, Table, Track

Array = NDArray[np.float64]

RATERS, TASTES, C = 20, 3, 30.0
COSTS = ("squared difference", "misranking")


def left_out(
    *,
    sizes: tuple[int, ...] = (6, 12, 24),
    n_trials: int = 300,
    n_test: int = 300,
    seed: int = 0,
    track: Track[int] = iter,
) -> Report:
    """Compare leave-pair-out errors with true errors.

    Parameters
    ----------
    sizes : tuple of int
        The numbers m of rows.
    n_trials, n_test : int
        Samples of each size, and new rows on whose pairs each model's true error is measured.
    seed : int, default=0
        Draws the tastes of the raters, and the samples.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_trials=n_trials)
    check_sizes(2, n_test=n_test)
    check_sizes(4, sizes=sizes)
    found = np.empty((n_trials, len(sizes), 4, len(COSTS)))
    # Problems this small gain nothing from more threads.
    with threadpool_limits(1):
        for trial in track(range(n_trials)):
            random = np.random.default_rng([seed, trial])
            for k, m in enumerate(sizes):
                found[trial, k] = _trial(m, n_test, seed, random)
    tables = [_table(sizes, found[..., c], cost) for c, cost in enumerate(COSTS)]
    return Report(
        title="The leave-pair-out error has no bias",
        setting=(
            f"{n_trials:,} samples of each size, seed {seed}; MPRank with a Gaussian kernel and "
            f"C = {C:g} for m rows; {INTERVAL}"
        ),
        tables=tables,
        findings=[_finding(found)],
    )


def draw(n: int, seed: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Draw the ratings of n items by ``RATERS`` people, and by one more whose they predict."""
    people = np.random.default_rng(seed).standard_normal((TASTES, RATERS + 1))
    liking = random.standard_normal((n, TASTES)) @ people
    ratings = np.clip(np.round(3 + liking + random.standard_normal(liking.shape)), 1, 5)
    return ratings[:, 1:] - 3, ratings[:, 0]


def pair_costs(y: Array, differences: Array) -> Array:
    """Return the mean of both costs over all ordered pairs of different rows.

    ``differences[i, j]`` is the score of j less that of i.
    """
    off = ~np.eye(len(y), dtype=bool)
    truth = y - y[:, None]
    squared = (differences - truth) ** 2
    wrong = (truth > 0) & (differences <= 0)
    return np.array([squared[off].mean(), wrong[off].mean()])


def _trial(m: int, n_test: int, seed: int, random: np.random.Generator) -> Array:
    """Return the left-out, true (of m - 2 and of m rows) and training errors of one sample."""
    X, y = draw(m, seed, random)
    new, truth = draw(n_test, seed, random)
    whole = MPRank(C, kernel="rbf").fit(X, y)
    # The penalty is m / (2 C), and stays.
    fewer = MPRank(C * (m - 2) / m, kernel="rbf").fit(X[2:], y[2:])
    scores = [fewer.predict(new), whole.predict(new), whole.predict(X)]
    left = leave_pair_out(MPRank(C, kernel="rbf"), X, y).differences
    others = [
        pair_costs(target, s - s[:, None])
        for target, s in zip((truth, truth, y), scores, strict=True)
    ]
    return np.array([pair_costs(y, left), *others])


def _table(sizes: tuple[int, ...], found: Array, cost: str) -> Table:
    rows = []
    for k, m in enumerate(sizes):
        left, fewer, whole, train = found[:, k].T
        cells = [mean_interval(x) for x in (left, fewer, left - fewer, left - whole, train - whole)]
        rows.append([str(m), *(f"{mean:.4f} ± {half:.4f}" for mean, half in cells)])
    columns = [
        "m", "left out", "true, m - 2 rows", "difference", "left out - true of m rows",
        "training - true of m rows",
    ]  # fmt: skip
    return Table(f"Mean {cost} of a pair", columns, rows)


def _finding(found: Array) -> str:
    mean, half = mean_interval((found[:, :, 0] - found[:, :, 1]).reshape(len(found), -1))
    inside = int((np.abs(mean) <= half).sum())
    agrees = mean.size - inside <= 1 + mean.size // 20
    return claim(
        "Paper 4",
        "the leave-one-out error over pairs is an unbiased estimate of the true error for a sample "
        "of m - 2 (proposition 1).",
        f"the difference of the means has an interval that holds 0 in {inside} of {mean.size} "
        "cells.",
        "agrees: of 95 % intervals one in twenty may miss."
        if agrees
        else "differs: of 95 % intervals one in twenty may miss.",
    )
