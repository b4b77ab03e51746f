"""One viewer's stream of films, and what models lose on it: a trial of `viewers`."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._runs import Result, Setting
from rankwise.bounds import prank_regret_bound
from rankwise.metrics import rank_losses
from rankwise.model_selection import progressive_validation
from rankwise.papers import multiclass_perceptron, oap_bpm, prank, widrow_hoff
from rankwise.recommend import RatingTable

Array = NDArray[np.float64]
Ranks = NDArray[np.int64]

# Rates of Widrow-Hoff, in parts of 1 over the mean squared length of a row.
RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 1.5)
HOFF, HOFF_CONSTANT = "Widrow-Hoff", "Widrow-Hoff, constant column"
MEDIAN, HINDSIGHT = "median so far", "best constant in hindsight"
RAW, UNIT = 0.0, 1.0
# Margins that are tried in the bound, in parts of the longest row.
MARGINS = np.geomspace(1e-4, 1, 20)


def models(k: int, seed: int) -> dict[str, Any]:
    """Return the models that need no rate, for k ranks and one pass."""
    once: dict[str, Any] = {"epochs": 1, "shuffle": False, "label_order": range(1, k + 1)}
    return {
        "PRank": prank(**once),
        "MCP, uniform": multiclass_perceptron(**once),
        "MCP, max": multiclass_perceptron(update="max", **once),
        "PRank, averaged": prank(vote="averaged", **once),
        "PRank, pa": prank(update="pa", **once),
        "PRank, pa, averaged": prank(update="pa", vote="averaged", **once),
        "OAP-BPM 0.3": oap_bpm(tau=0.3, random_state=seed, **once),
    }


def viewers_of(table: RatingTable, group: int) -> NDArray[Any]:
    """Return the ids of those who rated more than ``group`` films."""
    return table.users[np.diff(table.matrix.indptr) > group]


def problem(table: RatingTable, people: NDArray[Any], setting: Setting) -> tuple[Array, Ranks, int]:
    """Return a target's films as rows of others' ratings, their ranks, and how many ranks are.

    ``raters``: so many others, 0 for all. ``center``: what is subtracted before 0 stands for what
    was not rated, a number above the middle of the scale or each rater's "own mean". ``order`` of
    the films. ``scale``: the mean length that rows of the stream get, 0 to leave them. ``ranks``:
    so many equal steps of the scale, 0 for all ratings there are. ``constant``: 1 for one more
    column, of a constant as large as rows are long.
    """
    random = np.random.default_rng([setting["seed"], setting["target"]])
    target = table.users[setting["target"]]
    raters = people[people != target]
    if setting["raters"]:
        raters = np.sort(random.choice(raters, min(setting["raters"], len(raters)), replace=False))
    X, ratings, items = table.problem_for(target, raters=raters, missing="nan")
    if setting["center"] == "own mean":
        own = table.matrix[table.user_index(raters)]
        shift = own.sum(axis=1) / np.diff(own.indptr)
    else:
        shift = sum(table.scale) / 2 + setting["center"]
    X = np.nan_to_num(X - shift)
    y, k = ranks_of(table, ratings, setting["ranks"])
    order = random.permutation(len(y))
    if setting["order"] == "by date":
        row = slice(*table.matrix.indptr[setting["target"] : setting["target"] + 2].tolist())
        order = np.argsort(np.asarray(table.times)[row], kind="stable")
    elif setting["order"] == "most rated first":
        n_rated = np.diff(table.by_item.indptr)[table.item_index(items)]
        order = order[np.argsort(-n_rated[order], kind="stable")]
    X, y = X[order], y[order]
    if setting["scale"] != RAW:
        X *= setting["scale"] / _length(X[: setting["group"]])
    if setting["constant"]:
        X = _append(X, _length(X[: setting["group"]]))
    return X, y, k


def ranks_of(table: RatingTable, ratings: Array, ranks: int) -> tuple[Ranks, int]:
    """Return ranks from 1 and their number: all that the table has, or ``ranks`` equal steps."""
    low, high = table.scale
    if ranks:
        steps = np.floor((ratings - low) / (high - low) * ranks).astype(np.int64)
        return 1 + np.minimum(steps, ranks - 1), ranks
    values = np.unique(table.matrix.data)
    return 1 + np.searchsorted(values, ratings), len(values)


def rates_trial(setting: Setting, table: RatingTable, people: NDArray[Any]) -> Result:
    """Return the mean online loss of Widrow-Hoff for every rate, without and with a constant."""
    X, y, k = problem(table, people, setting)
    X, y = X[: setting["group"]], y[: setting["group"]]
    return {
        name: {str(rate): _online(model, rows, y)[0] for rate, (model, rows) in of.items()}
        for name, of in (
            (HOFF, {rate: (_hoff(rate, X, k), X) for rate in RATES}),
            (HOFF_CONSTANT, {rate: _with_constant(rate, X, k) for rate in RATES}),
        )
    }


def trial(
    setting: Setting, table: RatingTable, people: NDArray[Any], rates: dict[str, float]
) -> Result:
    """Return what models lose online, round by round, and on the target's other films.

    ``only`` names some of `models`; "" runs all and Widrow-Hoff. ``bound``: 1 adds the bound.
    """
    n = setting["group"]
    X, y, k = problem(table, people, setting)
    chosen = models(k, setting["seed"])
    if setting["only"]:
        chosen = {name: chosen[name] for name in setting["only"].split("; ")}
    runs = {name: (model, X) for name, model in chosen.items()}
    if not setting["only"]:
        runs[HOFF] = _hoff(rates[HOFF], X[:n], k), X
        model, _ = _with_constant(rates[HOFF_CONSTANT], X[:n], k)
        runs[HOFF_CONSTANT] = model, _append(X, _length(X[:n]))
    online: dict[str, Any] = {}
    unseen: dict[str, float] = {}
    for name, (model, rows) in runs.items():
        _, online[name], fitted = _online(model, rows[:n], y[:n])
        unseen[name] = _loss(y[n:], fitted.predict(rows[n:]), k)
    so_far = [(k + 1) // 2, *(_median(y[:i]) for i in range(1, n))]
    online[MEDIAN] = rank_losses(y[:n], so_far, labels=range(1, k + 1))
    unseen[MEDIAN] = _loss(y[n:], np.full(len(y) - n, _median(y[:n])), k)
    online[HINDSIGHT] = rank_losses(y[:n], np.full(n, _median(y[:n])), labels=range(1, k + 1))
    unseen[HINDSIGHT] = _loss(y[n:], np.full(len(y) - n, _median(y[n:])), k)
    result = {
        "mean": {name: float(np.mean(losses)) for name, losses in online.items()},
        "unseen": unseen,
        "spread": float(y[:n].std()),
        "n_unseen": len(y) - n,
    }
    if not setting["only"]:
        result["online"] = online
    if setting["bound"]:
        result["bound"] = bound(X[:n], y[:n], k)
    return result


def bound(X: Array, y: Ranks, k: int) -> Result:
    """Return the best regret bound of PRank that two good fixed rankers give, and the trivial one.

    With more raters than films the stream is separable, so the rankers rank it nearly rightly.
    """
    once: dict[str, Any] = {"epochs": 100, "shuffle": False, "label_order": range(1, k + 1)}
    found = []
    for ranker in (prank(vote="averaged", **once), prank(update="pa", **once)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            ranker.fit(X, y)
        found += [
            prank_regret_bound(X, y, ranker.coef_, ranker.thresholds_, g, labels=range(1, k + 1))
            for g in np.sqrt((X**2).sum(axis=1)).max() * MARGINS
        ]
    best = min(found, key=float)
    return {"value": best.value, "trivial": best.trivial, "margin": best.pieces["margin"]}


def _online(model: Any, X: Array, y: Ranks) -> tuple[float, Ranks, Any]:
    """Return the mean loss, the losses and the fitted model; long rows are meant, so no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = progressive_validation(model, X, y)
    return float(result.losses.mean()), result.losses, result.estimator


def _loss(y: Ranks, guesses: Ranks, k: int) -> float:
    return float(rank_losses(y, guesses, labels=range(1, k + 1)).mean())


def _median(y: Ranks) -> int:
    """Return the median, halves upwards."""
    return int(np.floor(np.median(y) + 0.5))


def _length(X: Array) -> float:
    return float(np.sqrt((X**2).sum(axis=1)).mean()) or 1.0


def _append(X: Array, constant: float) -> Array:
    return np.column_stack([X, np.full(len(X), constant)])


def _hoff(rate: float, X: Array, k: int) -> Any:
    eta = rate / (float((X**2).sum(axis=1).mean()) or 1.0)
    return widrow_hoff(eta, label_order=range(1, k + 1))


def _with_constant(rate: float, X: Array, k: int) -> tuple[Any, Array]:
    rows = _append(X, _length(X))
    return _hoff(rate, rows, k), rows
