"""AdaBoost with a constant base learner and RankBoost: the same optimum in the limit (paper 5).

With F- and F+ the sums of exp(f) over negative and of exp(-f) over positive rows, AdaBoost lowers
F- + F+ and RankBoost F- F+. A constant learner makes AdaBoost bring F- and F+ to be equal, and then
both have the same optimum: (C. Rudin, C. Cortes, M. Mohri and R. Schapire, Margin-based ranking
meets boosting in the middle, COLT 2005), if the classes can't be separated.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from experiments._figures import panels
from experiments._index import claim
from experiments._trials import check_sizes
from rankwise.boosting import RankBoost
from rankwise.metrics import auc_score
from rankwise.reports import Report, Table, Track

Array = NDArray[np.float64]

FEATURES, LEVELS = 6, 5
# What the general solver that finds the optimum leaves open.
_EXACT = 1e-10
# How near to the limit, as a share, the rounds must end to agree.
_CLOSE = 0.01
NAMES = ("RankBoost", "AdaBoost with a constant", "AdaBoost without")


class Run(NamedTuple):
    """Some rounds, and after each the mean of exp(-(s_j - s_i)) over pairs, F- / F+ and AUCs."""

    rounds: NDArray[np.int64]
    pairs: Array
    balance: Array
    auc: Array
    test_auc: Array


def adaboost(
    *,
    n_rows: int = 300,
    n_test: int = 5_000,
    n_rounds: int = 1_000,
    seed: int = 0,
    track: Track[str] = iter,
) -> Report:
    """Follow both objectives and the AUC over the rounds.

    Parameters
    ----------
    n_rows, n_test : int
        Rows to learn from and to test on, a third of them positive; six features of five levels.
    n_rounds : int, default=1000
        Rounds of each algorithm.
    seed : int, default=0
        Draws the rows.
    track : callable, default=iter
        Wraps the sequence of algorithms to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_rounds=n_rounds)
    check_sizes(30, n_rows=n_rows, n_test=n_test)
    random = np.random.default_rng(seed)
    (X, y), (new, truth) = draw(n_rows, random), draw(n_test, random)
    rounds = np.unique(np.geomspace(1, n_rounds, 61).round().astype(np.int64))
    rounds = np.union1d(rounds, 10 ** np.arange(len(str(n_rounds))))
    rounds = rounds[rounds <= n_rounds]
    runs = {}
    for name in track(list(NAMES)):
        if name == "RankBoost":
            model = RankBoost(n_rounds, criterion="edge", max_bins=None).fit(X, y)
            scores, tests = (
                [s for k, s in enumerate(model.staged_predict(rows), 1) if k in rounds]
                for rows in (X, new)
            )
        else:
            constant = name == NAMES[1]
            steps = boost(base_learners(X, constant=constant), y, n_rounds)[:, rounds - 1]
            scores, tests = (
                list((base_learners(rows, constant=constant) @ steps).T) for rows in (X, new)
            )
        runs[name] = _follow(rounds, y, scores, truth, tests)
    best = optimum(X, y)
    return Report(
        title="AdaBoost with a constant base learner, and RankBoost",
        setting=(
            f"{n_rows} rows, {int(y.sum())} of them positive, {FEATURES} features of {LEVELS} "
            f"levels that don't separate the classes; {n_test:,} test rows; seed {seed}"
        ),
        tables=[_table(runs, best)],
        findings=[_finding(runs, best)],
        figures={"objective": _figure(runs, best)},
    )


def draw(n: int, random: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    """Draw rows of whole numbers, and classes of which no threshold is sure."""
    X = random.integers(0, LEVELS, (n, FEATURES)).astype(np.float64)
    liking = X @ np.linspace(1, 0, FEATURES) + 3 * random.standard_normal(n)
    return X, (liking > np.quantile(liking, 2 / 3)).astype(np.int64)


def base_learners(X: Array, *, constant: bool) -> Array:
    """Return 1 or -1 for every threshold of every feature, a column each, and the constant 1."""
    cuts = np.arange(LEVELS - 1) + 0.5
    columns = np.where(X[:, :, None] > cuts, 1.0, -1.0).reshape(len(X), -1)
    return np.column_stack([columns, np.ones(len(X))]) if constant else columns


def boost(G: Array, y: NDArray[np.int64], n_rounds: int) -> Array:
    """Run AdaBoost on the columns of G; return the coefficients after each round, a column each."""
    margins = G * np.where(y == 1, 1.0, -1.0)[:, None]
    total, coef = np.zeros(len(G)), np.zeros(G.shape[1])
    path = np.empty((G.shape[1], n_rounds))
    for t in range(n_rounds):
        weight = np.exp(-(total - total.min()))
        edges = weight @ margins / weight.sum()
        j = int(np.abs(edges).argmax())
        step = 0.5 * np.log((1 + edges[j]) / (1 - edges[j]))
        coef[j] += step
        total += step * margins[:, j]
        path[:, t] = coef
    return path


def optimum(X: Array, y: NDArray[np.int64]) -> float:
    """Return the least mean of exp(-(s_j - s_i)) over pairs, by a general solver."""
    G = base_learners(X, constant=False)
    negative, positive = G[y == 0], G[y == 1]

    def log_loss(coef: Array) -> tuple[float, Array]:
        low, high = np.exp(negative @ coef), np.exp(-(positive @ coef))
        slope = low @ negative / low.sum() - high @ positive / high.sum()
        return float(np.log(low.mean()) + np.log(high.mean())), slope

    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 10_000}
    found = minimize(log_loss, np.zeros(G.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return float(np.exp(found.fun))


def _follow(
    rounds: NDArray[np.int64],
    y: NDArray[np.int64],
    scores: list[Array],
    truth: NDArray[np.int64],
    tests: list[Array],
) -> Run:
    # RankBoost may end early.
    rounds = rounds[: len(scores)]
    low = np.array([np.exp(s[y == 0]).sum() for s in scores])
    high = np.array([np.exp(-s[y == 1]).sum() for s in scores])
    n_pairs = int((y == 0).sum()) * int((y == 1).sum())
    auc = [auc_score(y, s) for s in scores]
    return Run(
        rounds, low * high / n_pairs, low / high, np.array(auc),
        np.array([auc_score(truth, s) for s in tests]),
    )  # fmt: skip


def _above(value: float, best: float) -> str:
    """Return by which share a value is above the optimum, as far as the solver is exact."""
    share = value / best - 1
    return f"{share:.1e}" if share > _EXACT else f"under {_EXACT:.0e}"


def _table(runs: dict[str, Run], best: float) -> Table:
    rows = []
    for name, run in runs.items():
        shown = np.isin(run.rounds, 10 ** np.arange(9))
        shown[-1] = True
        rows += [
            [
                name,
                f"{run.rounds[at]:,}",
                f"{run.pairs[at]:.6f}",
                _above(run.pairs[at], best),
                f"{run.balance[at]:.3f}",
                f"{run.auc[at]:.4f}",
                f"{run.test_auc[at]:.4f}",
            ]
            for at in np.flatnonzero(shown)
        ]
    columns = ["algorithm", "rounds", "F- F+ / pairs", "above the optimum", "F- / F+", "AUC",
               "test AUC"]  # fmt: skip
    return Table(f"The pair objective; its optimum is {best:.6f}", columns, rows)


def _finding(runs: dict[str, Run], best: float) -> str:
    last = {name: _above(run.pairs[-1], best) for name, run in runs.items()}
    balance = runs[NAMES[1]].balance[-1]
    off = runs[NAMES[1]].pairs[-1] / best - 1
    agrees = off < _CLOSE and abs(balance - 1) < _CLOSE
    return claim(
        "Paper 5",
        "with a constant base learner, where classes can't be separated, positive and negative "
        "points contribute equally in the limit, and AdaBoost achieves RankBoost's optimum.",
        f"F- / F+ ends at {balance:.4f}; the pair objective ends {last[NAMES[1]]} above the "
        f"optimum with the constant, {last[NAMES[2]]} without, and {last[NAMES[0]]} by "
        "RankBoost.",
        "agrees: the constant brings AdaBoost to the optimum of the pairs."
        if agrees
        else "not met in these rounds.",
    )


def _figure(runs: dict[str, Run], best: float) -> Any:
    figure, axes = panels(["pair objective above the optimum"], xlabel="rounds", ylabel="share")
    for name, run in runs.items():
        axes[0].plot(run.rounds, np.maximum(run.pairs / best - 1, _EXACT), label=name)
    axes[0].set(xscale="log", yscale="log")
    axes[0].legend(frameon=False)
    return figure
