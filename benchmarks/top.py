"""The top of a million rows: TopPush and AccuracyAtTop beside RankSVM, a tenth positive."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Growth, Race, Target, load
from benchmarks.ranksvm import fit

Array = NDArray[np.float64]
Predict = Callable[[Array], Array]

C, TAU = 100.0, 0.05


def rare(
    m: int = 1_000_000, m_test: int = 50_000, d: int = 50, seed: int = 6
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The upper tenth of a noisy linear score."""
    random = np.random.default_rng(seed)
    w = random.standard_normal(d)
    X = random.standard_normal((m + m_test, d))
    score = X @ (w / np.linalg.norm(w)) + 0.1 * random.standard_normal(m + m_test)
    y = (score > np.quantile(score[:m], 0.9)).astype(float)
    return (X[:m], y[:m]), (X[m:], y[m:])


def positives_at_top(predict: Predict, X: Array, y: Array) -> float:
    """Share of the positives above the highest negative of test rows."""
    return float(load("rankwise.metrics.positives_at_top_score")(y, predict(X)))


def one_step(X: Array, _y: Array) -> Callable[[], None]:
    """Scores, the highest of them, and one gradient: what a single step takes at least."""
    w = np.ones(X.shape[1])

    def run() -> None:
        s = X @ w
        s.max()
        X.T @ s

    return run


def logistic(X: Array, y: Array) -> Callable[[], Predict]:
    """scikit-learn's logistic regression with as much weight on the rows."""
    model = load("sklearn.linear_model.LogisticRegression")
    return lambda: model(C=C / len(y)).fit(X, y).decision_function


PAIRWISE = "rankwise.pairwise"

RACE = Race(
    data=rare,
    measure="at top",
    judge=positives_at_top,
    limit=Entrant("one step", one_step),
    ours=(
        Entrant("TopPush", fit(f"{PAIRWISE}.TopPush", C=C)),
        Entrant("AccuracyAtTop", fit(f"{PAIRWISE}.AccuracyAtTop", C=C, tau=TAU)),
        Entrant("AccuracyAtTop, power 2", fit(f"{PAIRWISE}.AccuracyAtTop", C=C, tau=TAU, power=2)),
        Entrant("RankSVM", fit(f"{PAIRWISE}.RankSVM", C=C)),
    ),
    peers=(Entrant("LogisticRegression", logistic, repeats=2),),
    targets=(Target("TopPush", over="RankSVM", at_most=3),),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000)),
        Growth("d", (10, 50, 200), fixed={"m": 50_000}),
    ),
)
