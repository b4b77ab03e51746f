"""A model for each of many people, by threads and on a cluster of two processes (--people)."""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.clusters import cluster
from benchmarks.harness import load
from benchmarks.report import append, console, describe

ITEMS, FACTORS, EACH = 1_000, 8, 20
SOME = 10_000  # people that are drawn at a time, and fitted by threads
MB = 10**6


def draw(people: int) -> tuple[Any, Any]:
    """Return a table in which everyone rated `EACH` items, and factors of the items."""
    g = np.random.default_rng(0)
    factors = g.standard_normal((ITEMS, FACTORS))
    sizes = [min(SOME, people - first) for first in range(0, people, SOME)]
    some = (np.argsort(g.random((n, ITEMS), dtype=np.float32), axis=1)[:, :EACH] for n in sizes)
    items = np.concatenate([each.ravel() for each in some])
    users = np.repeat(np.arange(people), EACH)
    tastes = g.standard_normal((people, FACTORS)) / np.sqrt(FACTORS)
    scores = np.einsum("ij,ij->i", factors[items], tastes[users])
    ratings = np.clip(np.rint(3 + scores + 0.3 * g.standard_normal(len(scores))), 1, 5)
    table = load("rankwise.recommend.RatingTable").from_arrays(users, items, ratings)
    return table, factors[table.items]


def main(arguments: Sequence[str]) -> int:
    """Fit all models both ways; show and record seconds, bytes, memory, and if they are alike."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet")
    parser.add_argument("--people", type=int, default=10_000)
    options = parser.parse_args(arguments)
    fit_many, model = load("rankwise.recommend.fit_many"), load("rankwise.magnitude.MPRank")
    parallel_config = load("joblib.parallel_config")
    console.print(f"{options.people:,} people, {EACH} ratings each, {FACTORS} factors an item")
    table, factors = draw(options.people)
    few = dict(fit_many(table, model(), table.users[:64], item_features=factors))
    results: dict[str, Any] = {
        "MB to each worker once": (sys.getsizeof(table) + factors.nbytes) / MB,
        "MB of models back": len(pickle.dumps(list(few.values()))) / 64 * options.people / MB,
    }
    start, processor, before = perf_counter(), process_time(), resident()
    some = table.users[:SOME]  # by threads, for their seconds and to compare
    fleet = fit_many(table, model(), some, item_features=factors, n_jobs=2)
    alone = [float(each.coef_[0]) for _, each in fleet]
    results[f"{len(alone):,} by two threads, s"] = perf_counter() - start
    results["of processor, s"] = process_time() - processor
    with cluster(2) as client, parallel_config("dask"):
        client.wait_for_workers(2)
        dict(fit_many(table, model(), table.users[:200], item_features=factors))
        start, processor = perf_counter(), sum(client.run(process_time).values())
        fleet = fit_many(table, model(), item_features=factors)
        found = np.array([float(each.coef_[0]) for _, each in fleet])
        results["all by two workers, s"] = perf_counter() - start
        results["of their processors, s"] = sum(client.run(process_time).values()) - processor
        results["MB of a worker at most"] = max(client.run(resident).values()) / MB
    results["MB that the driver grew by"] = (resident() - before) / MB
    same = found[: len(alone)].tolist() == alone
    for name, found in results.items():
        console.print(f"{name:28} {found:9.1f}", highlight=False)
    console.print(f"the models are {'the same' if same else 'NOT the same'}")
    append("fleet", {**describe(), "people": options.people, "results": results, "same": same})
    return 0


def resident() -> int:
    """Return the most bytes that this process has had in memory."""
    return 1024 * int(load("resource.getrusage")(load("resource.RUSAGE_SELF")).ru_maxrss)
