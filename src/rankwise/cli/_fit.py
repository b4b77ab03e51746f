"""``rankwise fit``: one model from a table."""

from pathlib import Path
from time import perf_counter
from typing import Any

import click

from rankwise.cli._options import columns, split_names, table_argument
from rankwise.cli._shown import as_json as json_option
from rankwise.cli._shown import examples, note, show_json
from rankwise.cli._writing import check_writable


@click.command(
    epilog=examples(
        "rankwise fit wine.csv --target quality --method 'PRank, averaged' --model wine.rankwise",
        "rankwise fit ratings.csv --model films.rankwise",
    )
)
@table_argument
@columns()
@click.option(
    "--method",
    default=None,
    metavar="NAME",
    help="As rankwise compare calls it; a wrong name is answered by the list.  [default: MPRank, "
    "or TasteModel for ratings]",
)
@click.option(
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
    help="Grades that are texts, lowest first: poor,fair,good.",
)
@click.option(
    "--text",
    type=click.Choice(["refuse", "hash"]),
    default="refuse",
    show_default=True,
    help="What becomes of columns of free text.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@json_option
def fit(
    table: Path,
    method: str | None,
    path: Path,
    ignore: list[str],
    order: list[str],
    text: str,
    seed: int,
    as_json: bool,
    **parts: str | None,
) -> None:
    """Fit a model to TABLE and save it.

    TABLE may be CSV, TSV, Parquet, Arrow, JSON lines, Excel, LETOR, svmlight or a file of ratings,
    also within gzip; - is the standard input. Columns that are not named are found by their names.
    Categories, dates and missing values are taken care of inside the model, and settings such as C
    are chosen on rows that are left out.
    """
    from rankwise.cli._fitting import fit_table, read_task  # noqa: PLC0415

    check_writable(path, "--model", table)
    options: dict[str, Any] = {"ignore": ignore, "text": text, "order": order or None}
    frame, task = read_task(table, {k: v for k, v in parts.items() if v}, options)
    note(f"taken for {task.kind}: {task.why}")
    start = perf_counter()
    facts = fit_table(frame, task, method, path, seed)
    facts["seconds"] = round(perf_counter() - start, 3)
    if as_json:
        show_json(facts | {"kind": task.kind, "why": task.why, "model": str(path)})
    else:
        chosen = ", ".join(f"{name}={value}" for name, value in facts["setting"].items())
        click.echo(
            f"{facts['method']}{f' with {chosen}' if chosen else ''} learned from "
            f"{facts['rows']:,} rows in {facts['seconds']:.1f} s; kept in {path}"
        )
