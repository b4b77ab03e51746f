"""First calls: every entry point in a fresh process, with an empty compile cache and a full one.

``python -m benchmarks cold_start [NAME ...]`` runs all entry points, or those whose names contain
one of the words. Seconds are of one run each, of the processor and not of the clock, so that other
work on the machine hardly counts; the call excludes the imports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from rankwise.cli._first_calls import FIRST_CALLS

# The entry points of rankwise stand in its own table; of a peer, what is imported and the call.
OURS = """
from rankwise.cli._first_calls import FIRST_CALLS, make_data
first, data = FIRST_CALLS[{name!r}], make_data()
first.load()
"""
ROWS = """
import numpy as np
random = np.random.default_rng(0)
X = random.normal(size=(60, 4))
s = X @ [1.0, 2.0, -1.0, 0.0]
y = np.digitize(s, [-1.5, 0.0, 1.5])
"""
PEERS: dict[str, tuple[str, str]] = {
    "sklearn LogisticRegression": (
        "from sklearn.linear_model import LogisticRegression",
        "LogisticRegression().fit(X, y).predict(X)",
    ),
    "sklearn roc_auc_score": (
        "from sklearn.metrics import roc_auc_score",
        "roc_auc_score(y > 1, s)",
    ),
    "LGBMRanker": (
        "from lightgbm import LGBMRanker",
        "LGBMRanker(verbose=-1).fit(X, y, group=[60]).predict(X)",
    ),
}
CHILD = """
import json, sys, time
start = time.process_time()
compiled = []
{imports}
try:
    from numba.core import event
    class Note(event.Listener):
        def on_start(self, found):
            compiled.append(found.data["dispatcher"].py_func.__module__)
        def on_end(self, found):
            pass
    event.register("numba:compile", Note())
except ImportError:
    pass
imported = time.process_time()
{call}
done = time.process_time()
ours = sum(name.startswith("rankwise") for name in compiled)
print(json.dumps(dict(imports=imported - start, call=done - imported, ours=ours,
                      numba=len(compiled) - ours)))
"""


def first_call(imports: str, call: str, cache: str) -> dict[str, Any] | None:
    """Return the seconds and compiled functions of a first call in a new process."""
    code = CHILD.format(imports=imports, call=call)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(arguments: list[str]) -> int:
    """Run the first calls and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cold_start", description=__doc__)
    parser.add_argument("names", nargs="*", help="words that the names of entry points contain")
    chosen = parser.parse_args(arguments).names
    table = Table(
        Column("first call", no_wrap=True), "imports s", "cold s", "cached s", "ours", "numba's own"
    )
    table.caption = "cold and cached: beyond the imports; the last two: functions compiled"
    console = Console()
    ours = {name: (OURS.format(name=name), "first.call(data)") for name in FIRST_CALLS}
    peers = {name: (f"{ROWS}\n{imports}", call) for name, (imports, call) in PEERS.items()}
    for name, (imports, call) in {**ours, **peers}.items():
        if chosen and not any(word in name for word in chosen):
            continue
        with tempfile.TemporaryDirectory() as cache:
            cold = first_call(imports, call, cache)
            warm = first_call(imports, call, cache)
        if cold is None or warm is None:
            table.add_row(name, *["failed or absent"] + ["-"] * 4)
            continue
        table.add_row(
            name,
            f"{cold['imports']:.2f}",
            f"{cold['call']:.2f}",
            f"{warm['call']:.2f}",
            str(cold["ours"]),
            str(cold["numba"]),
        )
        print(f"{name}: {cold['call']:.2f} s", file=sys.stderr, flush=True)
    console.print(table)
    return 0
