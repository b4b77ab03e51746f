"""One pass over a stream of items with five ranks, a noisy linear truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Growth, Prepare, Race, Target, load

Array = NDArray[Any]
Predict = Callable[[Array], Array]


def online_ordinal(
    m: int = 200_000, m_test: int = 20_000, d: int = 100, k: int = 5, seed: int = 1
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Equal-mass ranks 0..k-1 of a noisy linear score."""
    g = np.random.default_rng(seed)
    X = g.standard_normal((m + m_test, d))
    w = g.standard_normal(d)
    w /= np.linalg.norm(w)
    s = X @ w + 0.3 * g.standard_normal(m + m_test)
    y = np.searchsorted(np.quantile(s[:m], np.arange(1, k) / k), s)
    return (X[:m], y[:m]), (X[m:], y[m:])


def rank_error(predict: Predict, X: Array, y: Array) -> float:
    """Mean distance in ranks between prediction and truth."""
    return float(np.abs(predict(X) - y).mean())


def _scores(X: Array, w: Array, out: Array) -> None:
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * w[j]
        out[i] = total


def scores_only(X: Array, _y: Array) -> Callable[[], None]:
    """Read every row once and take its product with fixed weights, compiled."""
    loop = njit(fastmath={"reassoc", "contract"})(_scores)
    w, out = np.ones(X.shape[1]), np.empty(X.shape[0])
    return lambda: loop(X, w, out)


# The papers' pass over a stream; the defaults of fit are for tables.
ONE_PASS: dict[str, Any] = {"epochs": 1, "shuffle": False}


def fit(path: str, **parameters: Any) -> Prepare:
    """``fit(X, y)`` of the estimator at a dotted path."""

    def prepare(X: Array, y: Array) -> Callable[[], Predict]:
        make = load(path)
        return lambda: make(**parameters).fit(X, y).predict

    return prepare


def partial_fit(path: str, **parameters: Any) -> Prepare:
    """One ``partial_fit(X, y, classes)`` of the estimator at a dotted path."""

    def prepare(X: Array, y: Array) -> Callable[[], Predict]:
        make, ranks = load(path), np.unique(y)
        return lambda: make(**parameters).partial_fit(X, y, classes=ranks).predict

    return prepare


def widrow_hoff(X: Array, y: Array) -> Callable[[], Predict]:
    """Widrow-Hoff has no intercept: a constant column is added beforehand."""
    make, Z = load("rankwise.ordinal.WidrowHoff"), np.insert(X, 0, 1.0, axis=1)

    def run() -> Predict:
        model = make(eta=0.001, step="plain", fit_intercept=False, **ONE_PASS).fit(Z, y)
        return lambda X: model.predict(np.insert(X, 0, 1.0, axis=1))

    return run


def sgd_regressor(X: Array, y: Array) -> Callable[[], Predict]:
    """Averaged SGD on the ranks as numbers; predictions are rounded and clipped."""
    make, top = load("sklearn.linear_model.SGDRegressor"), y.max()

    def run() -> Predict:
        model = make(average=True, random_state=0).partial_fit(X, y)
        return lambda X: np.clip(np.rint(model.predict(X)), 0, top)

    return run


def river(X: Array, y: Array) -> Callable[[], Predict]:
    """One-vs-rest perceptron, one ``learn_one`` per row; the rows are dicts beforehand."""
    perceptron = load("river.linear_model.Perceptron")
    one_vs_rest = load("river.multiclass.OneVsRestClassifier")
    rows = [dict(enumerate(x)) for x in X.tolist()]
    ranks = y.tolist()

    def run() -> Predict:
        model = one_vs_rest(perceptron())
        for x, rank in zip(rows, ranks, strict=True):
            model.learn_one(x, rank)
        return lambda X: np.array([model.predict_one(dict(enumerate(x))) for x in X.tolist()])

    return run


def vowpal_wabbit(X: Array, y: Array) -> Callable[[], Predict]:
    """One-against-all, one ``learn`` per row; the rows are lines of text beforehand."""
    workspace = load("vowpalwabbit.Workspace")
    arguments = f"--oaa {y.max() + 1} --quiet"

    def lines(X: Array) -> list[str]:
        return ["| " + " ".join(f"{j}:{v:.6g}" for j, v in enumerate(x)) for x in X.tolist()]

    rows = [f"{rank + 1} {line}" for rank, line in zip(y, lines(X), strict=True)]

    def run() -> Predict:
        model = workspace(arguments)
        for row in rows:
            model.learn(row)
        return lambda X: np.array([model.predict(line) for line in lines(X)]) - 1

    return run


def ordered_model(X: Array, y: Array) -> Callable[[], Predict]:
    """Proportional odds by maximum likelihood; predicts the most probable rank."""
    make = load("statsmodels.miscmodels.ordinal_model.OrderedModel")

    def run() -> Predict:
        model = make(y, X, distr="logit").fit(method="bfgs", disp=False)
        return lambda X: np.asarray(model.predict(X)).argmax(axis=1)

    return run


RACE = Race(
    data=online_ordinal,
    measure="rank error",
    judge=rank_error,
    limit=Entrant("scores only", scores_only),
    ours=(
        Entrant("PRank", fit("rankwise.ordinal.PRank", vote=None, **ONE_PASS)),
        Entrant("PRank averaged", fit("rankwise.ordinal.PRank", **ONE_PASS)),
        Entrant("WidrowHoff", widrow_hoff),
        Entrant(
            "MulticlassPerceptron",
            fit(
                "rankwise.ordinal.MulticlassPerceptron",
                vote=None,
                fit_intercept=False,
                **ONE_PASS,
            ),
        ),
    ),
    peers=(
        Entrant(
            "SGDClassifier perceptron",
            partial_fit("sklearn.linear_model.SGDClassifier", loss="perceptron", random_state=0),
            needs="scikit-learn",
        ),
        Entrant(
            "SGDClassifier log average",
            partial_fit(
                "sklearn.linear_model.SGDClassifier", loss="log_loss", average=True, random_state=0
            ),
            needs="scikit-learn",
        ),
        Entrant("SGDRegressor average", sgd_regressor, needs="scikit-learn", growth=True),
        Entrant(
            "LogisticRegression",
            fit("sklearn.linear_model.LogisticRegression"),
            needs="scikit-learn",
        ),
        Entrant("mord LogisticAT", fit("mord.LogisticAT"), needs="mord", repeats=2),
        Entrant("mord OrdinalRidge", fit("mord.OrdinalRidge"), needs="mord"),
        Entrant("river perceptron", river, needs="river", rows=5_000),
        Entrant("VW oaa", vowpal_wabbit, needs="vowpalwabbit", rows=20_000),
        Entrant(
            "statsmodels OrderedModel",
            ordered_model,
            needs="statsmodels",
            rows=2_000,
            repeats=1,
        ),
    ),
    targets=(
        Target("PRank", over="scores only", at_most=2),
        Target("SGDClassifier perceptron", over="PRank", at_least=30),
        Target("SGDRegressor average", over="PRank", at_least=10),
        Target("river perceptron", over="PRank", at_least=1_000),
        Target("PRank averaged", over="PRank", at_most=1.5),
        Target("PRank averaged", at_most=0.312),
    ),
    growth=(
        Growth("m", (10_000, 100_000, 1_000_000, 10_000_000), fixed={"d": 20}),
        Growth("d", (10, 30, 100, 300, 1_000), fixed={"m": 50_000}),
        Growth("k", (2, 5, 10, 20, 50), fixed={"m": 50_000}),
    ),
)
