"""What commands print: tables and JSON on the output, notes for a person on the terminal."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from rankwise.reports import Table
from rankwise.reports.terminal import grids

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def examples(*lines: str) -> str:
    """Return the end of a help text: examples, each in a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def table_notes(task: Any, problem: Any) -> dict[str, Any]:
    """Return what is kept beside a model about the table that it was fitted to."""
    labels = getattr(problem, "labels", None)
    return {"table": {"kind": task.kind, **task.roles, "labels": labels}}


def count(n: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def note(text: str) -> None:
    """Tell a person at the terminal something; a pipe or a file gets none of it."""
    if sys.stderr.isatty():
        click.echo(text, err=True)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in as many parts as the terminal needs."""
    console = Console(markup=False, emoji=False, highlight=False)
    if title:
        console.print(title, style="italic")
    for grid in grids(Table(title, list(columns), [list(row) for row in rows]), console):
        console.print(grid)


def show_json(value: Any, *, err: bool = False) -> None:
    """Print a value as one line of JSON; a number that is not finite becomes null."""
    click.echo(json.dumps(_plain(value), ensure_ascii=False), err=err)


def _plain(value: Any) -> Any:
    """Return a value of NumPy, or what holds some, as JSON knows it."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
