"""Learning to rank 1,000 queries of 20 rows with five grades: ours, boosting, and listed pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Prepare, Race, load

Array = NDArray[Any]
Predict = Callable[[Array], Array]

C, TOL, LIST = 200.0, 1e-3, 20


def queries(
    m: int = 20_000, m_test: int = 10_000, d: int = 50, seed: int = 4
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Grades of a noisy linear score, cut inside each query; a level of its own for each query."""
    random = np.random.default_rng(seed)
    w = random.standard_normal(d)
    X = random.standard_normal((m + m_test, d))
    qid = np.arange(m + m_test) // LIST
    score = X @ (w / np.linalg.norm(w)) + 0.5 * random.standard_normal(m + m_test)
    places = np.argsort(np.argsort(score.reshape(-1, LIST), axis=1), axis=1)
    y = np.searchsorted([10, 14, 17, 19], places.ravel(), side="right")
    X += random.standard_normal((qid[-1] + 1, 1)).repeat(LIST, axis=0)
    return (X[:m], y[:m], qid[:m]), (X[m:], y[m:], qid[m:])


def misranking(predict: Predict, X: Array, y: Array, qid: Array) -> float:
    """Share of misranked pairs inside queries of the test."""
    loss = load("rankwise.metrics.pairwise_misranking_loss")
    return float(loss(y, np.asarray(predict(X), dtype=float), ties="half", qid=qid))


def one_step(X: Array, _y: Array, _qid: Array) -> Callable[[], None]:
    """Scores, the order of each query, and one gradient: what a single step takes at least."""
    w = np.ones(X.shape[1])

    def run() -> None:
        s = X @ w
        np.argsort(s.reshape(-1, LIST), axis=1)
        X.T @ s

    return run


def by_qid(path: str, *args: Any, **parameters: Any) -> Prepare:
    """``fit(X, y, qid=qid)``."""

    def prepare(X: Array, y: Array, qid: Array) -> Callable[[], Predict]:
        make = load(path)
        return lambda: make(*args, **parameters).fit(X, y, qid=qid).predict

    return prepare


def preference(X: Array, y: Array, qid: Array) -> Callable[[], Predict]:
    """A classifier of pairs; it is judged by the order into which it sorts each query."""
    make = load("rankwise.preference.PreferenceRanker")
    classifier = load("sklearn.ensemble.HistGradientBoostingClassifier")

    def run() -> Predict:
        model = make(classifier(random_state=0), random_state=0).fit(X, y, qid=qid)
        return lambda new: -model.rank(new, qid=np.arange(len(new)) // LIST)

    return run


def listed_pairs(X: Array, y: Array, qid: Array) -> Callable[[], Predict]:
    """LinearSVC on the differences of all pairs inside queries."""
    model = load("sklearn.svm.LinearSVC")

    def run() -> Predict:
        starts = np.flatnonzero(np.append(True, np.diff(qid) != 0))
        grid = y.reshape(-1, LIST)
        q, worse, better = np.nonzero(grid[:, :, None] < grid[:, None, :])
        sign = np.where(np.arange(len(q)) % 2, 1, -1)
        differences = (X[starts[q] + better] - X[starts[q] + worse]) * sign[:, None]
        svc = model(C=C / (2 * len(q)), fit_intercept=False, dual=False, tol=TOL)
        coef = svc.fit(differences, sign).coef_[0]
        return lambda new: new @ coef

    return run


def dlib(X: Array, y: Array, _qid: Array) -> Callable[[], Predict]:
    """dlib's, which knows two grades: relevant or not, as its lists beforehand."""
    vector, make, pairs = load("dlib.vector"), load("dlib.ranking_pair"), load("dlib.ranking_pairs")
    trainer, lists = load("dlib.svm_rank_trainer"), pairs()
    for rows, grades in zip(
        X.reshape(-1, LIST, X.shape[1]), (y > 0).reshape(-1, LIST), strict=True
    ):
        pair = make()
        for x, relevant in zip(rows.tolist(), grades, strict=True):
            (pair.relevant if relevant else pair.nonrelevant).append(vector(x))
        lists.append(pair)

    def run() -> Predict:
        machine = trainer()
        machine.c, machine.epsilon = C, TOL
        w = np.ravel(machine.train(lists).weights)
        return lambda new: new @ w

    return run


def lightgbm(X: Array, y: Array, qid: Array) -> Callable[[], Predict]:
    """LightGBM's ranker as it comes, one thread."""
    ranker, sizes = load("lightgbm.LGBMRanker"), np.unique(qid, return_counts=True)[1]
    return lambda: ranker(n_jobs=1, verbose=-1).fit(X, y, group=sizes).predict


def catboost(X: Array, y: Array, qid: Array) -> Callable[[], Predict]:
    """CatBoost's ranker as it comes, but for one thread and 100 rounds."""
    ranker = load("catboost.CatBoostRanker")
    options = {"iterations": 100, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return lambda: ranker(**options).fit(X, y, group_id=qid).predict


RACE = Race(
    data=queries,
    measure="misranked",
    judge=misranking,
    limit=Entrant("one step", one_step),
    ours=(
        Entrant("RankSVM", by_qid("rankwise.pairwise.RankSVM", C=C, tol=TOL)),
        Entrant("RankBoost", by_qid("rankwise.boosting.RankBoost", 100, random_state=0)),
        Entrant(
            "RankBoost trees",
            by_qid("rankwise.boosting.RankBoost", 100, max_leaf_nodes=31, random_state=0),
        ),
        Entrant(
            "RankBoost trees, uniform",
            by_qid(
                "rankwise.boosting.RankBoost",
                100,
                max_leaf_nodes=31,
                pair_weight="uniform",
                random_state=0,
            ),
        ),
        Entrant("PreferenceRanker", preference, repeats=1),
    ),
    peers=(
        Entrant("LinearSVC", listed_pairs, needs="scikit-learn"),
        Entrant("dlib, two grades", dlib, needs="dlib-bin"),
        Entrant("LightGBM", lightgbm, needs="lightgbm"),
        Entrant("XGBoost", by_qid("xgboost.XGBRanker", n_jobs=1), needs="xgboost-cpu"),
        Entrant("CatBoost", catboost, needs="catboost", repeats=2),
    ),
)
