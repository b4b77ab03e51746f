"""Rows of Parquet, past memory, through MPRank, RankSVM, RankBoost and OAPRank (--rows)."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.harness import load
from benchmarks.report import append, console, describe

FEATURES, GRADES, FILE_ROWS, GROUP_ROWS = 50, 5, 1_000_000, 250_000
GB = 10**9
TOLD = 100_000
MODELS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "MPRank": ("rankwise.magnitude.MPRank", {}, False),
    "MPRank, 1,000 queries": ("rankwise.magnitude.MPRank", {}, True),
    "RankSVM": ("rankwise.pairwise.RankSVM", {}, False),
    "RankSVM, 1,000 queries": ("rankwise.pairwise.RankSVM", {}, True),
    "RankBoost(100)": ("rankwise.pairwise.RankBoost", {"random_state": 0}, False),
    "RankBoost(100), 1,000 queries": ("rankwise.pairwise.RankBoost", {"random_state": 0}, True),
    "RankBoost(100), 31 leaves": (
        "rankwise.pairwise.RankBoost",
        {"max_leaf_nodes": 31, "learning_rate": 0.1, "random_state": 0},
        False,
    ),
    "OAPRank(100)": (
        "rankwise.ordinal.OAPRank",
        {"n_estimators": 100, "epochs": 1, "shuffle": False, "random_state": 0},
        False,
    ),
}


def draw(rows: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows in single precision, their grades, of a noisy linear score, and their queries."""
    w = np.random.default_rng(1).standard_normal(FEATURES)
    g = np.random.default_rng([2, seed])
    X = g.standard_normal((rows, FEATURES), dtype=np.float32)
    score = X @ (w / np.linalg.norm(w)).astype(np.float32) + 0.3 * g.standard_normal(rows)
    cuts = np.array([-0.84, -0.25, 0.25, 0.84]) * np.hypot(1, 0.3)
    return X, np.searchsorted(cuts, score).astype(np.int8), g.integers(0, 1000, rows, np.int32)


def write_rows(folder: Path, rows: int) -> None:
    """Write some files of a million rows each."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    for n, start in enumerate(range(0, rows, FILE_ROWS)):
        X, y, qid = draw(min(FILE_ROWS, rows - start), n)
        columns = {f"x{j:02}": X[:, j].copy() for j in range(FEATURES)}
        table = arrow.table({**columns, "grade": y, "query": qid})
        parquet.write_table(
            table,
            folder / f"{n:04}.parquet",
            row_group_size=GROUP_ROWS,
            compression="none",
            use_dictionary=False,
        )


def run(folder: Path, name: str, limit: str) -> dict[str, Any]:
    """Fit one model in this process; return seconds, peak memory and what it is worth."""
    distributed = import_module("rankwise.distributed")
    kind, parameters, queries = MODELS[name]
    start, processor = perf_counter(), process_time()
    model = distributed.fit(
        load(kind)(**parameters),
        folder,
        "grade",
        qid="query" if queries else None,
        columns=_features(),
        memory_limit=limit,
    )
    seconds, processor = perf_counter() - start, process_time() - processor
    peak = _peak()
    X, y, qid = draw(TOLD, 10**6)
    frame = load("pandas.DataFrame")(X, columns=_features())
    loss = load("rankwise.metrics.pairwise_misranking_loss")
    scores = model.project(frame) if hasattr(model, "project") else model.predict(frame)
    wrong = loss(y, scores, qid=qid if queries else None)
    return {"name": name, "seconds": seconds, "processor": processor, "peak": peak, "wrong": wrong}


def _features() -> list[str]:
    return [f"x{j:02}" for j in range(FEATURES)]


def _peak() -> int:
    """Most bytes that this process has had resident, those of files included."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main(arguments: Sequence[str]) -> int:
    """Write the rows, fit each model in a process of its own, show and record what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks parquet_rows")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--limit", default="4GB", help="memory_limit of each fit")
    parser.add_argument("--model", action="append", choices=list(MODELS), default=[])
    options = parser.parse_args(arguments)
    if not Path("/proc/self/status").exists():
        console.print("parquet_rows is left out: only Linux has /proc/self/status")
        return 0
    size = 4 * FEATURES * options.rows
    results = []
    with TemporaryDirectory() as folder:
        if (free := shutil.disk_usage(folder).free) < 1.2 * size:
            parser.error(f"--rows {options.rows}: only {free / GB:.1f} GB of disk are free")
        console.print(f"writing {options.rows:,} x {FEATURES} rows, {size / GB:.1f} GB")
        write_rows(Path(folder), options.rows)
        for name in options.model or MODELS:
            command = [sys.executable, "-m", "benchmarks.parquet_rows", folder, name, options.limit]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            results.append(json.loads(done.stdout.splitlines()[-1]))
            console.print(results[-1])
    table = Table("model", "seconds", "of processor", "rows /s", "peak GB", "pairs misranked")
    for each in results:
        table.add_row(
            each["name"],
            f"{each['seconds']:.0f}",
            f"{each['processor']:.0f}",
            f"{options.rows / each['seconds']:,.0f}",
            f"{each['peak'] / GB:.2f}",
            f"{each['wrong']:.4f}",
        )
    table.title = f"{options.rows:,} x {FEATURES} single-precision rows of Parquet"
    console.print(table)
    record = {"kind": "parquet", **describe(), "rows": options.rows, "limit": options.limit}
    append("parquet_rows", {**record, "results": results})
    return 0


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
