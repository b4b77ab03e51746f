"""What following the advice of `rankwise compare` costs.

Of each table three tenths are set aside. On the rest the methods are compared, and the advice is
taken. Then every method is fitted to the rest, and measured on what was set aside: how much worse
is the advised one than the one that turns out best?
"""

import os
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.comparison import compare, read_table, recognise
from rankwise.comparison._methods import methods_for
from rankwise.comparison._problem import Problem, make_folds, make_problem
from rankwise.comparison._trials import answer, choose, fit
from rankwise.datasets import load_ordinal
from rankwise.metrics import ndcg_score
from rankwise.reports import Report, Table, Track

Floats = NDArray[np.float64]
_CARRIED = ("diabetes", "balance_scale", "era", "esl", "lev", "swd")


class Cost(NamedTuple):
    """What the advice cost on a table.

    Attributes
    ----------
    table, advised, best : str
        The table, the method that was advised, and the one that was best on unseen rows.
    advised_value, best_value : float
        Their measures there.
    regret : float
        How much worse the first is, as a share of the second.
    error : float
        The paired standard error of the difference of the two, as a share of the second.
    """

    table: str
    advised: str
    best: str
    advised_value: float
    best_value: float
    regret: float
    error: float


def advice(
    *,
    folder: str | Path | None = None,
    quick: bool = True,
    tables: tuple[str, ...] | None = None,
    seed: int = 0,
    track: Track[Any] = iter,
) -> Report:
    """Measure what following the advice costs, on tables of grades and on MQ2008.

    Parameters
    ----------
    folder : path, default=None
        Where ``ordinal/*.csv`` and ``letor-mq2008`` are; None: the folder that the environment
        variable RANKWISE_DATA names. If it has none, the tables that installed packages carry.
    quick : bool, default=True
        Whether methods are compared by five folds, or by two times five.
    tables : tuple of str, default=None
        Only these tables.
    seed : int, default=0
        Of the rows that are set aside, and of the comparison.
    track : callable, default=iter
        Wraps the sequence of tables to show progress.

    Returns
    -------
    Report
    """
    sources = _sources(folder)
    names = [name for name in sources if tables is None or name in tables]
    if not names:
        raise ValueError(f"tables={tables} are not among {', '.join(sources)}")
    costs = [
        cost_of_advice(name, *sources[name](), quick=quick, seed=seed) for name in track(names)
    ]
    regrets = [cost.regret for cost in costs]
    beyond = [cost.table for cost in costs if cost.regret > 2 * cost.error]
    return Report(
        "What following the advice costs",
        f"{len(costs)} tables, three tenths of each set aside; {'5' if quick else '2 x 5'} folds; "
        f"seed {seed}",
        [
            Table(
                "On rows that the comparison has not seen",
                ["table", "advised", "best", "value of advised", "of best", "worse by", "2 s.e."],
                [_row(cost) for cost in costs],
            )
        ],
        [
            f"On average the advice costs {np.mean(regrets):.1%} of the measure.",
            "On no table more than two paired standard errors."
            if not beyond
            else f"More than two paired standard errors on {', '.join(beyond)}.",
        ],
    )


def _row(cost: Cost) -> list[str]:
    values = [f"{cost.advised_value:.3f}", f"{cost.best_value:.3f}"]
    shares = [f"{cost.regret:.1%}", f"{2 * cost.error:.1%}"]
    return [cost.table, cost.advised, cost.best, *values, *shares]


def cost_of_advice(
    table: str, frame: Any, roles: dict[str, Any], *, quick: bool, seed: int
) -> Cost:
    """Compare on seven tenths of a table and measure all methods on the rest."""
    whole = make_problem(frame, recognise(frame, **roles))
    parts = make_folds(whole, 10, 1, seed)
    test = np.sort(np.concatenate([held for _, held in parts[:3]]))
    kept = np.setdiff1d(np.arange(len(whole.y)), test)
    found = compare(frame.iloc[kept], **roles, quick=quick, random_state=seed, max_rows=10**9)
    learned, held = whole.take(kept), whole.take(test)
    losses = {}
    for method in methods_for(learned, quick=quick):
        setting = choose(method, learned, found.measures[0], seed)
        losses[method.name] = unit_losses(fit(method, learned, setting, seed), held)
    means = {name: float(values.mean()) for name, values in losses.items()}
    best = min(means, key=lambda name: means[name])
    differences = losses[found.best] - losses[best]
    shown = {name: mean if whole.qid is None else 1.0 - mean for name, mean in means.items()}
    scale = shown[best]
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return Cost(
        table,
        found.best,
        best,
        shown[found.best],
        shown[best],
        float(differences.mean()) / scale,
        error / scale,
    )


def unit_losses(model: Any, held: Problem) -> Floats:
    """Return what each row costs in ranks, or each list in NDCG@10."""
    answers = answer(model, held)
    if held.qid is None:
        return np.abs(held.y - np.asarray(answers.ranks))
    found = []
    for query in np.unique(held.qid):
        rows = held.qid == query
        if held.y[rows].max() > held.y.min():
            gain = ndcg_score(held.y[rows] - held.y.min(), answers.scores[rows], k=10)
            found.append(1.0 - gain)
    return np.array(found)


def _sources(folder: str | Path | None) -> dict[str, Any]:
    """Return a function for each table that reads it: the frame and the parts of its columns."""
    place = folder or os.environ.get("RANKWISE_DATA")
    found: dict[str, Any] = {}
    for path in sorted(Path(place).glob("ordinal/*.csv")) if place else ():
        found[path.stem] = partial(_read, path)
    if place and (letor := sorted(Path(place).glob("letor-mq2008/S?.txt"))):
        found["MQ2008"] = partial(_joined, letor)
    return found or {name: partial(_carried, name) for name in _CARRIED}


def _read(path: Path) -> tuple[Any, dict[str, str]]:
    return read_table(path).frame, {"target": "response"}


def _joined(paths: list[Path]) -> tuple[Any, dict[str, str]]:
    from rankwise.datasets._files import pandas  # noqa: PLC0415

    read = [read_table(path) for path in paths]
    return pandas().concat([part.frame for part in read], ignore_index=True), read[0].roles


def _carried(name: str) -> tuple[Any, dict[str, str]]:
    from rankwise.datasets._files import pandas  # noqa: PLC0415

    data = load_ordinal(name)
    return pandas().DataFrame(data.X, columns=data.names).assign(grade=data.y), {"target": "grade"}
