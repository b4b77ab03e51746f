"""Fits on a Dask cluster of 1 and 2 workers: seconds and bytes moved (--rows, --peers)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.clusters import PEERS, cluster, fit_peer, misranked
from benchmarks.harness import load
from benchmarks.parquet_rows import draw
from benchmarks.report import append, console, describe

PART_ROWS = 50_000
MB = 10**6
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "MPRank": ("rankwise.magnitude.MPRank", {}),
    "RankSVM": ("rankwise.pairwise.RankSVM", {}),
    "RankBoost(100)": ("rankwise.boosting.RankBoost", {"random_state": 0}),
    "OAPRank(100)": (
        "rankwise.ordinal.OAPRank",
        {"n_estimators": 100, "epochs": 1, "shuffle": False, "random_state": 0},
    ),
}
# Of a simulated cluster: bytes a second that its driver can send and take.
NETWORK = 1.25e9


def make(rows: int, client: Any) -> tuple[Any, Any, Any]:
    """Return rows, grades and queries on the workers."""
    dask, array = import_module("dask"), import_module("dask.array")
    drawn = [
        dask.delayed(draw, pure=True, nout=3)(min(PART_ROWS, rows - start), start)
        for start in range(0, rows, PART_ROWS)
    ]
    sizes = [min(PART_ROWS, rows - start) for start in range(0, rows, PART_ROWS)]
    kinds = [((50,), np.float32), ((), np.int8), ((), np.int32)]
    found = [
        array.concatenate(
            [
                array.from_delayed(part[n], (size, *shape), dtype=dtype)
                for part, size in zip(drawn, sizes, strict=True)
            ]
        )
        for n, (shape, dtype) in enumerate(kinds)
    ]
    found = client.persist(found)
    load("distributed.wait")(found)
    return found[0], found[1], found[2]


def ours(name: str, rows: tuple[Any, Any, Any], client: Any) -> dict[str, Any]:
    """Fit one of our models; return what it took and moved."""
    parts_of = load("rankwise.distributed._partitions.as_partitions")
    learner_of = load("rankwise.distributed._fit.learner_of")
    kind, parameters = MODELS[name]
    X, y, _ = rows
    some = 8 * PART_ROWS  # so that each worker has parts, and nothing to load later
    warm = parts_of(X[:some], y[:some], client=client)
    model = load(kind)(**parameters)
    learn = learner_of(model)
    learn(model, warm)
    warm.close()
    parts = parts_of(X, y, client=client)
    task = task_seconds(parts_of(X, y, client=client))
    begin = perf_counter()
    model = load(kind)(**parameters)
    learn(model, parts)
    seconds, moved = perf_counter() - begin, parts.traffic
    parts.close()
    return {
        "seconds": seconds,
        "waiting": moved.seconds,
        "passes": moved.passes,
        "parts": parts.n_parts,
        "task": task,
        "sent": moved.sent,
        "back": moved.back,
        "wrong": _misranked(model),
    }


def peer(name: str, rows: tuple[Any, Any, Any], client: Any) -> dict[str, Any]:
    """Fit a ranker of LightGBM or XGBoost, on rows of sorted queries of 100, as both ask for."""
    begin = perf_counter()
    model = fit_peer(name, rows[0], rows[1], client)
    return {"seconds": perf_counter() - begin, "wrong": _misranked(model)}


def _misranked(model: Any) -> float:
    X, y, _ = draw(100_000, 10**6)
    return misranked(model, X, y)


def task_seconds(parts: Any) -> float:
    """Return what an empty task costs on this cluster, its share of a pass that does nothing."""
    parts.look()
    times = []
    for _ in range(3):
        begin = perf_counter()
        parts.map(nothing)
        times.append(perf_counter() - begin)
    return min(times) / parts.n_parts


def nothing(block: Any) -> None:
    """Do nothing with a part."""


def simulate(measured: dict[str, Any], rows: int, workers: int) -> float:
    """Return seconds by the costs measured on one worker.

    There are two parts a worker. Work on rows is shared by the workers; the scheduler hands out
    the tasks of a pass one by one, and all bytes cross one link. Members of OAPRank come by four,
    so that more than 25 workers have nothing to do. What RankSVM moves and its driver sorts grows
    with the rows, of which it takes up to 2^30.
    """
    ranksvm = measured["name"] == "RankSVM"
    if ranksvm and rows >= 2**30:
        return np.nan
    useful = min(workers, 25) if measured["name"] == "OAPRank(100)" else workers
    times, parts = rows / measured["rows"], 2 * workers
    tasks = measured["passes"] * measured["task"]  # of one part
    work = max(measured["waiting"] - tasks * measured["parts"], 0.0)
    own = measured["seconds"] - measured["waiting"]
    moved = measured["sent"] + measured["back"]
    moved *= times if ranksvm else parts / measured["parts"]
    return work * times / useful + tasks * parts + own * (times if ranksvm else 1) + moved / NETWORK


def main(arguments: Sequence[str]) -> int:
    """Fit every model on 1 and 2 workers; show, simulate and record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks distributed")
    parser.add_argument("--rows", type=int, action="append", default=[])
    parser.add_argument("--peers", action="store_true", help="LightGBM and XGBoost, too")
    parser.add_argument("--model", action="append", choices=[*MODELS, *PEERS], default=[])
    options = parser.parse_args(arguments)
    results: list[dict[str, Any]] = []
    for workers in (1, 2):
        with cluster(workers) as client:
            for rows in options.rows or [500_000, 1_000_000]:
                data = make(rows, client)
                names = [*MODELS, *(PEERS if options.peers else ())]
                for name in options.model or names:
                    about = {"name": name, "rows": rows, "workers": workers}
                    try:
                        run = ours if name in MODELS else peer
                        results.append({**about, **run(name, data, client)})
                    except Exception as error:
                        results.append({**about, "failure": str(error).splitlines()[0]})
                    console.print(results[-1])
    table = Table(
        "model", "rows", "workers", "seconds", "passes", "MB sent", "MB back", "misranked"
    )
    for each in results:
        table.add_row(
            each["name"],
            f"{each['rows']:,}",
            str(each["workers"]),
            f"{each['seconds']:.1f}" if "seconds" in each else each["failure"],
            str(each.get("passes", "")),
            *(f"{each[key] / MB:.2f}" if key in each else "" for key in ("sent", "back")),
            f"{each['wrong']:.4f}" if "wrong" in each else "",
        )
    console.print(table)
    simulated = Table("model", "rows", *(f"{n} workers" for n in (10, 100, 1000)))
    simulated.title = (
        "SIMULATED seconds: costs measured on one worker here, two parts a worker, a network of "
        f"{NETWORK / 1e9:g} GB/s"
    )
    largest = max((each["rows"] for each in results), default=0)
    for each in results:
        if each["rows"] == largest and each["workers"] == 1 and "parts" in each:
            for rows in (10**8, 10**9, 10**10):
                cells = (f"{simulate(each, rows, n):,.0f}" for n in (10, 100, 1000))
                simulated.add_row(each["name"], f"{rows:.0e}", *cells)
    console.print(simulated)
    append("distributed", {"kind": "cluster", **describe(), "results": results})
    return 0
