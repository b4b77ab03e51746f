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

_DEFAULT = "MPRank"


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
    also compressed by gzip; - is the standard input. Columns that no option names are recognised by
    their names. The model handles categories, dates and missing values, and settings such as C are
    chosen by cross-validation.
    """
    check_writable(path, "--out", table)
    options: dict[str, Any] = {"ignore": ignore, "text": text, "order": order or None}
    frame, task = read_task(table, reading, {k: v for k, v in parts.items() if v}, options)
    note(f"task: {task.kind}, because {task.why}")
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


def fit_table(
    frame: Any, task: "Task", method: str | None, path: Path, seed: int
) -> dict[str, Any]:
    """Fit a model, save it with what is known of its table, and return what was done."""
    from rankwise._core.arguments import did_you_mean  # noqa: PLC0415
    from rankwise.comparison.methods import methods_for, slug  # noqa: PLC0415
    from rankwise.comparison.problem import make_problem  # noqa: PLC0415
    from rankwise.comparison.runner import fit_final  # noqa: PLC0415
    from rankwise.comparison.trials import choose  # noqa: PLC0415
    from rankwise.persistence import save  # noqa: PLC0415
    from rankwise.recommend import RatingTable, TasteModel  # noqa: PLC0415

    if task.kind == "ratings":
        if method is not None and slug(method) != "tastemodel":
            raise click.ClickException(f"--method {method}: for ratings choose TasteModel")
        parts: dict[str, Any] = task.roles
        ratings = RatingTable.from_frame(frame, **parts)
        save(TasteModel().fit(ratings), path, notes=table_notes(task, ratings))
        return {"method": "TasteModel", "setting": {}, "rows": ratings.n_ratings}
    problem = make_problem(frame, task)
    fitting = {one.slug: one for one in methods_for(problem) if one.kept}
    name = slug(method or _DEFAULT)
    if name not in fitting:
        raise click.ClickException(
            f"--method {method}: choose one of {', '.join(fitting)} for {task.kind}"
            + (" with queries" if problem.qid is not None else "")
            + did_you_mean(name, list(fitting))
        )
    setting = choose(fitting[name], problem, problem.measures[0], seed)
    model = fit_final(fitting[name], problem, setting, seed)
    save(model, path, notes=table_notes(task, problem))
    return {"method": fitting[name].name, "setting": setting, "rows": len(problem.y)}
