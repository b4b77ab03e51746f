"""RankBoost from a folder of Parquet, larger than it may be in memory (--rows, --limit)."""

from __future__ import annotations

import argparse
import json
import logging
import resource
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.harness import load
from benchmarks.out_of_core import anonymous_memory
from benchmarks.report import append, console, describe

FEATURES, GRADES, CHUNK = 50, 5, 500_000
GB = 10**9


def write_parquet(folder: Path, rows: int, seed: int = 1) -> None:
    """Write files of at most `CHUNK` rows: grades of a score that steps and bends."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    random = np.random.default_rng(seed)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        X = random.standard_normal((n, FEATURES), dtype=np.float32)
        score = X[:, 0] + X[:, 1] ** 2 + np.sin(3 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0)
        score += random.standard_normal(n, dtype=np.float32)
        grade = np.digitize(score, [-0.7, 0.5, 1.6, 3.0]).astype(np.int8)
        columns = {f"x{f}": X[:, f] for f in range(FEATURES)}
        table = arrow.table({**columns, "grade": grade})
        parquet.write_table(table, folder / f"{start:012}.parquet", compression="none")


class Peak:
    """The largest anonymous memory of this process, looked at 20 times a second."""

    def __enter__(self) -> Peak:
        self.bytes, self._end = 0, Event()
        self._thread = Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._end.wait(0.05):
            self.bytes = max(self.bytes, anonymous_memory())

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def learn(folder: str, rounds: int, leaves: int, limit: int) -> dict[str, Any]:
    """Fit in this process; return seconds, memory and the loss."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    model = load("rankwise.pairwise.RankBoost")
    fit = load("rankwise.distributed.fit")
    trees = {} if leaves == 2 else {"max_leaf_nodes": leaves, "learning_rate": 0.1}
    small = np.random.default_rng(0).normal(size=(2000, FEATURES))
    fit(model(2, **trees), small, np.digitize(small[:, 0], [-1, 0, 1]), memory_limit=limit)
    with Peak() as peak:
        begin, cpu = perf_counter(), process_time()
        fitted = fit(model(rounds, random_state=0, **trees), folder, "grade", memory_limit=limit)
        seconds, cpu = perf_counter() - begin, process_time() - cpu
    whole = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds, "cpu": cpu, "anonymous": peak.bytes, "resident": whole,
        "rounds": len(fitted.train_loss_), "loss": float(fitted.train_loss_[-1]),
    }  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Write the files, learn from them in a process of its own, show and record what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks boosting_parts")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=2)
    parser.add_argument("--limit", type=float, default=4.0, help="gigabytes")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        console.print(f"writing {options.rows:,} x {FEATURES} float32 rows of Parquet")
        write_parquet(Path(folder), options.rows)
        given = [folder, str(options.rounds), str(options.leaves), str(int(options.limit * GB))]
        child = subprocess.run(
            [sys.executable, "-m", "benchmarks.boosting_parts", *given],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(child.stdout.splitlines()[-1])
    line = (
        f"RankBoost, {found['rounds']} rounds of {options.leaves} leaves on {options.rows:,} x "
        f"{FEATURES} float32 rows of Parquet, memory_limit {options.limit:g} GB: "
        f"{found['seconds']:.0f} s ({found['cpu']:.0f} s of processor), at most "
        f"{found['anonymous'] / GB:.2f} GB of memory beside mapped files, "
        f"{found['resident'] / GB:.2f} GB with them"
    )
    console.print(line, highlight=False)
    append("boosting_parts", {**describe(), **vars(options), **found})
    return 0


if __name__ == "__main__":
    folder, rounds, leaves, limit = sys.argv[1:]
    print(json.dumps(learn(folder, int(rounds), int(leaves), int(limit))))
