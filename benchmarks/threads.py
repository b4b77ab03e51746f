"""Threads: one hundred rounds of boosting on 1,000,000 x 50 by one and two of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.bipartite import ROUNDS, Array, Predict, auc, bipartite, boost, histograms
from benchmarks.harness import Entrant, Race, Target


def million(
    m: int = 1_000_000, m_test: int = 50_000, d: int = 50
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The data of the race `bipartite`, ten times as many."""
    return bipartite(m=m, m_test=m_test, d=d)


def two_at_once(X: Array, y: Array, score: Array, rounds: int) -> Callable[[], Predict]:
    """Two fits of one thread each, which wait for nothing but the machine: twice the work.

    The second core is free if they take hardly longer than one fit.
    """
    fit = boost()(X, y, score, rounds=rounds)

    def run() -> Predict:
        with ThreadPoolExecutor(2) as pool:
            first, _ = pool.map(lambda _: fit(), range(2))
            return first

    return run


RACE = Race(
    data=million,
    measure="AUC",
    judge=auc,
    limit=Entrant("histograms only", histograms, repeats=2),
    ours=(
        Entrant("RankBoost", boost()),
        Entrant("RankBoost two threads", boost(n_jobs=2)),
        Entrant("two fits at once", two_at_once),
    ),
    targets=(Target("RankBoost", over="RankBoost two threads", at_least=1.5),),
    options={"rounds": ROUNDS},
)
