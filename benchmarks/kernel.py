"""Kernel PRank over a stream that leaves 2,000 support vectors, a noisy curved truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load
from benchmarks.online_ordinal import Array, Predict, rank_error

TILE = 64


def curved(
    m: int = 4_000, m_test: int = 4_000, d: int = 100, seed: int = 1
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Normal rows; five ranks of a line plus a square plus noise, equally many of each."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((m + m_test, d))
    score = X @ random.standard_normal(d) / np.sqrt(d) + (X[:, 0] ** 2 - 1) / 3
    score += random.normal(0, 0.2, len(X))
    y = np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score)
    return (X[:m], y[:m]), (X[m:], y[m:])


def supports_by_tile(X: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """Some rows at a time, and what PRank has kept before them."""
    model = load("rankwise.ordinal.PRank")(vote=None, kernel="rbf")
    for start in range(0, len(X), TILE):
        tile = X[start : start + TILE]
        kept = model.support_vectors_ if start else X[:0]
        yield tile, kept
        model.partial_fit(tile, y[start : start + TILE], classes=np.arange(5))


def kernel_rows(X: Array, y: Array) -> Callable[[], None]:
    """Scikit-learn's kernel values of all rows with what was kept before them, and no learning."""
    rbf_kernel = load("sklearn.metrics.pairwise.rbf_kernel")
    tiles = [pair for pair in supports_by_tile(X, y) if len(pair[1])]

    def run() -> None:
        for tile, kept in tiles:
            rbf_kernel(tile, kept)

    return run


def fit(name: str = "PRank", *args: Any, **parameters: Any) -> Prepare:
    """``fit`` of a model of rankwise, in one pass over the rows as they come."""

    def prepare(X: Array, y: Array) -> Callable[[], Predict]:
        make = load(f"rankwise.ordinal.{name}")
        options = {"kernel": "rbf", "epochs": 1, "shuffle": False, **parameters}
        return lambda: make(*args, **options).fit(X, y).predict

    return prepare


def numpy_loop(X: Array, y: Array) -> Callable[[], Predict]:
    """The dual algorithm round by round, kernel rows by NumPy."""

    def run() -> Predict:
        kept, alpha, b = np.empty_like(X), np.zeros(len(X)), np.zeros(4)
        norms, n, gamma = np.zeros(len(X)), 0, 1 / X.shape[1]

        def scores(rows: Array) -> Array:
            squares = np.square(rows).sum(axis=1)[:, None] + norms[:n]
            values: Array = np.exp(-gamma * (squares - 2 * rows @ kept[:n].T)) @ alpha[:n]
            return values

        for x, rank in zip(X, y, strict=True):
            score = scores(x[None])[0]
            if (score >= b).sum() != rank:
                sides = np.where(rank > np.arange(4), 1.0, -1.0)
                steps = sides * ((score - b) * sides <= 0)
                b -= steps
                kept[n], norms[n], alpha[n] = x, x @ x, steps.sum()
                n += 1
        return lambda X: (scores(X)[:, None] >= b).sum(axis=1)

    return run


RACE = Race(
    data=curved,
    measure="rank error",
    judge=rank_error,
    limit=Entrant("kernel rows", kernel_rows),
    ours=(
        Entrant("PRank", fit(vote=None)),
        Entrant("PRank averaged", fit(vote="averaged")),
        Entrant("PRank budget=200", fit(vote=None, budget=200)),
        Entrant("OAPRank", fit("OAPRank", 100, random_state=0)),
        Entrant("WidrowHoff", fit("WidrowHoff", step="plain", fit_intercept=False)),
    ),
    peers=(Entrant("NumPy loop", numpy_loop),),
    targets=(Target("PRank", over="kernel rows", at_most=2),),
    growth=(Growth("m", (1_000, 2_000, 4_000, 8_000)), Growth("d", (10, 30, 100, 300))),
)
