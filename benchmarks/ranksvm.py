"""Support vector ranking of 100,000 rows, all pairs, against pairs that are listed and boosting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Growth, Race, Target, load

Array = NDArray[np.float64]
Predict = Callable[[Array], Array]

C, TOL = 200.0, 1e-3
FEW = 1_000


def graded(
    m: int = 100_000, m_test: int = 5_000, d: int = 50, seed: int = 4
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Five grades of equal mass of a noisy linear score."""
    random = np.random.default_rng(seed)
    w = random.standard_normal(d)
    X = random.standard_normal((m + m_test, d))
    score = X @ (w / np.linalg.norm(w)) + 0.5 * random.standard_normal(m + m_test)
    y = np.searchsorted(np.quantile(score[:m], [0.2, 0.4, 0.6, 0.8]), score).astype(float)
    return (X[:m], y[:m]), (X[m:], y[m:])


def misranking(predict: Predict, X: Array, y: Array) -> float:
    """Share of misranked pairs of test rows."""
    return float(load("rankwise.metrics.pairwise_misranking_loss")(y, predict(X), ties="half"))


def two_passes(X: Array, _y: Array) -> Callable[[], None]:
    """Scores, their order, and one gradient: what a single step takes at least."""
    w = np.ones(X.shape[1])

    def run() -> None:
        s = X @ w
        np.argsort(s)
        X.T @ s

    return run


def argsort(X: Array, _y: Array) -> Callable[[], None]:
    """One argsort of as many scores."""
    s = X @ np.ones(X.shape[1])

    def run() -> None:
        np.argsort(s)

    return run


def fit(path: str, **parameters: Any) -> Callable[[Array, Array], Callable[[], Predict]]:
    """``fit`` of an estimator."""

    def prepare(X: Array, y: Array) -> Callable[[], Predict]:
        model = load(path)
        return lambda: model(**parameters).fit(X, y).predict

    return prepare


def listed_pairs(X: Array, y: Array) -> Callable[[], Predict]:
    """The same objective by LinearSVC, on the differences of all pairs."""
    model = load("sklearn.svm.LinearSVC")

    def run() -> Predict:
        worse, better = np.nonzero(y[:, None] < y)
        sign = np.where(np.arange(len(worse)) % 2, 1, -1)
        differences = (X[better] - X[worse]) * sign[:, None]
        svc = model(C=C / (2 * len(worse)), fit_intercept=False, dual=False, tol=1e-3)
        coef = svc.fit(differences, sign).coef_[0]
        return lambda new: new @ coef

    return run


def boosted(X: Array, y: Array) -> Callable[[], Predict]:
    """XGBoost's linear booster with its pairwise objective."""
    ranker = load("xgboost.XGBRanker")
    qid = np.zeros(len(y), dtype=int)
    parameters = {"booster": "gblinear", "objective": "rank:pairwise", "n_jobs": 1}
    return lambda: ranker(**parameters).fit(X, y, qid=qid).predict


RANKSVM = "rankwise.pairwise.RankSVM"

RACE = Race(
    data=graded,
    measure="misranked",
    judge=misranking,
    limit=Entrant("one step", two_passes),
    ours=(
        Entrant("RankSVM, power 2", fit(RANKSVM, C=C, power=2, tol=TOL)),
        Entrant("RankSVM, power 1", fit(RANKSVM, C=C, power=1, tol=TOL)),
        Entrant("SVRank, power 1", fit("rankwise.magnitude.SVRank", C=C, power=1, tol=TOL)),
        Entrant("SVRank, power 2", fit("rankwise.magnitude.SVRank", C=C, power=2, tol=TOL)),
        Entrant("RankSVM, few", fit(RANKSVM, C=C, power=2, tol=TOL), rows=FEW),
    ),
    peers=(
        Entrant("argsort", argsort, growth=True),
        Entrant("LinearSVC, few", listed_pairs, rows=FEW, repeats=2),
        Entrant("XGBoost gblinear", boosted, needs="xgboost-cpu", rows=10_000, repeats=1),
    ),
    targets=(
        Target("LinearSVC, few", over="RankSVM, few", at_least=500),
        Target("RankSVM, power 1", over="RankSVM, power 2", at_most=3),
        Target("SVRank, power 1", over="RankSVM, power 2", at_most=3),
    ),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000)),
        Growth("d", (50, 200, 500), fixed={"m": 50_000}),
    ),
)
