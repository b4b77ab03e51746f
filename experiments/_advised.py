"""One trial of `advice`: compare on seven tenths of a table, measure all methods on the rest."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.comparison import compare, read_table, recognise
from rankwise.comparison.methods import methods_for
from rankwise.comparison.problem import Problem, make_folds, make_problem
from rankwise.comparison.trials import answer, choose, fit
from rankwise.datasets import load_ordinal
from rankwise.metrics import ndcg_score

Floats = NDArray[np.float64]
_CARRIED = ("diabetes", "balance_scale", "era", "esl", "lev", "swd")


def trial(setting: dict[str, Any], folder: str | None) -> dict[str, Any]:
    """Return the advised method, and what each method loses on rows set aside by the split."""
    frame, roles = sources(folder)[setting["table"]]()
    return advised_and_losses(frame, roles, quick=setting["quick"], seed=setting["seed"])


def advised_and_losses(
    frame: Any, roles: dict[str, Any], *, quick: bool, seed: int
) -> dict[str, Any]:
    """Return the advice on seven tenths of a table and the losses of all methods on the rest.

    Returns
    -------
    dict
        ``advised``, ``folds`` (by method: the measure on each fold of the comparison), ``losses``
        (by method: the mean of `unit_losses`), ``errors`` (by method: the standard error of the
        mean of their differences to those of the advised one), ``lists`` (whether there are lists)
        and ``units``, how many rows or lists were set aside.
    """
    whole = make_problem(frame, recognise(frame, **roles))
    parts = make_folds(whole, 10, 1, seed)
    test = np.sort(np.concatenate([held for _, held in parts[:3]]))
    kept = np.setdiff1d(np.arange(len(whole.y)), test)
    found = compare(frame.iloc[kept], **roles, quick=quick, random_state=seed, max_rows=10**9)
    learned, held = whole.take(kept), whole.take(test)
    losses = {}
    for method in methods_for(learned, quick=quick):
        if not found.row(method.name).failure:
            setting = choose(method, learned, found.measures[0], seed)
            losses[method.name] = unit_losses(fit(method, learned, setting, seed), held)
    mine = losses[found.best]
    return {
        "advised": found.best,
        "folds": {name: found.trials[name].values[:, 0] for name in losses},
        "losses": {name: float(values.mean()) for name, values in losses.items()},
        "errors": {
            name: float((values - mine).std(ddof=1) / np.sqrt(len(mine)))
            for name, values in losses.items()
        },
        "lists": whole.qid is not None,
        "units": len(mine),
    }


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


def sources(folder: str | Path | None) -> dict[str, Any]:
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
    from rankwise.io.files import pandas  # noqa: PLC0415

    read = [read_table(path) for path in paths]
    return pandas().concat([part.frame for part in read], ignore_index=True), read[0].roles


def _carried(name: str) -> tuple[Any, dict[str, str]]:
    from rankwise.io.files import pandas  # noqa: PLC0415

    data = load_ordinal(name)
    return pandas().DataFrame(data.X, columns=data.names).assign(grade=data.y), {"target": "grade"}
