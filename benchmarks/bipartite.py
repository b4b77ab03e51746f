"""One hundred rounds of boosting on 100,000 x 50, 10 % positive, an additive truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load

Array = NDArray[Any]
Predict = Callable[[Array], Array]

ROUNDS = 100
GRADES = (0.5, 0.75, 0.9, 0.97)
STUMP: dict[str, Any] = {"max_depth": 1, "n_jobs": 1}


def bipartite(
    m: int = 100_000, m_test: int = 50_000, d: int = 50, seed: int = 5
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
    """Ten linear features, five sines and noise: a score, whose upper tenth is positive."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((m + m_test, d))
    w = random.standard_normal(10)
    score = X[:, :10] @ w / np.linalg.norm(w) + 0.5 * np.sin(3 * X[:, 10:15]).sum(1)
    score += 0.8 * random.standard_normal(m + m_test)
    y = (score > np.quantile(score, 0.9)).astype(int)
    return (X[:m], y[:m], score[:m]), (X[m:], y[m:])


def auc(predict: Predict, X: Array, y: Array) -> float:
    """Area under the ROC curve on test rows."""
    return float(load("rankwise.metrics.auc_score")(y, predict(X)))


@njit(nogil=True)
def _histograms(codes: Any, values: Any, hist: Any, rounds: int) -> None:
    for _ in range(rounds):
        for b in range(codes.shape[0]):
            block, cells = codes[b], hist[b]
            for i in range(values.shape[0]):
                value = values[i]
                for k in range(8):
                    cells[k, block[i, k]] += value


def histograms(X: Array, _y: Array, _score: Array, rounds: int) -> Callable[[], None]:
    """One addition for each round, row and feature, into bins that are already there."""
    random = np.random.default_rng(0)
    n_blocks = -(-X.shape[1] // 8)
    codes = random.integers(0, 255, size=(n_blocks, len(X), 8)).astype(np.uint8)
    values, hist = np.ones(len(X), dtype=np.int64), np.zeros((n_blocks, 8, 256), dtype=np.int64)

    def run() -> None:
        _histograms(codes, values, hist, rounds)

    return run


def boost(**parameters: Any) -> Prepare:
    """``fit`` of RankBoost, the bins included."""

    def prepare(X: Array, y: Array, _score: Array, rounds: int) -> Callable[[], Predict]:
        make = load("rankwise.boosting.RankBoost")
        return lambda: make(rounds, random_state=0, **parameters).fit(X, y).predict

    return prepare


def graded(X: Array, _y: Array, score: Array, rounds: int) -> Callable[[], Predict]:
    """The same with five grades of the score."""
    grades = np.searchsorted(np.quantile(score, GRADES), score)
    return boost()(X, grades, score, rounds=rounds)


def classify(path: str, count: str = "n_estimators", **parameters: Any) -> Prepare:
    """``fit`` of a classifier that calls its rounds `count`."""

    def prepare(X: Array, y: Array, _score: Array, rounds: int) -> Callable[[], Predict]:
        make = load(path)

        def run() -> Predict:
            model = make(**{count: rounds}, **parameters).fit(X, y)
            return lambda new: model.predict_proba(new)[:, 1]

        return run

    return prepare


def two_rounds(X: Array, y: Array, _score: Array, rounds: int) -> Callable[[], None]:  # noqa: ARG001
    """Two rounds of AdaBoost on stumps: one hundred would take minutes."""
    make = load("sklearn.ensemble.AdaBoostClassifier")

    def run() -> None:
        make(n_estimators=2).fit(X, y)

    return run


def rank_pairwise(X: Array, y: Array, _score: Array, rounds: int) -> Callable[[], Predict]:
    """XGBoost's pairwise objective on stumps, one query; a random rival for each row."""
    make, qid = load("xgboost.XGBRanker"), np.zeros(len(y), dtype=int)
    options = {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 1, **STUMP}

    def run() -> Predict:
        model = make(n_estimators=rounds, objective="rank:pairwise", **options)
        return model.fit(X, y, qid=qid).predict

    return run


RACE = Race(
    data=bipartite,
    measure="AUC",
    judge=auc,
    limit=Entrant("histograms only", histograms),
    ours=(
        Entrant("RankBoost", boost()),
        Entrant("RankBoost edge", boost(criterion="edge")),
        Entrant("RankBoost five grades", graded),
    ),
    peers=(
        Entrant(
            "LightGBM stumps",
            classify(
                "lightgbm.LGBMClassifier", num_leaves=2, learning_rate=0.5, n_jobs=1, verbose=-1
            ),
            needs="lightgbm",
            growth=True,
        ),
        Entrant("XGBoost stumps", classify("xgboost.XGBClassifier", **STUMP), needs="xgboost-cpu"),
        Entrant("XGBoost pairwise stumps", rank_pairwise, needs="xgboost-cpu", repeats=2),
        Entrant(
            "HistGradientBoosting stumps",
            classify(
                "sklearn.ensemble.HistGradientBoostingClassifier",
                "max_iter",
                max_leaf_nodes=2,
                early_stopping=False,
            ),
            needs="scikit-learn",
        ),
        Entrant(
            "CatBoost stumps",
            classify(
                "catboost.CatBoostClassifier",
                depth=1,
                thread_count=1,
                verbose=False,
                allow_writing_files=False,
            ),
            needs="catboost",
        ),
        Entrant("AdaBoost, 2 rounds", two_rounds, needs="scikit-learn", repeats=1),
    ),
    targets=(
        Target("RankBoost", at_least=0.918),
        # A fiftieth of the work.
        Target("AdaBoost, 2 rounds", over="RankBoost", at_least=300 * 2 / ROUNDS),
        Target("LightGBM stumps", over="RankBoost", at_least=4),
        Target("XGBoost stumps", over="RankBoost", at_least=4),
        Target("XGBoost pairwise stumps", over="RankBoost", at_least=4),
        Target("RankBoost five grades", over="RankBoost", at_most=1.1),
    ),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000, 10_000_000), fixed={"d": 10, "rounds": 20}),
        Growth("d", (10, 30, 100, 300), fixed={"m": 30_000}),
        Growth("rounds", (10, 30, 100, 300, 1_000), fixed={"m": 30_000}),
    ),
    options={"rounds": ROUNDS},
)
