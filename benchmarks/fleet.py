"""A model for each of many people, by threads and on a cluster of two processes (--people)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.clusters import cluster
from benchmarks.harness import load
from benchmarks.report import append, console, describe

ITEMS, FACTORS, EACH = 1_000, 8, 20


def draw(people: int) -> tuple[Any, Any]:
    """Return a table in which everyone rated `EACH` items, and factors of the items."""
    g = np.random.default_rng(0)
    factors = g.standard_normal((ITEMS, FACTORS))
    items = np.argsort(g.random((people, ITEMS), dtype=np.float32), axis=1)[:, :EACH].ravel()
    users = np.repeat(np.arange(people), EACH)
    tastes = g.standard_normal((people, FACTORS)) / np.sqrt(FACTORS)
    scores = np.einsum("ij,ij->i", factors[items], tastes[users])
    ratings = np.clip(np.rint(3 + scores + 0.3 * g.standard_normal(len(scores))), 1, 5)
    table = load("rankwise.recommend.RatingTable").from_arrays(users, items, ratings)
    return table, factors[table.items]


def main(arguments: Sequence[str]) -> int:
    """Fit all models both ways; show and record seconds, and whether the models are the same."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet")
    parser.add_argument("--people", type=int, default=10_000)
    options = parser.parse_args(arguments)
    fit_many, model = load("rankwise.recommend.fit_many"), load("rankwise.magnitude.MPRank")
    parallel_config = load("joblib.parallel_config")
    console.print(f"{options.people:,} people, {EACH} ratings each, {FACTORS} factors an item")
    table, factors = draw(options.people)
    dict(fit_many(table, model(), table.users[:10], item_features=factors))
    results: dict[str, Any] = {}
    total: dict[str, float] = {}
    start, processor = perf_counter(), process_time()
    fleet = fit_many(table, model(), item_features=factors, n_jobs=2)
    total["threads"] = sum(float(each.coef_[0]) for _, each in fleet)
    results["two threads"] = perf_counter() - start
    results["processor"] = process_time() - processor
    with cluster(2) as client, parallel_config("dask"):
        client.wait_for_workers(2)
        dict(fit_many(table, model(), table.users[:200], item_features=factors))
        start = perf_counter()
        fleet = fit_many(table, model(), item_features=factors)
        total["cluster"] = sum(float(each.coef_[0]) for _, each in fleet)
        results["two workers"] = perf_counter() - start
    same = total["threads"] == total["cluster"]
    for name, seconds in results.items():
        console.print(f"{name:12} {seconds:7.1f} s", highlight=False)
    console.print(f"the models are {'the same' if same else 'NOT the same'}")
    append("fleet", {**describe(), "people": options.people, "results": results, "same": same})
    return 0
