"""Ordinal tables: the defaults of fit beside what a user would take instead (--splits).

The tables are those of ``load_ordinal`` and, if ``RANKWISE_DATA`` names a folder, of its folder
``ordinal``. In alphabetical order, settings were chosen on the odd ones and are shown on the even
ones. Rows are split 70/30, standardised on the training part, and the mean distance in ranks on the
rest is divided by that of mord's LogisticAT. Time is of the processor, for fit and predict.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from benchmarks.harness import load, progress
from benchmarks.report import append, describe
from rankwise.datasets import load_ordinal, read_ordinal
from rankwise.magnitude import MPRank
from rankwise.metrics import mean_rank_loss
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, ThresholdRanker, WidrowHoff
from rankwise.pairwise import RankSVM

Array = NDArray[Any]
LOADED = ("balance_scale", "diabetes", "era", "esl", "lev", "swd")
BASE, MEDIAN, ADVISED = "mord LogisticAT", "median", "ThresholdRanker()"


class Rounded:
    """A regressor whose predictions are rounded to ranks."""

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Array, y: Array) -> "Rounded":
        """Fit the ranks as numbers."""
        self.top = y.max()
        self.regressor.fit(X, y)
        return self

    def predict(self, X: Array) -> Array:
        """Return the nearest ranks."""
        return np.clip(np.rint(self.regressor.predict(X)), 0, self.top).astype(int)


def _peer(path: str, **options: Any) -> Callable[[], Any]:
    return lambda: load(path)(**options)


def _rounded(path: str, **options: Any) -> Callable[[], Any]:
    return lambda: Rounded(load(path)(**options))


ONE_PASS: dict[str, Any] = {"epochs": 1, "shuffle": False}
MODELS: dict[str, Callable[[], Any]] = {
    MEDIAN: _rounded("sklearn.dummy.DummyRegressor", strategy="median"),
    BASE: _peer("mord.LogisticAT"),
    "mord LogisticIT": _peer("mord.LogisticIT"),
    "LogisticRegression": _peer("sklearn.linear_model.LogisticRegression"),
    "HGBClassifier": _peer("sklearn.ensemble.HistGradientBoostingClassifier"),
    "HGBRegressor, rounded": _rounded("sklearn.ensemble.HistGradientBoostingRegressor"),
    "skordinal ORBoost": _peer("skordinal.classifiers.ORBoost"),
    "skordinal SVOR": _peer("skordinal.classifiers.SVOR"),
    "skordinal REDSVM": _peer("skordinal.classifiers.REDSVM"),
    ADVISED: ThresholdRanker,
    "ThresholdRanker(costs='observed')": lambda: ThresholdRanker(costs="observed"),
    "PRank(update='pa', kernel='rbf')": lambda: PRank(update="pa", kernel="rbf"),
    "PRank(kernel='rbf')": lambda: PRank(kernel="rbf"),
    "PRank()": PRank,
    "OAPRank()": lambda: OAPRank(random_state=0),
    "WidrowHoff()": WidrowHoff,
    "MulticlassPerceptron()": MulticlassPerceptron,
    "ThresholdRanker(MPRank(1000, kernel='rbf'), costs='expected', cv=None)": lambda: (
        ThresholdRanker(MPRank(1000.0, kernel="rbf"), costs="expected", cv=None)
    ),
    "ThresholdRanker(RankSVM())": lambda: ThresholdRanker(RankSVM()),
    "ThresholdRanker(RankSVM(1, power=1))": lambda: ThresholdRanker(RankSVM(1.0, power=1)),
    "ThresholdRanker(HGBRegressor)": lambda: ThresholdRanker(
        load("sklearn.ensemble.HistGradientBoostingRegressor")()
    ),
    "ThresholdRanker(HGBRegressor, costs='observed')": lambda: ThresholdRanker(
        load("sklearn.ensemble.HistGradientBoostingRegressor")(), costs="observed"
    ),
    "one pass: PRank": lambda: PRank(vote=None, **ONE_PASS),
    "one pass: PRank averaged": lambda: PRank(**ONE_PASS),
    "one pass: OAPRank": lambda: OAPRank(random_state=0, **ONE_PASS),
    "one pass: WidrowHoff plain": lambda: WidrowHoff(step="plain", fit_intercept=False, **ONE_PASS),
    "one pass: MulticlassPerceptron": lambda: MulticlassPerceptron(
        vote=None, fit_intercept=False, **ONE_PASS
    ),
}


def tables() -> dict[str, tuple[Array, Array]]:
    """Return rows and ranks from 0 of all tables that are here, by name."""
    found = {}
    folder = Path(os.environ.get("RANKWISE_DATA", "")) / "ordinal"
    for path in sorted(folder.glob("*.csv")) if "RANKWISE_DATA" in os.environ else ():
        found[path.stem] = read_ordinal(path)
    for name in LOADED:
        try:
            found[name] = load_ordinal(name)
        except ImportError as error:
            progress.print(f"{name}: {error}")
    return {
        name: (data.X, np.unique(data.y, return_inverse=True)[1])
        for name, data in sorted(found.items())
    }


def measure(X: Array, y: Array, n_splits: int, only: str = "") -> dict[str, Array]:
    """Return the loss and the seconds of each model in each split, an array of two columns."""
    chosen = {name: make for name, make in MODELS.items() if only in name or name in (BASE, MEDIAN)}
    results: dict[str, list[tuple[float, float]]] = {}
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order, [int(0.7 * len(y))])
        mean, sd = X[train].mean(axis=0), X[train].std(axis=0)
        Z = (X - mean) / np.where(sd > 0, sd, 1.0)
        # some peers want the ranks to be all of 0..k-1
        labels, ranks = np.unique(y[train], return_inverse=True)
        for name, make in chosen.items():
            try:
                model = make()
            except ImportError:
                continue
            start = process_time()
            said = labels[model.fit(Z[train], ranks).predict(Z[test])]
            seconds = process_time() - start
            loss = mean_rank_loss(y[test], said, labels=np.arange(y.max() + 1))
            results.setdefault(name, []).append((float(loss), seconds))
    return {name: np.array(values) for name, values in results.items()}


def worse_than_median(losses: Array, median: Array) -> bool:
    """Whether a paired t-test at 5 %, corrected for overlapping splits, says so."""
    n, gap = len(losses), losses - median
    error = gap.std(ddof=1) * np.sqrt(1 / n + 3 / 7)
    return bool(gap.mean() > student.ppf(0.975, n - 1) * error and gap.mean() > 0)


def show(title: str, results: dict[str, dict[str, Array]]) -> None:
    """Print a table in Markdown: relative loss, time, where it is worse than the median."""
    names = list(results)
    models = [m for m in MODELS if all(m in results[name] for name in names)]
    base = BASE if BASE in models else MEDIAN

    def mean(model: str, column: int = 0) -> Array:
        return np.array([results[name][model][:, column].mean() for name in names])

    print(f"\n{title}, relative to {base}\n")
    record = []
    print(f"| model | {' | '.join(names)} | mean | seconds | worse than the median |")
    print(f"|---|{'---|' * (len(names) + 3)}")
    relative = {model: mean(model) / mean(base) for model in models}
    for model in sorted(models, key=lambda m: float(relative[m].mean())):
        worse = [
            name
            for name in names
            if worse_than_median(results[name][model][:, 0], results[name][MEDIAN][:, 0])
        ]
        cells = " | ".join(f"{value:.2f}" for value in relative[model])
        seconds = mean(model, 1).sum()
        said = ", ".join(worse) or "-"
        error = float(relative[model].mean())
        record.append({"name": model, "error": error, "seconds": float(seconds)})
        print(f"| {model} | {cells} | {relative[model].mean():.3f} | {seconds:.2f} | {said} |")
    about = {"tables": names, "measure": f"mean distance over that of {base}"}
    append(
        "tables",
        {"kind": title, **describe(None, "mord", "skordinal"), **about, "entrants": record},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all models on all tables and print both halves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--splits", type=int, default=5, help="of each table")
    parser.add_argument("--only", default="", metavar="TEXT", help="models with this in their name")
    parser.add_argument("--half", choices=["odd", "even"], help="of the tables; both by default")
    options = parser.parse_args(arguments)
    results = {}
    for number, (name, (X, y)) in enumerate(tables().items(), start=1):
        if options.half not in (None, ["even", "odd"][number % 2]):
            continue
        progress.print(f"{name}: {X.shape[0]} x {X.shape[1]}, {y.max() + 1} ranks")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = measure(X, y, options.splits, options.only)
    for half, title in (
        ("odd", "Odd tables, on which defaults were chosen"),
        ("even", "Even tables"),
    ):
        names = list(tables())[half == "even" :: 2]
        if options.half in (None, half):
            show(title, {name: results[name] for name in names})
    return 0
