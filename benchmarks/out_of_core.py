"""A file larger than the memory allowed, streamed through PRank (--gigabytes, --limit)."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from benchmarks.harness import load
from benchmarks.report import append, console, describe

FEATURES, RANKS, CHUNK = 100, 5, 20_000
MB, GB = 10**6, 10**9


def write_stream(folder: Path, rows: int, seed: int = 1) -> None:
    """Write ``X.npy`` and ``y.npy`` chunk by chunk: equal-mass ranks of a noisy linear score."""
    g = np.random.default_rng(seed)
    w = g.standard_normal(FEATURES)
    w /= np.linalg.norm(w)
    cuts = np.quantile(np.hypot(1, 0.3) * g.standard_normal(10**6), np.arange(1, RANKS) / RANKS)
    X = open_memmap(folder / "X.npy", mode="w+", dtype=np.float64, shape=(rows, FEATURES))
    y = open_memmap(folder / "y.npy", mode="w+", dtype=np.int8, shape=(rows,))
    for start in range(0, rows, CHUNK):
        part = g.standard_normal((min(CHUNK, rows - start), FEATURES))
        X[start : start + CHUNK] = part
        y[start : start + CHUNK] = np.searchsorted(
            cuts, part @ w + 0.3 * g.standard_normal(len(part))
        )


def stream(folder: Path, limit: int) -> Iterator[dict[str, Any]]:
    """Learn from the file with a limit on the private memory of this process.

    Parameters
    ----------
    folder : Path
        Where `write_stream` wrote.
    limit : int
        Bytes of private memory that the process may allocate.

    Yields
    ------
    dict
        After each tenth: rows and seconds so far, anonymous memory now and at its peak, and
        whether loading the file whole had succeeded.
    """
    resource, prank = import_module("resource"), load("rankwise.ordinal.PRank")
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    whole = loads_whole(folder / "X.npy")
    X, y = (np.load(folder / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
    ranks, model = np.arange(RANKS), prank(vote=None)
    prank(vote=None).partial_fit(X[:CHUNK], y[:CHUNK], classes=ranks)  # compiles
    tenths = np.linspace(0, len(X), 11, dtype=int)[1:].tolist()
    seconds, peak = 0.0, 0
    for start in range(0, len(X), CHUNK):
        stop = min(start + CHUNK, len(X))
        begin = perf_counter()
        model.partial_fit(X[start:stop], y[start:stop], classes=ranks)
        seconds += perf_counter() - begin
        memory = anonymous_memory()
        peak = max(peak, memory)
        if stop >= tenths[0]:
            state = {"rows": stop, "seconds": seconds, "memory": memory, "peak": peak}
            yield {**state, "loads_whole": whole}
            tenths = [tenth for tenth in tenths if tenth > stop]


def anonymous_memory() -> int:
    """Bytes of this process that are resident and not backed by a file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def loads_whole(path: Path) -> bool:
    """Whether the file fits in memory as one array: under the limit it should not."""
    try:
        np.load(path)
    except MemoryError:
        return False
    return True


def watch(folder: str, limit: int) -> list[dict[str, Any]]:
    """Run `stream` in a child process and print its states as they come."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", folder, str(limit)]
    states = []
    # A session of its own, so that Ctrl-C reaches only this process, which then ends the child.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        try:
            for line in child.stdout or ():
                states.append(state := json.loads(line))
                console.print(
                    f"{state['rows']:12,} rows  {state['memory'] / MB:6.1f} MB anonymous  "
                    f"{state['rows'] / state['seconds']:12,.0f} rows/s",
                    highlight=False,
                )
        finally:
            child.kill()
    return states


def main(arguments: Sequence[str]) -> int:
    """Write the file, stream it under the limit, show and record the memory it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks out_of_core")
    parser.add_argument("--gigabytes", type=float, default=4.0, help="size of the file")
    parser.add_argument("--limit", type=float, default=1.0, help="gigabytes that may be allocated")
    options = parser.parse_args(arguments)
    if not Path("/proc/self/status").exists():
        console.print("out_of_core is left out: only Linux has /proc/self/status")
        return 0
    if not 0 < options.limit < options.gigabytes:
        parser.error(f"--limit {options.limit:g} must be under --gigabytes {options.gigabytes:g}")
    size, limit = int(options.gigabytes * GB), int(options.limit * GB)
    rows = size // (8 * FEATURES)
    with TemporaryDirectory() as folder:
        if (free := shutil.disk_usage(folder).free) < 1.1 * size:
            parser.error(f"--gigabytes {options.gigabytes:g}: only {free / GB:.1f} GB are free")
        console.print(
            f"writing {options.gigabytes:g} GB, then streaming under {options.limit:g} GB"
        )
        write_stream(Path(folder), rows)
        states = watch(folder, limit)
    if not states or states[-1]["rows"] != rows:
        console.print("the stream did not reach its end: see the message above")
        return 1
    last = states[-1]
    growth = last["memory"] - states[0]["memory"]
    console.print(
        f"{rows:,} rows ({size / GB:g} GB) went through PRank.partial_fit with at most "
        f"{last['peak'] / MB:.0f} MB of anonymous memory, {growth / MB:+.1f} MB between the first "
        f"tenth and the last, at {rows / last['seconds']:,.0f} rows and "
        f"{size / GB / last['seconds']:.2f} GB a second; loading the file whole under the limit of "
        f"{limit / GB:g} GB {'succeeded' if last['loads_whole'] else 'was refused'}.",
        highlight=False,
    )
    append(
        "out_of_core",
        {"kind": "stream", **describe(), "bytes": size, "limit": limit, "states": states},
    )
    return 0


if __name__ == "__main__":
    for state in stream(Path(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(state), flush=True)
