"""``rankwise fit``: one model from a table."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import (
    check_writable,
    columns,
    examples,
    note,
    reading_options,
    seed_option,
    show_json,
    split_names,
    table_argument,
    table_notes,
)

if TYPE_CHECKING:
    from rankwise.comparison import Task


@click.command(
    epilog=examples(
        "rankwise fit wine.csv --target quality --method prank --out wine.rankwise",
        "rankwise fit ratings.csv --out films.rankwise",
    )
)
@table_argument
@columns()
@click.option(
    "--method",
    default=None,
    metavar="NAME",
    help="The method, by its name in rankwise compare; an unknown name prints the list.  "
    "[default: MPRank, or TasteModel for ratings]",
)
@click.option(
    "--out",
    "--model",
    "path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.",
)
@click.option("--ignore", callback=split_names, metavar="COL,...", help="Columns to leave out.")
@click.option(
    "--order",
    callback=split_names,
    metavar="LIST",
    help="Grades that are strings, lowest first: poor,fair,good.",
)
@click.option(
    "--text",
    type=click.Choice(["hash", "ignore"]),
    default="hash",
    show_default=True,
    help="Treatment of free text: hash its words, or leave it out.",
)
@seed_option
@reading_options
@json_option
def fit(
    table: Path,
    method: str | None,
    path: Path,
    ignore: list[str],
    order: list[str],
    text: str,
    seed: int,
    reading: dict[str, Any],
    as_json: bool,
    **parts: str | None,
) -> None:
    """Fit a model to TABLE and save it.

    TABLE may be CSV, TSV, Parquet, Arrow, JSON lines, Excel, LETOR, svmlight or a file of ratings,
    also compressed; - is the standard input. Columns that no option names are recognised by
    their names. The model handles categories, dates and missing values, and settings such as C are
    chosen by cross-validation.
    """
    check_writable(path, "--out", table)
    from rankwise.comparison.final_fit import fit_task  # noqa: PLC0415
    from rankwise.persistence import save  # noqa: PLC0415

    options: dict[str, Any] = {"ignore": ignore, "text": text, "order": order or None}
    frame, task = read_task(table, reading, {k: v for k, v in parts.items() if v}, options)
    note(f"task: {task.kind}, because {task.why}")
    start = perf_counter()
    model, name, setting, problem = fit_task(frame, task, method, None, seed)
    save(model, path, notes=table_notes(task, problem))
    rows = problem.n_ratings if task.kind == "ratings" else len(problem.y)
    seconds = round(perf_counter() - start, 3)
    if as_json:
        facts = {"method": name, "setting": setting, "rows": rows, "seconds": seconds}
        show_json(facts | {"kind": task.kind, "why": task.why, "model": str(path)})
    else:
        chosen = ", ".join(f"{name}={value}" for name, value in setting.items())
        click.echo(
            f"{name}{f' with {chosen}' if chosen else ''} learned from {rows:,} rows in "
            f"{seconds:.1f} s; kept in {path}"
        )


def read_task(
    path: Path, reading: dict[str, Any], parts: dict[str, str], options: dict[str, Any]
) -> tuple[Any, "Task"]:
    """Read a table and recognise its task; options go before what is recognised."""
    from rankwise.cli._tables import read_frame  # noqa: PLC0415
    from rankwise.comparison import recognise  # noqa: PLC0415

    table = read_frame(path, reading)
    known = table.roles if parts.keys() <= table.roles.keys() else {}
    task = recognise(table.frame, **(known | parts), **options)
    if task.kind == "contests":
        raise click.ClickException(f"{path}: {task.why}; for contests use rankwise duel")
    return table.frame, task
