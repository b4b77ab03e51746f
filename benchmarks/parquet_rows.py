"""Rows of Parquet, past memory, through our models and the peers' Dask rankers (--rows)."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.clusters import LIST_ROWS, PEERS, cluster, fit_peer, misranked, watch
from benchmarks.harness import load
from benchmarks.report import append, console, describe

FEATURES, GRADES, FILE_ROWS, GROUP_ROWS = 50, 5, 1_000_000, 250_000
GB = 10**9
TOLD = 100_000
TREES = {"max_leaf_nodes": 31, "learning_rate": 0.1, "random_state": 0}
LISTS = f", lists of {LIST_ROWS}"
# What is fitted, and the column of its queries.
MODELS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "MPRank": ("rankwise.magnitude.MPRank", {}, None),
    "MPRank, 1,000 queries": ("rankwise.magnitude.MPRank", {}, "query"),
    "RankSVM": ("rankwise.pairwise.RankSVM", {}, None),
    "RankSVM, 1,000 queries": ("rankwise.pairwise.RankSVM", {}, "query"),
    "RankBoost(100)": ("rankwise.boosting.RankBoost", {"random_state": 0}, None),
    "RankBoost(100), 1,000 queries": ("rankwise.boosting.RankBoost", {"random_state": 0}, "query"),
    "RankBoost(100), 31 leaves": ("rankwise.boosting.RankBoost", TREES, None),
    f"RankBoost(100), 31 leaves{LISTS}": ("rankwise.boosting.RankBoost", TREES, "list"),
    "OAPRank(100)": (
        "rankwise.ordinal.OAPRank",
        {"n_estimators": 100, "epochs": 1, "shuffle": False, "random_state": 0},
        None,
    ),
}
BESIDE = {f"{name}{LISTS}": name for name in PEERS}


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
        lists = ((start + np.arange(len(y))) // LIST_ROWS).astype(np.int32)
        table = arrow.table({**columns, "grade": y, "query": qid, "list": lists})
        parquet.write_table(
            table,
            folder / f"{n:04}.parquet",
            row_group_size=GROUP_ROWS,
            compression="none",
            use_dictionary=False,
        )


def run(folder: Path, name: str, limit: str) -> dict[str, Any]:
    """Fit one model in this process; return seconds and what it is worth."""
    start, processor = perf_counter(), _processor()
    if name in BESIDE:
        model, queries = run_peer(folder, BESIDE[name]), None
    else:
        kind, parameters, queries = MODELS[name]
        model = import_module("rankwise.distributed").fit(
            load(kind)(**parameters),
            folder,
            "grade",
            qid=queries,
            columns=_features(),
            memory_limit=limit,
        )
    seconds, processor = perf_counter() - start, _processor() - processor
    X, y, qid = draw(TOLD, 10**6)
    if name not in BESIDE:
        X = load("pandas.DataFrame")(X, columns=_features())
    wrong = misranked(model, X, y, qid if queries == "query" else None)
    return {"seconds": seconds, "processor": processor, "wrong": wrong}


def run_peer(folder: Path, name: str) -> Any:
    """Fit a peer on a cluster of two processes, which read the files, a row group a part."""
    delayed, array = load("dask.delayed"), import_module("dask.array")
    groups = [(path, g, n) for path, sizes in _group_sizes(folder) for g, n in enumerate(sizes)]

    def parts(columns: list[str], shape: tuple[int, ...], dtype: Any) -> Any:
        read = delayed(read_group)
        each = [
            array.from_delayed(read(path, g, columns), (n, *shape), dtype=dtype)
            for path, g, n in groups
        ]
        return array.concatenate(each)

    with cluster(2) as client:
        X = parts(_features(), (FEATURES,), np.float32)
        return fit_peer(name, X, parts(["grade"], (), np.int8), client)


def read_group(path: Path, group: int, columns: list[str]) -> Any:
    """Return columns of a row group as an array, 1-D if it is one."""
    file = load("pyarrow.parquet.ParquetFile")(path)
    table = file.read_row_group(group, columns=columns)
    found = [table.column(name).to_numpy() for name in columns]
    return np.column_stack(found) if len(found) > 1 else found[0]


def _processor() -> float:
    """Return seconds that this process and its children, once they have ended, have computed."""
    ended = load("resource.getrusage")(load("resource.RUSAGE_CHILDREN"))
    return process_time() + ended.ru_utime + ended.ru_stime


def _group_sizes(folder: Path) -> list[tuple[Path, list[int]]]:
    """Return the files in order, and the rows of each of their row groups."""
    file, found = load("pyarrow.parquet.ParquetFile"), []
    for path in sorted(folder.glob("*.parquet")):
        about = file(path).metadata
        rows = [about.row_group(g).num_rows for g in range(about.num_row_groups)]
        found.append((path, rows))
    return found


def _features() -> list[str]:
    return [f"x{j:02}" for j in range(FEATURES)]


def main(arguments: Sequence[str]) -> int:
    """Write the rows, fit each model in a process of its own, show and record what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks parquet_rows")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--limit", type=float, default=4.0, help="GB of memory of each fit")
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="of processor that each may take"
    )
    parser.add_argument("--folder", type=Path, help="rows that are there, or are to be kept there")
    parser.add_argument("--peers", action="store_true", help="LightGBM and XGBoost, too")
    parser.add_argument("--model", action="append", choices=[*MODELS, *BESIDE], default=[])
    options = parser.parse_args(arguments)
    if not Path("/proc/self/smaps_rollup").exists():
        console.print("parquet_rows is left out: only Linux says how much memory processes share")
        return 0
    size = 4 * FEATURES * options.rows
    names = options.model or [*MODELS, *(BESIDE if options.peers else ())]
    results = []
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if (free := shutil.disk_usage(folder).free) < 1.5 * size:
            parser.error(f"--rows {options.rows}: only {free / GB:.1f} GB of disk are free")
        if sum(sum(rows) for _, rows in _group_sizes(folder)) != options.rows:
            console.print(f"writing {options.rows:,} x {FEATURES} rows, {size / GB:.1f} GB")
            write_rows(folder, options.rows)
        for name in names:
            command = [sys.executable, "-m", "benchmarks.parquet_rows", str(folder), name]
            done = watch([*command, f"{options.limit}GB"], int(options.limit * GB), options.seconds)
            found = {"name": name, "peak": done.peak}
            if done.failure:
                found |= {"failure": done.failure, "seconds": done.seconds}
            else:
                found |= json.loads(done.said.splitlines()[-1])
            results.append(found)
            console.print(found)
    table = Table("model", "seconds", "of processor", "rows /s", "peak GB", "pairs misranked")
    for each in results:
        cells = [each.get("failure", ""), "", ""]
        if not cells[0]:
            rate = options.rows / each["seconds"]
            cells = [f"{each['seconds']:.0f}", f"{each['processor']:.0f}", f"{rate:,.0f}"]
        wrong = f"{each['wrong']:.4f}" if "wrong" in each else ""
        table.add_row(each["name"], *cells, f"{each['peak'] / GB:.2f}", wrong)
    table.title = f"{options.rows:,} x {FEATURES} single-precision rows of Parquet"
    console.print(table)
    record = {"kind": "parquet", **describe(), "rows": options.rows, "limit": options.limit}
    append("parquet_rows", {**record, "results": results})
    return 0


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
