"""One hundred members over a stream of items with five ranks, a noisy linear truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load
from benchmarks.online_ordinal import Array, Predict, online_ordinal, rank_error

TAU = 0.3


def stream(
    m: int = 50_000, m_test: int = 20_000, d: int = 100, k: int = 5, seed: int = 1
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The stream of the online ordinal race, its first rows."""
    (X, y), test = online_ordinal(max(m, 200_000), m_test, d, k, seed)
    return (np.ascontiguousarray(X[:m]), y[:m]), test


def all_scores(X: Array, _y: Array, members: int) -> Callable[[], None]:
    """The scores of all rows with as many fixed directions as members, 50,000 rows at a time."""
    W = np.random.default_rng(0).standard_normal((X.shape[1], members))

    def run() -> None:
        for start in range(0, len(X), 50_000):
            X[start : start + 50_000] @ W

    return run


def fit(**parameters: Any) -> Prepare:
    """``fit`` of OAPRank."""

    def prepare(X: Array, y: Array, members: int) -> Callable[[], Predict]:
        make = load("rankwise.ordinal.OAPRank")
        options = {"tau": TAU, "epochs": 1, "shuffle": False, "random_state": 0, **parameters}
        return lambda: make(members, **options).fit(X, y).predict

    return prepare


def progressive(X: Array, y: Array, members: int) -> Callable[[], Predict]:
    """The same, with the guess of the mean before each update."""
    make, ranks = load("rankwise.ordinal.OAPRank"), np.unique(y)

    def run() -> Predict:
        model = make(members, tau=TAU, random_state=0)
        model.partial_fit_predict(X, y, classes=ranks)
        return model.predict

    return run


def numpy_members(X: Array, y: Array, members: int) -> Callable[[], Predict]:
    """The members of a round at once, by arrays."""

    def run() -> Predict:
        random = np.random.default_rng(0)
        W, B = np.zeros((members, X.shape[1])), np.zeros((members, y.max()))
        cuts = np.arange(B.shape[1])
        for x, rank in zip(X, y, strict=True):
            seen = np.flatnonzero(random.random(members) < TAU)
            scores = W[seen] @ x
            wrong = (scores[:, None] >= B[seen]).sum(axis=1) != rank
            changed, scores = seen[wrong], scores[wrong]
            sides = np.where(rank > cuts, 1.0, -1.0)
            steps = sides * ((scores[:, None] - B[changed]) * sides <= 0)
            W[changed] += np.outer(steps.sum(axis=1), x)
            B[changed] -= steps
        w, b = W.mean(axis=0), B.mean(axis=0)
        return lambda X: (X @ w >= b[:, None]).sum(axis=0)

    return run


RACE = Race(
    data=stream,
    measure="rank error",
    judge=rank_error,
    limit=Entrant("X @ W", all_scores),
    ours=(
        Entrant("OAPRank", fit()),
        Entrant("OAPRank progressive", progressive),
        Entrant("OAPRank two threads", fit(n_jobs=2)),
    ),
    peers=(Entrant("NumPy members", numpy_members, rows=2_000),),
    targets=(
        Target("OAPRank", over="X @ W", at_most=1.5),
        Target("OAPRank progressive", over="X @ W", at_most=2),
        Target("OAPRank", over="OAPRank two threads", at_least=1.8),
    ),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000, 10_000_000), fixed={"d": 10}),
        Growth("d", (10, 30, 100, 300, 1_000), fixed={"m": 10_000}),
        Growth("k", (2, 5, 10, 20, 50), fixed={"m": 10_000}),
        Growth("members", (10, 30, 100, 300, 1_000), fixed={"m": 10_000}),
    ),
    options={"members": 100},
)
