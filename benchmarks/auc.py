"""AUC, its interval and the difference of two, of one million scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load
from benchmarks.online_ordinal import Array


def scored(m: int = 1_000_000, seed: int = 7) -> tuple[tuple[Array, ...], tuple[()]]:
    """Two classes, 30 % positive, and the scores of two models as probabilities."""
    g = np.random.default_rng(seed)
    y = (g.random(m) < 0.3).astype(float)
    signal = y + g.standard_normal(m)
    s, t = (1 / (1 + np.exp(-signal - noise * g.standard_normal(m))) for noise in (0.3, 0.5))
    return (y, s, t), ()


def argsort(_y: Array, s: Array, _t: Array) -> Callable[[], None]:
    """One sort of the scores."""

    def run() -> None:
        np.argsort(s)

    return run


def ours(name: str, *, scores: int = 1, **options: Any) -> Prepare:
    """One of our metrics, of one model or of both; judged by its first number."""

    def prepare(y: Array, *both: Array) -> Callable[[], float]:
        metric = load(f"rankwise.metrics.{name}")
        return lambda: float(np.ravel(metric(y, *both[:scores], **options))[0])

    return prepare


def sklearn_auc(y: Array, s: Array, _t: Array) -> Callable[[], float]:
    """The area alone."""
    auc = load("sklearn.metrics.roc_auc_score")
    return lambda: float(auc(y, s))


def mannwhitneyu(y: Array, s: Array, _t: Array) -> Callable[[], float]:
    """The same area as a test statistic, with the p-value of one half."""
    test, pos, neg = load("scipy.stats.mannwhitneyu"), s[y == 1], s[y == 0]
    return lambda: float(test(pos, neg).statistic) / (len(pos) * len(neg))


def confidenceinterval(y: Array, s: Array, _t: Array) -> Callable[[], float]:
    """DeLong's interval."""
    auc = load("confidenceinterval.roc_auc_score")
    labels = y.astype(int)
    return lambda: float(auc(labels, s, confidence_level=0.95)[1][0])


def mlstatkit(y: Array, s: Array, t: Array) -> Callable[[], float]:
    """DeLong's test of the difference."""
    test = load("MLstatkit.Delong_test")
    return lambda: float(test(y, s, t)[0])


RACE = Race(
    data=scored,
    measure="value",
    judge=float,
    limit=Entrant("np.argsort", argsort),
    ours=(
        Entrant("auc_interval", ours("auc_interval")),
        Entrant("auc_score", ours("auc_score")),
        Entrant("auc_interval delong", ours("auc_interval", method="delong")),
        Entrant("pair_accuracy_interval", ours("pair_accuracy_interval")),
        Entrant("auc_difference_test", ours("auc_difference_test", scores=2)),
    ),
    peers=(
        Entrant("sklearn roc_auc_score", sklearn_auc, needs="scikit-learn"),
        Entrant("scipy mannwhitneyu", mannwhitneyu, needs="scipy"),
        Entrant("confidenceinterval", confidenceinterval, needs="confidenceinterval", repeats=3),
        Entrant("MLstatkit Delong_test", mlstatkit, needs="MLstatkit", repeats=3),
    ),
    targets=(
        Target("auc_interval", over="np.argsort", at_most=3),
        Target("sklearn roc_auc_score", over="auc_score", at_least=1),
        Target("scipy mannwhitneyu", over="auc_score", at_least=1),
        Target("confidenceinterval", over="auc_interval delong", at_least=5),
        Target("MLstatkit Delong_test", over="auc_difference_test", at_least=2),
    ),
    growth=(Growth("m", (10_000, 100_000, 1_000_000, 10_000_000)),),
)
