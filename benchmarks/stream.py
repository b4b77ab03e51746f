"""`rankwise stream` end to end: a million lines of twenty columns and a grade, CSV and JSON.

``python -m benchmarks stream [ROWS]``. A process of its own reads the text, predicts and learns
every row, writes the predictions and saves the model each 100,000 rows. Seconds are of the
processor, those of starting Python and of loading the compiled loops included; the file is read
twice, once for its labels. A first run that compiles is not counted.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import append, describe

COMMAND = [sys.executable, "-c", "from rankwise.cli import main; main()", "stream"]


def write_table(path: Path, n: int, d: int = 20) -> None:
    """Write a csv of normal columns with four decimals, and a grade of the first five."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)).round(4)
    y = 1 + np.digitize(X[:, :5].sum(axis=1) + random.normal(size=n), [-2.0, -0.7, 0.7, 2.0])
    with path.open("w", encoding="ascii") as file:
        file.write(",".join([*(f"x{i}" for i in range(d)), "grade"]) + "\n")
        for row, grade in zip(X.tolist(), y.tolist(), strict=True):
            file.write(",".join(map(repr, row)) + f",{grade}\n")


def write_json(table: Path, path: Path) -> None:
    """Write the rows of such a csv as JSON lines."""
    with table.open(encoding="ascii") as file, path.open("w", encoding="ascii") as out:
        names = [f'"{name}": ' for name in file.readline().strip().split(",")]
        for line in file:
            fields = zip(names, line.strip().split(","), strict=True)
            out.write("{" + ", ".join(name + value for name, value in fields) + "}\n")


def seconds_of(path: Path, folder: Path, *, pipe: bool) -> float:
    """Return the processor seconds of one run."""
    model = folder / "model.rankwise"
    model.unlink(missing_ok=True)
    options = ["--target", "grade", "--model", str(model)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "out.txt").open("wb") as out, path.open("rb") as file:
        if pipe:
            command, source = [*COMMAND, *options, "--labels", "1-5"], file
        else:
            command, source = [*COMMAND, str(path), *options], None
        subprocess.run(command, check=True, stdout=out, stdin=source)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: list[str]) -> int:
    """Run the command and print its rows a second."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks stream", description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    rows = parser.parse_args(arguments).rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "few.csv", 1_000)
        write_table(folder / "table.csv", rows)
        seconds_of(folder / "few.csv", folder, pipe=False)
        write_json(folder / "table.csv", folder / "table.jsonl")
        found: list[dict[str, Any]] = []
        for form, pipe in product(("csv", "jsonl"), (False, True)):
            path = folder / f"table.{form}"
            spent = min(seconds_of(path, folder, pipe=pipe) for _ in range(3))
            what = f"{form}, {'standard input' if pipe else 'a file'}"
            found.append({"name": what, "rows": rows, "seconds": spent})
            print(f"{what:21} {spent:6.1f} s of processor, {rows / spent:,.0f} rows a second")
    append("stream", {"kind": "stream", **describe(), "entrants": found})
    return 0
