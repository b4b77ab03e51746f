"""What each method of `compare` usually loses on tables of grades, and how to weigh that.

``python -m benchmarks priors [--seeds N]``. The tables come with installed packages or are drawn;
none is of the folder that the advice is judged on (``python -m experiments advice``). From each,
100 to 500 rows are learned from and up to 2,000 others are tested. Printed are, for each method,
the mean logarithm of its loss as a multiple of the best (``_USUAL`` in ``comparison/methods.py``),
and for several weights and tolerances what the advice then costs against the method that is best in
the mean of the seeds, each table judged by what is usual on the others. Takes seven minutes of a
core a seed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from threadpoolctl import threadpool_limits

from benchmarks.harness import progress
from experiments._advised import unit_losses
from rankwise.comparison import _significance, recognise
from rankwise.comparison.measures import MAE
from rankwise.comparison.methods import METHODS, methods_for
from rankwise.comparison.problem import make_folds, make_problem
from rankwise.comparison.trials import choose, fit, run
from rankwise.datasets import load_ordinal

Array = NDArray[Any]
_TESTED, _REPEATS = 2000, 5
_SPREADS = (0.02, 0.04, 0.07, 0.1, 1e3)
_SIMPLER = (0.0, 0.25, 0.5, 1.0, 2.0)


class Found(NamedTuple):
    """Of each method the losses on folds, a row each, and on rows that were set aside."""

    methods: list[str]
    folds: Array
    held: Array


def _grades(values: Array, n_ranks: int) -> Array:
    """Cut values into grades of nearly equal size."""
    return 1 + np.searchsorted(np.quantile(values, np.arange(1, n_ranks) / n_ranks), values)


def _ordinal(name: str) -> tuple[Array, Array]:
    data = load_ordinal(name)
    return data.X, data.y


def _stats(name: str, target: str, n_ranks: int | None = None) -> tuple[Array, Array]:
    from statsmodels import datasets as carried  # noqa: PLC0415

    table = getattr(carried, name).load_pandas().data.dropna()
    y = table[target].to_numpy()
    X = table.drop(columns=[target]).to_numpy(float)
    return X, y.astype(int) if n_ranks is None else _grades(y, n_ranks)


def _schools() -> tuple[Array, Array]:
    from statsmodels.datasets import star98  # noqa: PLC0415

    table = star98.load_pandas().data.dropna()
    above, below = table.pop("NABOVE"), table.pop("NBELOW")
    return table.to_numpy(float), _grades((above / (above + below)).to_numpy(), 5)


def _column(loader: Callable[..., Any], target: str, n_ranks: int) -> tuple[Array, Array]:
    """Grade a column by the others; of the means of tumours, those that are not nearly the same."""
    table = loader(as_frame=True).data
    y = _grades(table.pop(target).to_numpy(), n_ranks)
    if target == "worst area":
        sizes = ("mean area", "mean radius", "mean perimeter")
        table = table[[name for name in table if name.startswith("mean") and name not in sizes]]
    return table.to_numpy(float), y


def _drawn(draw: Callable[..., Any], **options: Any) -> tuple[Array, Array]:
    X, y = draw(n_samples=2500, random_state=5, **options)
    return X, _grades(y, 5)


# How a table is got, and how many rows are learned from.
TABLES: dict[str, tuple[Callable[[], tuple[Array, Array]], int]] = {
    "diabetes": (partial(_ordinal, "diabetes"), 300),
    "balance_scale": (partial(_ordinal, "balance_scale"), 350),
    "era": (partial(_ordinal, "era"), 400),
    "esl": (partial(_ordinal, "esl"), 250),
    "lev": (partial(_ordinal, "lev"), 400),
    "swd": (partial(_ordinal, "swd"), 400),
    "fair": (partial(_stats, "fair", "rate_marriage"), 350),
    "randhie": (partial(_stats, "randhie", "mdvis", 4), 500),
    "anes96": (partial(_stats, "anes96", "PID"), 400),
    "star98": (_schools, 200),
    "iris": (partial(_column, datasets.load_iris, "petal width (cm)", 5), 105),
    "wine": (partial(_column, datasets.load_wine, "proline", 5), 125),
    "cancer": (partial(_column, datasets.load_breast_cancer, "worst area", 6), 350),
    "friedman1": (partial(_drawn, datasets.make_friedman1, noise=1.0), 200),
    "friedman2": (partial(_drawn, datasets.make_friedman2, noise=80.0), 300),
    "friedman3": (partial(_drawn, datasets.make_friedman3, noise=0.1), 400),
    "sparse": (partial(_drawn, datasets.make_sparse_uncorrelated), 150),
}


def measure(X: Array, y: Array, n_learned: int, seed: int) -> Found:
    """Compare the methods on some rows of a table, and test them on others."""
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(response=y)
    whole = make_problem(frame, recognise(frame, target="response"))
    order = np.random.default_rng([seed, 7]).permutation(len(y))
    learned = whole.take(np.sort(order[:n_learned]))
    held = whole.take(np.sort(order[n_learned : n_learned + _TESTED]))
    folds = make_folds(learned, 5, _REPEATS, seed)
    methods, values, losses = [], [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in methods_for(learned):
            tried = run(method.name, learned, folds, seed)
            if not tried.failure:
                setting = choose(method, learned, MAE, seed)
                methods.append(method.name)
                values.append(tried.values[:, 0])
                losses.append(unit_losses(fit(method, learned, setting, seed), held).mean())
    return Found(methods, np.array(values), np.array(losses))


def usual_of(found: dict[str, list[Found]], left_out: str = "") -> dict[str, float]:
    """Return what methods lose as a multiple of the best, the mean logarithm over tables."""
    excess: dict[str, list[float]] = {}
    for table, trials in found.items():
        for one in trials if table != left_out else ():
            for name, loss in zip(one.methods, one.held, strict=True):
                excess.setdefault(name, []).append(float(np.log(loss / one.held.min())))
    return {name: float(np.mean(values)) for name, values in excess.items()}


def cost(found: dict[str, list[Found]], spread: float, simpler: float, n_repeats: int) -> float:
    """Return what the advice costs in the mean over tables, with so many repeats of the folds."""
    kept = {method.name for method in METHODS if method.kept}
    costs = []
    for table, trials in found.items():
        usual = usual_of(found, table)
        lost = []
        for one in trials:
            for first in range(0, _REPEATS - n_repeats + 1, n_repeats):
                folds = one.folds[:, 5 * first : 5 * (first + n_repeats)]
                losses = dict(zip(one.methods, folds, strict=True))
                expected, error = _significance.expected_losses(
                    losses, usual, 0.25, spread, simpler
                )
                least = min(expected[name] for name in expected if name in kept) + error
                name = next(name for name in expected if name in kept and expected[name] <= least)
                lost.append(one.held[one.methods.index(name)])
        best = np.mean([one.held for one in trials], axis=0).min()
        costs.append(np.mean(lost) / best - 1)
    return float(np.mean(costs))


def main(arguments: list[str]) -> int:
    """Measure, and print what is usual and what the advice costs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks priors", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(parser.parse_args(arguments).seeds)
    found: dict[str, list[Found]] = {}
    for table, (get, n_learned) in TABLES.items():
        X, y = get()
        found[table] = [measure(X, y, n_learned, seed) for seed in seeds]
        progress.print(table)
    for name, value in usual_of(found).items():
        print(f"{name:30} {value:5.2f}")
    for spread, simpler in product(_SPREADS, _SIMPLER):
        shown = ", ".join(
            f"{cost(found, spread, simpler, n):.1%} with {n} x 5 folds" for n in (1, 2, 5)
        )
        print(f"spread {spread:4}, tolerance {simpler}: the advice costs {shown}")
    return 0
