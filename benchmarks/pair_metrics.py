"""Measures of one million scores: all pairs, and lists of one hundred."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load
from benchmarks.online_ordinal import Array

LIST = 100


def scored(m: int = 1_000_000, k: int = 5, seed: int = 6) -> tuple[tuple[Array, ...], tuple[()]]:
    """Scores, real targets that they follow with noise, and k grades of equal mass of these."""
    g = np.random.default_rng(seed)
    y = g.standard_normal(m)
    s = y + g.standard_normal(m)
    grades = np.searchsorted(np.quantile(y, np.arange(1, k) / k), y).astype(float)
    return (s, y, grades), ()


def argsort(s: Array, _y: Array, _grades: Array) -> Callable[[], None]:
    """One sort of as many random floats."""
    values = np.random.default_rng(0).random(len(s))

    def run() -> None:
        np.argsort(values)

    return run


def measure(name: str, *, graded: bool = False, lists: bool = False, **options: Any) -> Prepare:
    """One of our metrics, of the grades or the real targets."""

    def prepare(s: Array, y: Array, grades: Array) -> Callable[[], float]:
        metric, target = load(f"rankwise.metrics.{name}"), grades if graded else y
        chosen = options | ({"qid": np.arange(len(s)) // LIST} if lists else {})
        return lambda: metric(target, s, **chosen)

    return prepare


def kendall(*, graded: bool = False) -> Prepare:
    """SciPy's, which counts the same pairs."""

    def prepare(s: Array, y: Array, grades: Array) -> Callable[[], None]:
        tau, target = load("scipy.stats.kendalltau"), grades if graded else y

        def run() -> None:
            tau(target, s)

        return run

    return prepare


def sklearn_ndcg(s: Array, _y: Array, grades: Array) -> Callable[[], float]:
    """scikit-learn's, on a matrix, without its care for ties."""
    ndcg = load("sklearn.metrics.ndcg_score")
    gains, scores = (2**grades - 1).reshape(-1, LIST), s.reshape(-1, LIST)
    return lambda: float(ndcg(gains, scores, ignore_ties=True))


def _dicts(values: Array) -> dict[str, dict[str, Any]]:
    names = [str(place) for place in range(LIST)]
    lists = values.reshape(-1, LIST).tolist()
    return {str(q): dict(zip(names, each, strict=True)) for q, each in enumerate(lists)}


def ranx_ndcg(s: Array, _y: Array, grades: Array) -> Callable[[], float]:
    """ranx's; its tables are made of dicts beforehand."""
    evaluate = load("ranx.evaluate")
    truth = load("ranx.Qrels")(_dicts(grades.astype(int)))
    run = load("ranx.Run")(_dicts(s))
    return lambda: float(evaluate(truth, run, "ndcg_burges", make_comparable=False))


def ir_measures_ndcg(s: Array, _y: Array, grades: Array) -> Callable[[], float]:
    """ir-measures', by pytrec_eval; its tables are dicts beforehand."""
    gains = {grade: 2**grade - 1 for grade in range(int(grades.max()) + 1)}
    measure = load("ir_measures.nDCG")(gains=gains)
    judge = load("ir_measures.evaluator")([measure], _dicts(grades.astype(int)))
    run = _dicts(s)
    return lambda: float(judge.calc_aggregate(run)[measure])


RACE = Race(
    data=scored,
    measure="value",
    judge=float,
    limit=Entrant("np.argsort", argsort),
    ours=(
        Entrant("misranking, grades", measure("pairwise_misranking_loss", graded=True)),
        Entrant("misranking", measure("pairwise_misranking_loss")),
        Entrant("misranking, qid", measure("pairwise_misranking_loss", lists=True)),
        Entrant(
            "misranking, weighted", measure("pairwise_misranking_loss", pair_weight="magnitude")
        ),
        Entrant("magnitude, power 2", measure("magnitude_loss")),
        Entrant("magnitude, power 1", measure("magnitude_loss", power=1)),
        Entrant("epsilon-insensitive", measure("epsilon_insensitive_loss", power=2)),
        Entrant("hinge rank", measure("hinge_rank_loss", power=2)),
        Entrant("hinge magnitude", measure("hinge_magnitude_loss", power=2)),
        Entrant("exponential", measure("exponential_pair_loss")),
        Entrant("ndcg", measure("ndcg_score", graded=True, lists=True)),
    ),
    peers=(
        Entrant("kendalltau, grades", kendall(graded=True), needs="scipy"),
        Entrant("kendalltau", kendall(), needs="scipy"),
        Entrant("sklearn ndcg", sklearn_ndcg, needs="scikit-learn"),
        Entrant("ranx ndcg", ranx_ndcg, needs="ranx", rows=100_000),
        Entrant("ir-measures ndcg", ir_measures_ndcg, needs="ir-measures", rows=100_000),
    ),
    targets=(
        Target("misranking, grades", over="np.argsort", at_most=0.6),
        Target("misranking", over="np.argsort", at_most=1.7),
        Target("kendalltau, grades", over="misranking, grades", at_least=2),
        Target("kendalltau", over="misranking", at_least=2),
        Target("ndcg", over="sklearn ndcg", at_most=1),
    ),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000, 10_000_000)),
        Growth("k", (2, 5, 20, 100, 1_000), fixed={"m": 100_000}),
    ),
)
