"""Options, output and checks of paths that several commands share."""

import csv
import errno
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import click
from rich.console import Console

from rankwise._core.files import is_stream, replacing
from rankwise.reports import Table
from rankwise.reports.terminal import grids

# What a report is printed as, and the name of that form in `rankwise.reports.FORMATS`.
FORMS = {"table": "", "json": "json", "csv": "csv", "md": "md", "latex": "tex"}
format_option = click.option(
    "--format", "form", type=click.Choice(list(FORMS)), default="table", show_default=True,
    help="Output format.",
)  # fmt: skip


seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31), default=0, show_default=True,
    help="The random seed.",
)  # fmt: skip


def as_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format table|json`` and ``--json`` to a command, which gets ``as_json``."""

    @click.option("--format", "form", type=click.Choice(["table", "json"]), default="table",
                  show_default=True, help="Output format.")  # fmt: skip
    @click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
    @wraps(function)
    def command(*arguments: Any, form: str, as_json: bool, **options: Any) -> Any:
        return function(*arguments, as_json=as_json or form == "json", **options)

    return command


def examples(*lines: str) -> str:
    """Return the end of a help text: examples, one per line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def table_notes(task: Any, problem: Any) -> dict[str, Any]:
    """Return notes for a model file about the table of the fit."""
    labels = getattr(problem, "labels", None)
    return {"table": {"kind": task.kind, **task.roles, "labels": labels}}


def count(n: int, what: str) -> str:
    """Return a count with its noun in singular or plural."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def note(text: str, *, end: str = "\n") -> None:
    """Print a note to standard error if it is a terminal."""
    if sys.stderr.isatty():
        click.echo(text + end, nl=False, err=True)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in as many parts as the terminal needs."""
    console = Console(markup=False, emoji=False, highlight=False)
    if title:
        console.print(title, style="italic")
    for grid in grids(Table(title, list(columns), [list(row) for row in rows]), console):
        console.print(grid)


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows below their header as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a file that is complete or, if anything goes wrong, as before."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


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


_COLUMNS = {
    "target": "The column of targets: grades or numbers.",
    "query": "The column of queries: rows are compared within a query.",
    "user": "For ratings: the column of users.",
    "item": "For ratings: the column of items.",
    "rating": "For ratings: the column of ratings.",
}

model_argument = click.argument(
    "model", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
table_argument = click.argument(
    "table", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)


def column_not_found(option: str, name: str, known: Iterable[Any]) -> click.ClickException:
    """Return the error of an option that names a column which the table does not have."""
    from rankwise._core.arguments import did_you_mean  # noqa: PLC0415

    names = [str(one) for one in known]
    listed = ", ".join(names[:12]) + ", ..." * (len(names) > 12)
    near = did_you_mean(name, names) or f"; the columns are {listed}"
    return click.ClickException(f"{option}: column {name!r} not found{near}")


def split_names(
    _: click.Context, __: click.Parameter, value: str | tuple[str, ...] | None
) -> list[str]:
    """Return names that are separated by commas, in one option or in repeated ones."""
    texts = (value or "",) if isinstance(value, str | None) else value
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def columns(*parts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options for the columns of a table."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for part in reversed(parts or tuple(_COLUMNS)):
            function = click.option(f"--{part}", metavar="COL", help=_COLUMNS[part])(function)
        return function

    return decorate


# Options that override what is guessed of a file, by the arguments of `rankwise.io.read_table`.
_READING: dict[str, tuple[str, dict[str, Any]]] = {
    "format": (
        "--input-format",
        {"metavar": "NAME", "help": "Format: csv, json lines, parquet, ..."},
    ),
    "sep": ("--sep", {"metavar": "CHAR", "help": "Separator of cells, such as ; or tab."}),
    "decimal": ("--decimal", {"type": click.Choice([".", ","]), "help": "Decimal mark."}),
    "encoding": ("--encoding", {"metavar": "NAME", "help": "Encoding, such as cp1252."}),
    "header": (
        "--header/--no-header",
        {"default": None, "help": "Whether line 1 has the column names."},
    ),
    "columns": ("--columns", {"metavar": "A,B,...", "help": "Names of all columns."}),
    "comment": ("--comment", {"metavar": "TEXT", "help": "Skip lines that begin with this."}),
    "missing": ("--missing", {"metavar": "A,B,...", "help": "Cells that mean a missing value."}),
}


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that override what is guessed of a file, passed as a dict ``reading``."""

    @wraps(function)
    def command(**arguments: Any) -> Any:
        given = {name: arguments.pop(f"read_{name}") for name in _READING}
        reading = {name: value for name, value in given.items() if value is not None}
        for name in reading.keys() & {"columns", "missing"}:
            reading[name] = reading[name].split(",")
        if reading.get("sep") in {"tab", "\\t"}:
            reading["sep"] = "\t"
        return function(reading=reading, **arguments)

    for name, (option, parameters) in reversed(_READING.items()):
        command = click.option(option, f"read_{name}", **parameters)(command)
    return command


def check_writable(path: Path, option: str, *read: Path) -> None:
    """Raise if a path can't be written, or is one of those that the command reads."""
    for other in read:
        if path.resolve() == other.resolve() or (
            path.exists() and other.exists() and path.samefile(other)
        ):
            raise click.ClickException(
                f"{option} {path}: {other} would be overwritten; choose another file"
            )
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it may not be written to")
        if not is_stream(path):
            with NamedTemporaryFile(dir=path.resolve().parent, prefix=f".{path.name}."):
                pass
    except ValueError as error:
        raise click.ClickException(f"{option} {error}") from error
    except OSError as error:
        raise click.ClickException(
            f"{option} {path}: it can't be written ({error.strerror}); choose another file"
        ) from error


def check_regular(path: Path, option: str) -> None:
    """Raise if a path exists and is not a regular file, which can be read again."""
    if path.exists() and not path.is_file():
        raise click.ClickException(
            f"{option} {path} is not a regular file, so it can't be read again: choose another file"
        )
