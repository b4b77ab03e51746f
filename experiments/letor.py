"""LETOR MQ2008: rankers of documents by query, in five folds.

T. Qin and T.-Y. Liu, Introducing LETOR 4.0 Datasets, arXiv:1306.2597, 2013. In each fold three
parts are learned from, one chooses C and one is the test. Learners of other libraries take part if
they are installed, with their default settings.
"""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rankwise.datasets import read_letor
from rankwise.magnitude import MPRank, SVRank
from rankwise.metrics import (
    average_precision_score,
    mean_interval,
    ndcg_score,
    pairwise_misranking_loss,
)
from rankwise.pairwise import RankSVM
from rankwise.reports import Report, Table, Track

Array = NDArray[Any]

PARTS = 5
CS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)


class Part(NamedTuple):
    """Documents, their grades and their queries, sorted by query."""

    X: Array
    y: Array
    qid: Array


Predict = Callable[[Array], Array]
Learn = Callable[[Part, Part], tuple[Predict, str]]


def letor(*, folder: str | Path | None = None, seed: int = 0, track: Track[int] = iter) -> Report:
    """Compare rankers on the five folds of MQ2008.

    Parameters
    ----------
    folder : path, default=None
        Where S1.txt to S5.txt are; None: letor-mq2008 in the folder that the environment variable
        RANKWISE_DATA names.
    seed : int, default=0
        Of the peers, which draw.
    track : callable, default=iter
        Wraps the sequence of folds to show progress, such as ``rich.progress.track``.
    """
    files = [_folder(folder) / f"S{part + 1}.txt" for part in range(PARTS)]
    if missing := [str(path) for path in files if not path.is_file()]:
        raise ValueError(f"folder: there is no file {missing[0]}; LETOR 4.0 has MQ2008 with it")
    parts = [_read(path) for path in files]
    learners = _learners(seed)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in learners}
    chosen: dict[str, list[str]] = {name: [] for name in learners}
    with threadpool_limits(1):
        for fold in track(range(PARTS)):
            train = _join([parts[(fold + k) % PARTS] for k in range(3)])
            valid, test = (parts[(fold + k) % PARTS] for k in (3, 4))
            for name, learn in learners.items():
                start = perf_counter()
                predict, choice = learn(train, valid)
                seconds = perf_counter() - start
                found[name].append((*_measures(test, predict(test.X)), seconds))
                chosen[name].append(choice)
    rows = []
    for name, folds in found.items():
        values = np.array(folds)
        cells = [f"{mean_interval(column)[0]:.4f}" for column in values[:, :3].T]
        rows.append([name, *cells, f"{values[:, 3].mean():.2f}"])
    columns = ["learner", "NDCG@10", "MAP", "misranking", "seconds"]
    choices = [[name, *picks] for name, picks in chosen.items() if picks[0] != "-"]
    return Report(
        title="Documents by query: LETOR MQ2008",
        setting=(
            f"{sum(len(p.y) for p in parts):,} documents, {sum(_count(p) for p in parts)} queries, "
            f"{parts[0].X.shape[1]} features, five folds; C of ours is the best of {len(CS)} on "
            "the validation part by NDCG@10, and the time is that of all; others with their "
            "defaults; one thread"
        ),
        tables=[
            Table("Test parts, mean of five folds", columns, rows),
            Table("C by fold", ["learner", *(str(fold + 1) for fold in range(PARTS))], choices),
        ],
        findings=[_leader(rows), _absent()],
        figures={},
    )


def _folder(folder: str | Path | None) -> Path:
    if folder is not None:
        return Path(folder)
    home = os.environ.get("RANKWISE_DATA")
    if not home:
        raise ValueError(
            "folder: name where S1.txt to S5.txt of LETOR MQ2008 are, or set the environment "
            "variable RANKWISE_DATA to the folder that holds letor-mq2008"
        )
    return Path(home) / "letor-mq2008"


def _read(path: Path) -> Part:
    data = read_letor(path, n_features=46)
    order = np.argsort(data.qid, kind="stable")
    return Part(data.X[order], data.y[order], data.qid[order])


def _join(parts: list[Part]) -> Part:
    joined = Part(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    order = np.argsort(joined.qid, kind="stable")
    return Part(*(array[order] for array in joined))


def _count(part: Part) -> int:
    return len(np.unique(part.qid))


def _measures(part: Part, said: Array) -> tuple[float, float, float]:
    return (
        ndcg_score(part.y, said, qid=part.qid, k=10),
        average_precision_score(part.y, said, qid=part.qid),
        pairwise_misranking_loss(part.y, said, qid=part.qid, ties="half"),
    )


def _learners(seed: int) -> dict[str, Learn]:
    learners: dict[str, Learn] = {
        "RankSVM, power 1": _ours(RankSVM(power=1, warm_start=True)),
        "RankSVM, power 2": _ours(RankSVM(power=2, warm_start=True)),
        "RankSVM, magnitude margin": _ours(RankSVM(power=2, margin="magnitude", warm_start=True)),
        "SVRank, power 1": _ours(SVRank(warm_start=True)),
        "SVRank, power 2": _ours(SVRank(power=2, warm_start=True)),
        "MPRank": _ours(MPRank()),
    }
    if find_spec("lightgbm"):
        learners["LightGBM lambdarank"] = _lightgbm(seed)
    if find_spec("xgboost"):
        learners["XGBoost rank:pairwise"] = _xgboost(seed)
    return learners


def _ours(model: Any) -> Learn:
    def learn(train: Part, valid: Part) -> tuple[Predict, str]:
        best = -np.inf, 0.0
        for C in CS:
            model.set_params(C=C).fit(train.X, train.y, qid=train.qid)
            score = ndcg_score(valid.y, model.predict(valid.X), qid=valid.qid, k=10)
            best = max(best, (score, C))
        model.set_params(C=best[1]).fit(train.X, train.y, qid=train.qid)
        return model.predict, f"{best[1]:g}"

    return learn


def _lightgbm(seed: int) -> Learn:
    def learn(train: Part, _valid: Part) -> tuple[Predict, str]:
        ranker = import_module("lightgbm").LGBMRanker(n_jobs=1, random_state=seed, verbose=-1)
        ranker.fit(train.X, train.y, group=np.unique(train.qid, return_counts=True)[1])
        return ranker.booster_.predict, "-"

    return learn


def _xgboost(seed: int) -> Learn:
    def learn(train: Part, _valid: Part) -> tuple[Predict, str]:
        ranker = import_module("xgboost").XGBRanker(
            objective="rank:pairwise", n_jobs=1, random_state=seed
        )
        ranker.fit(train.X, train.y, qid=train.qid)
        return ranker.predict, "-"

    return learn


def _leader(rows: list[list[str]]) -> str:
    top = max(rows, key=lambda row: float(row[1]))
    precise = max(rows, key=lambda row: float(row[2]))
    least = min(rows, key=lambda row: float(row[3]))
    return (
        f"Best by NDCG@10: {top[0]} ({top[1]}); by MAP: {precise[0]} ({precise[2]}); fewest "
        f"misranked pairs: {least[0]} ({least[3]})."
    )


def _absent() -> str:
    absent = [name for name in ("lightgbm", "xgboost") if not find_spec(name)]
    if not absent:
        return "LightGBM and XGBoost boost trees, which bend where a line can't."
    return f"Not installed and left out: {', '.join(absent)}; pip install --group bench."
