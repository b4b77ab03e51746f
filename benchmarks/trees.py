"""Ranking trees beside LightGBM, XGBoost and CatBoost: quality with paired intervals, and time.

``python -m benchmarks trees [mq2008] [lists] [generated] [long] [tuned]`` runs the first three
parts or those named. MQ2008 is read from the folder that RANKWISE_DATA names. Ours have
``max_leaf_nodes=16`` and else their defaults, XGBoost the rate .1 and depth 4, the others their
defaults; all have one thread. In the part ``tuned`` each of three libraries has eight random
settings instead, of which NDCG@10 on a quarter of the training queries chooses one; ``tails`` shows
what the default loss was chosen by. Differences
are means over test queries with 95 % intervals, over all folds; seconds are of the processor.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.harness import load
from benchmarks.report import append, console, describe
from rankwise.boosting import RankBoost
from rankwise.datasets import read_letor
from rankwise.metrics import ndcg_score, pairwise_misranking_loss

Array = NDArray[Any]
Split = tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]
Fit = Callable[[Array, Array, Array], Any]

TREES: dict[str, Any] = {"max_leaf_nodes": 16}
LIBRARIES = ("lightgbm", "xgboost-cpu", "catboost")
SETTINGS = 8
LONG_ROWS = 100_000


def ours(**options: Any) -> Fit:
    """Trees of RankBoost."""
    settings = {**TREES, **options}
    return lambda X, y, qid: RankBoost(**settings).fit(X, y, qid=qid)


def lightgbm(**options: Any) -> Fit:
    """LGBMRanker; rows of a query stand together."""

    def fit(X: Array, y: Array, qid: Array) -> Any:
        model = load("lightgbm.LGBMRanker")(n_jobs=1, verbose=-1, **options)
        return model.fit(X, y.astype(int), group=np.unique(qid, return_counts=True)[1])

    return fit


def xgboost(**options: Any) -> Fit:
    """XGBRanker."""

    def fit(X: Array, y: Array, qid: Array) -> Any:
        return load("xgboost.XGBRanker")(n_jobs=1, **options).fit(X, y.astype(int), qid=qid)

    return fit


def catboost(loss: str) -> Fit:
    """CatBoost's ranker, 100 rounds as the others."""

    def fit(X: Array, y: Array, qid: Array) -> Any:
        options = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        model = load("catboost.CatBoostRanker")(iterations=100, loss_function=loss, **options)
        return model.fit(X, y, group_id=qid)

    return fit


ENTRANTS: dict[str, Fit] = {
    "trees": ours(),
    "trees, magnitude": ours(loss="magnitude"),
    "trees, exponential": ours(loss="exponential"),
    "LGBMRanker": lightgbm(),
    "XGBRanker": xgboost(learning_rate=0.1, max_depth=4),
    "CatBoost QueryRMSE": catboost("QueryRMSE"),
    "CatBoost YetiRank": catboost("YetiRank"),
}
OURS = 1
# What settings are drawn from, each as likely; the rate is drawn for all alike.
ROUNDS, LEAVES, L2 = [50, 100, 200, 400], [7, 15, 31, 63], [0.0, 1.0, 10.0, 100.0]
SPACES: dict[str, tuple[Callable[..., Fit], dict[str, list[Any]]]] = {
    "trees, tuned": (
        ours,
        {
            "n_estimators": ROUNDS,
            "max_leaf_nodes": LEAVES,
            "l2": L2,
            "min_samples_leaf": [5, 20, 50, 100],
            "loss": ["exponential", "logistic"],
            "pair_weight": ["uniform", "ndcg"],
        },
    ),
    "LGBMRanker, tuned": (
        lightgbm,
        {
            "n_estimators": ROUNDS,
            "num_leaves": LEAVES,
            "reg_lambda": L2,
            "min_child_samples": [5, 20, 50, 100],
            "objective": ["lambdarank", "rank_xendcg"],
            "lambdarank_truncation_level": [10, 30, 100],
        },
    ),
    "XGBRanker, tuned": (
        xgboost,
        {
            "n_estimators": ROUNDS,
            "max_depth": [3, 4, 6, 8],
            "reg_lambda": L2,
            "min_child_weight": [0.1, 1.0, 5.0, 20.0],
            "objective": ["rank:ndcg", "rank:pairwise"],
            "lambdarank_pair_method": ["mean", "topk"],
        },
    ),
}


def tuned(make: Callable[..., Fit], space: dict[str, list[Any]]) -> Fit:
    """Learn with the best of some random settings, by NDCG@10 on a quarter of the queries."""

    def fit(X: Array, y: Array, qid: Array) -> Any:
        random = np.random.default_rng(0)
        names = np.unique(qid)
        held = np.isin(qid, random.permutation(names)[: len(names) // 4])
        drawn = [
            {
                "learning_rate": float(np.exp(random.uniform(np.log(0.02), np.log(0.3)))),
                **{name: values[random.integers(len(values))] for name, values in space.items()},
            }
            for _ in range(SETTINGS)
        ]
        reached = []
        for options in drawn:
            model = make(**options)(X[~held], y[~held], qid[~held])
            s = np.asarray(model.predict(X[held]), dtype=float)
            reached.append(judge(y[held], s, qid[held])[:, 0].mean())
        return make(**drawn[int(np.argmax(reached))])(X, y, qid)

    return fit


def mq2008() -> Iterator[Split]:
    """Five folds: three parts to learn from, one left out as in LETOR, one to test."""
    folder = Path(os.environ["RANKWISE_DATA"]) / "letor-mq2008"
    for k in range(5):
        train, test = [[folder / f"S{(k + j) % 5 + 1}.txt" for j in js] for js in ((0, 1, 2), (4,))]
        yield _sorted(read_letor(train, n_features=46)), _sorted(read_letor(test, n_features=46))


def _sorted(part: Any) -> tuple[Array, Array, Array]:
    order = np.argsort(part.qid, kind="stable")
    codes = np.unique(part.qid[order], return_inverse=True)[1]
    return part.X[order], part.y[order].astype(float), codes


def interactions(n_queries: int, rows: int, seed: int, d: int = 50) -> tuple[Array, Array, Array]:
    """Five grades of a product, a gated feature and noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_queries * rows, d))
    score = X[:, 0] * X[:, 1] + (X[:, 2] > 0) * X[:, 3] + 0.5 * random.standard_normal(len(X))
    y = np.searchsorted(np.quantile(score, [0.5, 0.75, 0.9, 0.97]), score).astype(float)
    return X, y, np.repeat(np.arange(n_queries), rows)


def generated() -> Iterator[Split]:
    """1,000 queries of 100 rows, and as many to test."""
    yield interactions(1000, 100, 0), interactions(1000, 100, 1)


def judge(y: Array, s: Array, qid: Array) -> Array:
    """NDCG@10 and misranking (ties half) of each query that has two grades, (n, 2)."""
    starts = np.append(np.flatnonzero(np.append(True, np.diff(qid) != 0)), len(qid))
    lists = [slice(*pair) for pair in pairwise(starts)]
    return np.array(
        [
            (ndcg_score(y[q], s[q], k=10), pairwise_misranking_loss(y[q], s[q], ties="half"))
            for q in lists
            if y[q].min() < y[q].max()
        ]
    )


def race(
    name: str,
    splits: Iterator[Split],
    entrants: dict[str, Fit] = ENTRANTS,
    n_ours: int = OURS,
) -> None:
    """Fit all entrants on all splits; print means, differences with intervals, and seconds."""
    scores: dict[str, list[Array]] = {entrant: [] for entrant in entrants}
    seconds = dict.fromkeys(entrants, 0.0)
    for train, (X, y, qid) in splits:
        for entrant, fit in entrants.items():
            try:
                if entrants is ENTRANTS:
                    fit(*(array[:300] for array in train))  # compiles, untimed
                start = time.process_time()
                model = fit(*train)
            except ImportError:
                continue
            seconds[entrant] += time.process_time() - start
            scores[entrant].append(judge(y, np.asarray(model.predict(X), dtype=float), qid))
    found = {entrant: np.concatenate(s) for entrant, s in scores.items() if s}
    console.rule(f"{name}: {len(next(iter(found.values())))} queries")
    table, record = Table("entrant", "NDCG@10", "misranking", "CPU s"), []
    for entrant, values in found.items():
        mean = values.mean(axis=0).tolist()
        table.add_row(entrant, f"{mean[0]:.4f}", f"{mean[1]:.4f}", f"{seconds[entrant]:.2f}")
        ratio = seconds[entrant] / seconds[next(iter(found))]
        about = {"name": entrant, "mean": mean, "error": mean[0], "ratio": ratio}
        record.append({**about, "seconds": seconds[entrant]})
    console.print(table)
    table = Table("difference", "NDCG@10", "misranking", "of its CPU s")
    for mine, theirs in product(list(found)[:n_ours], list(found)[n_ours:]):
        gap = found[mine] - found[theirs]
        half = 1.96 * gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
        shown = [f"{m:+.4f} ± {h:.4f}" for m, h in zip(gap.mean(axis=0), half, strict=True)]
        table.add_row(f"{mine} - {theirs}", *shown, f"{seconds[mine] / seconds[theirs]:.2f}")
    console.print(table)
    about = {"measure": "NDCG@10", "ours": list(found)[:n_ours]}
    append(
        f"trees_{name}", {"kind": "race", **describe(None, *LIBRARIES), **about, "entrants": record}
    )


def long() -> None:
    """One query of 100,000 rows: each way to learn from it."""
    train, test = interactions(1, LONG_ROWS, 0), interactions(1, LONG_ROWS, 1)
    table = Table("entrant", "misranking", "CPU s")
    entrants: dict[str, Fit] = {
        "trees": ours(),
        'trees loss="logistic"': ours(loss="logistic"),
        'trees "ndcg"': ours(pair_weight="ndcg"),
        "LGBMRanker": lightgbm(),
        "XGBRanker": xgboost(),
    }
    for entrant, fit in entrants.items():
        start = time.process_time()
        try:
            fit(*(array[:6000] for array in train))
            start = time.process_time()
            scores = np.asarray(fit(*train).predict(test[0]), dtype=float)
        except ImportError:
            table.add_row(entrant, "absent", "")
            continue
        # A peer's refusal is shown, and the race goes on.
        except Exception as error:
            table.add_row(entrant, f"refused: {str(error)[:60]}", "")
            continue
        spent = time.process_time() - start
        table.add_row(entrant, f"{pairwise_misranking_loss(test[1], scores):.4f}", f"{spent:.2f}")
    console.rule(f"one query of {LONG_ROWS:,} rows")
    console.print(table)


# Kinds of generated lists, the number of queries and their rows.
LISTS = (
    ("linear", 1000, 20), ("gated", 200, 40), ("smooth", 300, 15), ("noisy", 150, 30),
    ("twisted", 200, 50),
)  # fmt: skip


def make_lists(kind: str, n_queries: int, rows: int, seed: int) -> tuple[Array, Array, Array]:
    """Grades of a linear, gated, smooth, noisy or twisted score with a level of each query."""
    random = np.random.default_rng(seed)
    m, cuts = n_queries * rows, [0.6, 0.85, 0.95]
    X = random.standard_normal((m, 20))
    if kind == "linear":
        cuts = [0.2, 0.4, 0.6, 0.8]
        weight = np.random.default_rng(99).standard_normal(20)
        score = X @ (weight / np.linalg.norm(weight)) + 0.5 * random.standard_normal(m)
    elif kind == "gated":
        score = (X[:, 0] > 0) * X[:, 1] + 0.5 * X[:, 2] * (X[:, 3] > 0.5)
        score += 0.7 * random.standard_normal(m)
    elif kind == "smooth":
        score = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + random.standard_normal(m)
    elif kind == "twisted":
        score = X[:, 0] * X[:, 1] * (X[:, 2] > -0.5) + 0.7 * np.abs(X[:, 3])
        score += 0.6 * random.standard_normal(m)
    else:
        X = np.round(X)
        score = 0.5 * X[:, :6].sum(1) / np.sqrt(6) + 0.4 * X[:, 0] * X[:, 1]
        score += 1.5 * random.standard_normal(m)
    score += 0.5 * np.repeat(random.standard_normal(n_queries), rows)
    y = np.searchsorted(np.quantile(score, cuts), score).astype(float)
    return X, y, np.repeat(np.arange(n_queries), rows)


def lists(kind: str, n_queries: int, rows: int) -> Iterator[Split]:
    """A table of one kind, and 300 queries to test."""
    yield make_lists(kind, n_queries, rows, 20), make_lists(kind, 300, rows, 120)


def tails() -> None:
    """What the default loss was chosen by: misranking of both, by the kurtosis of the targets."""
    names = [f"{kind} {cut}" for kind, cut in TAILS]
    table = Table("targets", "kurtosis", "magnitude", "exponential")
    for name, (kind, cut) in zip(names, TAILS, strict=True):
        found, kurtosis = np.zeros((2, 2)), 0.0
        for k, seed in enumerate((0, 2)):
            (X, y), (test, target) = (tailed(kind, cut, seed + j) for j in (0, 1))
            kurtosis = float(((y - y.mean()) ** 4).mean() / y.var() ** 2)
            for j, loss in enumerate(("magnitude", "exponential")):
                s = RankBoost(loss=loss, **TREES).fit(X, y).predict(test)
                found[k, j] = pairwise_misranking_loss(target, s, ties="half")
        means = found.mean(axis=0)
        table.add_row(name, f"{kurtosis:.1f}", f"{means[0]:.4f}", f"{means[1]:.4f}")
    console.print(table)


# Kinds of targets: graded at quantiles, or stretched.
TAILS: tuple[tuple[str, Any], ...] = (
    *(("quantiles", cut) for cut in ((0.5,), (0.7,), (0.8,), (0.9,), (0.95,))),
    *(("quantiles", cut) for cut in ((0.5, 0.8, 0.95), (0.8, 0.95, 0.99), (0.9, 0.97, 0.99))),
    *(("sinh", factor) for factor in (0.3, 0.5, 0.7, 1.0)),
)


def tailed(kind: str, cut: Any, seed: int) -> tuple[Array, Array]:
    """3,000 rows with targets of one kind, made of one score."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((3000, 15))
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.8 * random.standard_normal(3000)
    if kind == "sinh":
        return X, np.sinh(cut * score)
    return X, np.searchsorted(np.quantile(score, cut), score).astype(float)


def small() -> Iterator[Split]:
    """200 queries of 50 rows, and 500 to test."""
    yield interactions(200, 50, 10), interactions(500, 50, 11)


def main(arguments: list[str]) -> int:
    """Run the parts and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks trees", description=__doc__)
    parts = ["mq2008", "lists", "generated", "long", "tuned", "tails"]
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    parts = parser.parse_args(arguments).parts or ["mq2008", "lists", "generated"]
    has_data = "RANKWISE_DATA" in os.environ
    if not has_data:
        print("mq2008 is left out: RANKWISE_DATA names no folder")
    if "mq2008" in parts and has_data:
        race("mq2008", mq2008())
    for kind, n_queries, rows in LISTS if "lists" in parts else ():
        race(kind, lists(kind, n_queries, rows))
    if "generated" in parts:
        race("generated", generated())
    if "long" in parts:
        long()
    if "tails" in parts:
        tails()
    if "tuned" in parts:
        entrants = {name: tuned(*space) for name, space in SPACES.items()}
        if has_data:
            race("mq2008_tuned", mq2008(), entrants, 1)
        race("generated_tuned", small(), entrants, 1)
    return 0
