"""What following the advice of `rankwise compare` costs.

Of each table three tenths are set aside. On the rest the methods are compared, and the advice is
taken. Then every method is fitted to the rest, and measured on what was set aside. This is done for
several splits, more of them if a table is small: how much worse are the advised methods than the
one that is best over all of them?

On a single split the best of a dozen methods is partly the luckiest on its rows: a method that is
best in the long run would lose to it too. How much is shown beside.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments._advised import sources, trial
from experiments._runs import run_all, tidy
from rankwise.comparison._significance import standard_error
from rankwise.reports import Report, Table, Track

# Rows tested for each row learned from.
_SHARE = 3 / 7
_MOST_SPLITS = 20


class Cost(NamedTuple):
    """What the advice cost on a table, over several splits.

    Attributes
    ----------
    table : str
        The table.
    units : int
        Rows or lists that were set aside in each split.
    advised : list of str
        The method that was advised in each split.
    best : str
        The one that is best on unseen rows, in the mean over the splits.
    winners : list of str
        The one that turned out best in each split.
    advised_value, best_value : float
        Means over the splits.
    regret : float
        How much worse the first is, as a share of the second.
    error : float
        The paired standard error of their difference, as a share of the second.
    single : float
        How much worse the advised method is than the winner of its split, in the mean.
    hindsight : float
        How much worse ``best`` is than the winner of a split, in the mean.
    """

    table: str
    units: int
    advised: list[str]
    best: str
    winners: list[str]
    advised_value: float
    best_value: float
    regret: float
    error: float
    single: float
    hindsight: float


def advice(
    *,
    folder: str | Path | None = None,
    quick: bool = True,
    rows: int = 200,
    splits: int = 1,
    tables: tuple[str, ...] | None = None,
    seed: int = 0,
    track: Track[Any] = iter,
    jobs: int = 1,
    keep: Path | None = None,
) -> Report:
    """Measure what following the advice costs, on tables of grades and on MQ2008.

    Parameters
    ----------
    folder : path, default=None
        Where ``ordinal/*.csv`` and ``letor-mq2008`` are; None: the folder that the environment
        variable RANKWISE_DATA names. If it has none, the tables that installed packages carry.
    quick : bool, default=True
        Whether methods are compared as by ``compare --quick``.
    rows : int, default=200
        Rows of each table to be tested on, in all: small tables are split more often.
    splits : int, default=1
        At least so many splits of each table.
    tables : tuple of str, default=None
        Only these tables.
    seed : int, default=0
        Of the first split and its comparison; the next have the next ones.
    track : callable, default=iter
        Wraps the sequence of trials to show progress.
    jobs : int, default=1
        Trials that run at the same time.
    keep : Path, default=None
        A folder for finished trials, to go on with later.

    Returns
    -------
    Report
    """
    known = sources(folder)
    names = [name for name in known if tables is None or name in tables]
    if not names or not {*(tables or ())} <= known.keys():
        raise ValueError(f"tables={tables} are not among {', '.join(known)}")
    n_splits = {name: max(splits, _n_splits(known[name](), rows)) for name in names}
    settings = [
        {"table": name, "seed": seed + split, "quick": quick}
        for split in range(max(n_splits.values()))
        for name in names
        if split < n_splits[name]
    ]
    place = None if folder is None else str(folder)
    found = run_all(
        trial,
        settings,
        shared=(place,),
        keep=keep,
        jobs=jobs,
        track=track,
        rooms=("comparison",),
    )
    costs = [
        cost_of_advice(
            name,
            [one for one, of in zip(found, settings, strict=True) if of["table"] == name],
        )
        for name in names
    ]
    beyond = [cost.table for cost in costs if cost.regret > 2 * cost.error]
    how = "as by --quick" if quick else "in full"
    means = {
        part: f"{np.mean([getattr(cost, part) for cost in costs]):.1%}"
        for part in ("regret", "single", "hindsight")
    }
    first = (
        f"On average the advice costs {means['regret']} of the measure, against the method that is "
        "best in the mean of the splits."
    )
    last = (
        f"Against the winner of each single split it costs {means['single']}; there the method "
        f"that is best in the mean costs {means['hindsight']}, which no advice can be sure to beat."
    )
    return Report(
        "What following the advice costs",
        f"{len(costs)} tables, three tenths of each set aside until {rows:,} rows or more were "
        f"tested; compared {how}; seed {seed}",
        [_means(costs), _single(costs)],
        [
            first,
            "On no table more than two paired standard errors."
            if not beyond
            else f"More than two paired standard errors on {', '.join(beyond)}.",
            last,
        ],
        results=tidy(settings, found),
    )


def _n_splits(source: tuple[Any, dict[str, str]], rows: int) -> int:
    frame, roles = source
    n_rows = int(frame[roles["target"]].notna().sum())
    return min(round(rows / (0.3 * n_rows)), _MOST_SPLITS)


def cost_of_advice(table: str, found: list[dict[str, Any]]) -> Cost:
    """Return what the advice cost on a table, from its trials."""
    methods = [name for name in found[0]["losses"] if all(name in one["losses"] for one in found)]
    losses = np.array([[one["losses"][name] for name in methods] for one in found])
    best = int(np.argmin(losses.mean(axis=0)))
    mine = np.array([one["losses"][one["advised"]] for one in found])
    apart = mine - losses[:, best]
    winning = losses.min(axis=1)
    error = standard_error(apart, _SHARE)
    if len(found) == 1:  # no splits to tell by: the rows do
        error = found[0]["errors"][methods[best]]
    # of lists the measure is a gain, of which more is better
    sign, start = (-1.0, 1.0) if found[0]["lists"] else (1.0, 0.0)
    best_value = start + sign * float(losses[:, best].mean())
    scales = start + sign * winning
    return Cost(
        table,
        found[0]["units"],
        [one["advised"] for one in found],
        methods[best],
        [methods[place] for place in losses.argmin(axis=1)],
        start + sign * float(mine.mean()),
        best_value,
        float(_share(apart.mean(), best_value)),
        float(_share(error, best_value)),
        float(np.mean(_share(mine - winning, scales))),
        float(np.mean(_share(losses[:, best] - winning, scales))),
    )


def _share(part: Any, whole: Any) -> Any:
    """Return a part of a whole; of nothing, where a method makes no mistake, 0 or infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(part, 0), 0.0, np.divide(part, whole))


def _means(costs: list[Cost]) -> Table:
    rows = []
    for cost in costs:
        values = [f"{cost.advised_value:.3f}", f"{cost.best_value:.3f}"]
        shares = [f"{cost.regret:.1%}", f"{2 * cost.error:.1%}"]
        tested = f"{len(cost.advised)} x {cost.units}"
        rows.append([cost.table, tested, _often(cost.advised), cost.best, *values, *shares])
    return Table(
        "On rows that the comparison has not seen, in the mean of the splits",
        ["table", "tested", "advised", "best", "value of advised", "of best", "worse by", "2 s.e."],
        rows,
    )


def _single(costs: list[Cost]) -> Table:
    rows = [
        [
            cost.table,
            str(cost.units),
            f"{len(set(cost.winners))} of {len(cost.winners)}",
            f"{cost.single:.1%}",
            f"{cost.hindsight:.1%}",
        ]
        for cost in costs
    ]
    return Table(
        "Against the winner of each split, which luck has chosen too",
        ["table", "units", "different winners", "the advised", "the best in the mean"],
        rows,
    )


def _often(names: list[str]) -> str:
    """Return the name that comes most often, and how often if not always."""
    counts = {name: names.count(name) for name in names}
    most = max(counts, key=lambda name: counts[name])
    return most if len(counts) == 1 else f"{most} ({counts[most]} of {len(names)})"
