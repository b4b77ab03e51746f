"""Show what the entrants of a race did, and keep every run as a line of JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.harness import (
    Growth,
    Race,
    Result,
    check_target,
    fit_exponent,
    time_growth,
    time_race,
)
from rankwise import __version__

RESULTS = Path(__file__).parent / "results"

console = Console()


def show_race(race: Race, results: Sequence[Result]) -> None:
    """Print the table of one race."""
    limit, reference, *_ = results
    columns = {
        "rows": "rows",
        "seconds": "seconds",
        "examples /s": "examples_per_second",
        f"x {reference.name}": "ratio",
        "x limit": "ratio_to_limit",
        race.measure: "error",
        "1st call": "first_call",
    }
    table = _table("entrant", *columns, results=results)
    for result in results:
        row = result.record(reference, limit)
        name = f"{result.name}: {result.note}" if result.note else result.name
        table.add_row(name, *(number(row[key]) for key in columns.values()))
    table.caption = f"x: time per example over that of {reference.name}, of {limit.name} (limit)"
    console.print(table)


def target_lines(race: Race, results: Sequence[Result]) -> list[tuple[str, str]]:
    """Verdict and a line for each target of a race."""
    lines = []
    for target in race.targets:
        value, verdict = check_target(target, results)
        what = f"x {target.over}" if target.over else race.measure
        bounds = {"at least": target.at_least, "at most": target.at_most}
        none = {"at least": 0.0, "at most": np.inf}
        goal = ", ".join(f"{word} {number(b)}" for word, b in bounds.items() if b != none[word])
        line = f"{target.entrant} {number(value)} {what}, target {goal}"
        lines.append((verdict, line))
    return lines


def show_growth(growth: Growth, curves: Sequence[Sequence[Result]]) -> None:
    """Print milliseconds against an axis, and the exponents."""
    values = (f"{growth.axis} {value:,}" for value in growth.values)
    table = _table("milliseconds", "exponent", *values, results=curves[0])
    table.title = f"growth in {growth.axis} {_spell(growth.fixed)}"
    for entry in growth_record(growth, curves):
        cells = (number(seconds and 1e3 * seconds) for seconds in entry["seconds"])
        slope = entry["exponent"]
        table.add_row(entry["name"], "-" if slope is None else f"{slope:.3f}", *cells)
    console.print(table)


def growth_record(growth: Growth, curves: Sequence[Sequence[Result]]) -> list[dict[str, Any]]:
    """Per entrant: seconds along the axis and the fitted exponent, ready for JSON."""
    records = []
    for entrant in zip(*curves, strict=True):
        seconds = [result.seconds for result in entrant]
        exponent = fit_exponent(growth.values, seconds)
        records.append({"name": entrant[0].name, "seconds": seconds, "exponent": exponent})
    return records


def run_race(name: str, race: Race, *, repeats: int, sizes: Mapping[str, int]) -> bool:
    """Time, show and record one race; False when an entrant that is not absent failed."""
    results = time_race(race, repeats=repeats, **sizes)
    console.rule(f"{name} {_spell(race.sizes(**sizes))}")
    show_race(race, results)
    targets = target_lines(race, results) if race.sizes(**sizes) == race.sizes() else []
    for verdict, line in targets:
        console.print(f"{verdict:8}", line, style="red" if verdict == "not met" else None)
    limit, reference, *_ = results
    entrants = [result.record(reference, limit) for result in results]
    groups = {"limit": race.limit.name, "ours": [entrant.name for entrant in race.ours]}
    record = {"sizes": race.sizes(**sizes), "measure": race.measure, **groups, "entrants": entrants}
    record["targets"] = targets
    append(name, {"kind": "race", **describe(race), "repeats": repeats, **record})
    return not any(result.note.startswith("failed") for result in results)


def run_growth(name: str, race: Race, *, repeats: int) -> None:
    """Time, show and record every growth curve of a race."""
    for growth in race.growth:
        curves = time_growth(race, growth, repeats=repeats)
        show_growth(growth, curves)
        groups = {"limit": race.limit.name, "ours": [entrant.name for entrant in race.ours]}
        record = {**asdict(growth), **groups, "entrants": growth_record(growth, curves)}
        append(name, {"kind": "growth", **describe(race), "repeats": repeats, **record})


def describe(race: Race | None = None, *libraries: str) -> dict[str, Any]:
    """Date, machine, thread count and the versions of a race's libraries, and of others named."""
    needed = {*libraries, *(entrant.needs for entrant in (race.entrants if race else ()))}
    versions: dict[str, str | None] = {}
    for library in sorted({"numba", "numpy", "rankwise", "scipy"} | needed - {""}):
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = None
    # An editable installation has the version of the day it was made.
    versions["rankwise"] = __version__
    machine = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": versions,
    }
    threads = os.environ.get("OMP_NUM_THREADS")
    date = datetime.now(UTC).isoformat(timespec="seconds")
    found = {"date": date, "machine": machine, "threads": threads and int(threads)}
    note = os.environ.get("RANKWISE_RACE_NOTE")
    return found | ({"note": note} if note else {})


def append(name: str, record: Mapping[str, Any]) -> None:
    """Add one line of JSON to the race's file in `RESULTS`, in a single write."""
    line = json.dumps(record, allow_nan=False) + "\n"
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("ab", buffering=0) as file:
        file.write(line.encode())


def _table(first: str, *others: str, results: Sequence[Result]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, title_justify="left")
    table.add_column(first, min_width=max(len(result.name) for result in results))
    for title in others:
        table.add_column(title.replace(" ", "\n"), justify="right", no_wrap=True)
    return table


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _spell(sizes: Mapping[str, int]) -> str:
    values = ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
    return f"({values})" if values else ""


def number(value: float | None) -> str:
    """Write a number in three digits, millions as M."""
    if value is None:
        return "-"
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
