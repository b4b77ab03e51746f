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
    m: int = 100_000, m_test: int = 5_000, d: int = 50, k: int = 5, seed: int = 4
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Grades 0 to k - 1 of equal mass of a noisy linear score."""
    random = np.random.default_rng(seed)
    w = random.standard_normal(d)
    X = random.standard_normal((m + m_test, d))
    score = X @ (w / np.linalg.norm(w)) + 0.5 * random.standard_normal(m + m_test)
    y = np.searchsorted(np.quantile(score[:m], np.arange(1, k) / k), score).astype(float)
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


def dlib(X: Array, y: Array) -> Callable[[], Predict]:
    """dlib's, which knows two grades: the upper ones and the rest, as its lists beforehand."""
    vectors, pair = load("dlib.vectors"), load("dlib.ranking_pair")()
    vector, trainer = load("dlib.vector"), load("dlib.svm_rank_trainer")
    upper = y >= np.median(y)
    pair.relevant = vectors([vector(x) for x in X[upper].tolist()])
    pair.nonrelevant = vectors([vector(x) for x in X[~upper].tolist()])

    def run() -> Predict:
        machine = trainer()
        machine.c, machine.epsilon = C, TOL
        w = np.ravel(machine.train(pair).weights)
        return lambda new: new @ w

    return run


def xgboost(**parameters: Any) -> Callable[[Array, Array], Callable[[], Predict]]:
    """XGBoost's pairwise objective, all rows in one query."""

    def prepare(X: Array, y: Array) -> Callable[[], Predict]:
        ranker, qid = load("xgboost.XGBRanker"), np.zeros(len(y), dtype=int)
        options = {"objective": "rank:pairwise", "n_jobs": 1, **parameters}
        return lambda: ranker(**options).fit(X, y, qid=qid).predict

    return prepare


def lightgbm(X: Array, y: Array) -> Callable[[], Predict]:
    """LightGBM's ranker; it takes at most 10,000 rows of a query."""
    ranker = load("lightgbm.LGBMRanker")
    return lambda: ranker(n_jobs=1, verbose=-1).fit(X, y.astype(int), group=[len(y)]).predict


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
        Entrant("MPRank", fit("rankwise.magnitude.MPRank", C=C)),
        Entrant("RankSVM, few", fit(RANKSVM, C=C, power=2, tol=TOL), rows=FEW),
    ),
    peers=(
        Entrant("argsort", argsort, growth=True),
        Entrant("LinearSVC, few", listed_pairs, needs="scikit-learn", rows=FEW, repeats=1),
        Entrant("dlib, two grades", dlib, needs="dlib-bin"),
        Entrant(
            "XGBoost gblinear",
            xgboost(booster="gblinear"),
            needs="xgboost-cpu",
            rows=10_000,
            repeats=1,
        ),
        Entrant("XGBoost hist", xgboost(), needs="xgboost-cpu", rows=10_000, repeats=1),
        Entrant("LightGBM", lightgbm, needs="lightgbm", rows=10_000, repeats=1),
    ),
    targets=(
        Target("LinearSVC, few", over="RankSVM, few", at_least=500),
        Target("RankSVM, power 1", over="RankSVM, power 2", at_most=3),
        Target("SVRank, power 1", over="RankSVM, power 2", at_most=3),
    ),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000, 10_000_000), fixed={"d": 10}),
        Growth("d", (10, 30, 100, 300), fixed={"m": 50_000}),
        Growth("k", (2, 5, 20, 100, 1_000), fixed={"m": 100_000, "d": 10}),
    ),
)
