"""The command that compares methods on a table."""

import hashlib
import json
import os
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
from rich.console import Console

from rankwise.cli._duel import judge
from rankwise.cli._shared import (
    FORMS,
    examples,
    format_option,
    reading_options,
    split_names,
    table_notes,
)

_COLUMNS = ("target", "query", "user", "item", "rating", "winner", "loser", "tie", "group")


# From so many rows on a method is ended after a time, for which it runs in a process of its own.
_LONG = 2000


def _column(part: str, about: str) -> Any:
    return click.option(f"--{part}", metavar="COL", help=about)


@click.command(
    epilog=examples(
        "rankwise compare wine.csv --target quality",
        "rankwise compare clicks.parquet --target relevance --query search --quick --format md",
    )
)
@click.argument("table", metavar="TABLE")
@_column("target", "The column to rank by: grades, or a number.")
@_column("query", "The query of each row; only rows of one query are compared.")
@_column("user", "The user, in a table of ratings.")
@_column("item", "The item, in a table of ratings.")
@_column("rating", "The rating.")
@_column("winner", "The winner, in a table of contests.")
@_column("loser", "The loser, in a table of contests.")
@_column("tie", "True for ties, in a table of contests.")
@_column("group", "Rows with the same value stay on one side of each split.")
@_column("name", "The names of rows in the report; not learned from.")
@click.option("--ignore", multiple=True, callback=split_names, metavar="COL,...",
              help="Columns to leave out.")  # fmt: skip
@click.option("--order", multiple=True, callback=split_names, metavar="A,B,...",
              help="Grades that are strings, lowest first.")  # fmt: skip
@click.option("--text", type=click.Choice(["hash", "ignore"]), default="hash", show_default=True,
              help="Treatment of free text: hash its words, or leave it out.")  # fmt: skip
@click.option("--split", type=click.Choice(["random", "time"]), default="random", show_default=True,
              help="Random folds, or folds that test on later rows.")  # fmt: skip
@click.option("--method", "methods", multiple=True, callback=split_names, metavar="NAME,...",
              help="Only these methods, such as ridge,thresholds-trees.")  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer splits, fewer rows.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
              help="Time limit of a method.  [default: 300 from 2,000 rows on]")  # fmt: skip
@click.option("--max-rows", type=click.IntRange(min=20), help="Compare on a sample of this size.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="comparison",
              show_default=True, help="Folder for report.html and model.rankwise.")  # fmt: skip
@format_option
@click.option("--title", default="", metavar="TEXT", help="Title of the report.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True,
              help="Seed of the splits and the methods.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True,
              help="Methods that run at the same time.")  # fmt: skip
@reading_options
@click.option("--scheduler", metavar="ADDRESS", help="Run the methods on this Dask cluster.")
def compare(
    table: str, out: Path, form: str, title: str, seed: int, jobs: int, order: list[str],
    methods: list[str], scheduler: str | None, timeout: float | None, reading: dict[str, Any],
    **options: Any,
) -> None:  # fmt: skip
    """Compare the methods that fit a table, and save the advised one.

    TABLE is CSV or TSV (any usual separator), Parquet, Arrow or Feather, JSON, JSON lines, Excel,
    LETOR, svmlight or a file of ratings, also compressed (gz, zip, xz, zstd); - is the standard
    input, and films a table of the package. The task is recognised from its columns, or named by
    the options. The methods that fit are cross-validated beside baselines; the advised one is
    fitted to all rows and saved. A table of contests gets the strengths of rankwise duel.
    """
    check_out(out)
    from rankwise.comparison import compare as run  # noqa: PLC0415
    from rankwise.comparison import contests_of, read_table, recognise  # noqa: PLC0415
    from rankwise.contests import BradleyTerry  # noqa: PLC0415
    from rankwise.distributed import cluster  # noqa: PLC0415
    from rankwise.persistence import save  # noqa: PLC0415

    said = Console(stderr=True, markup=False, emoji=False)
    with cluster(scheduler), said.status("reading") as status:

        def progress(what: str) -> None:
            status.update(what)

        read = _embedded(table) or read_table(table, sample=True, seed=seed, **reading)
        if read.frame is None:
            raise click.ClickException(
                f"{table} holds {len(read.rankings or ())} rankings: combine them by rankwise "
                f"aggregate {table}"
            )
        told: dict[str, Any] = {
            part: column for part, column in options.items() if column is not None
        }
        named = told.keys() & {"target", "user", "item", "rating", "winner", "loser"}
        told = ({} if named else read.roles) | told
        columns = {part: told[part] for part in (*_COLUMNS, "text") if part in told}
        left_out = [*told.get("ignore", ()), *filter(None, [told.get("name")])]
        grades = _as_in(read.frame, order) or None
        task = recognise(read.frame, **columns, ignore=left_out, order=grades)
        if task.kind == "contests":
            status.stop()
            contests = contests_of(read.frame, task)
            model = BradleyTerry(order_effect=contests.ordered)
            left = len(read.frame) - len(contests.rows)
            judge(model, contests[:3], Path(table).name, left_out=left, out=out, form=form)
            return
        found = run(
            read.frame,
            **told,
            order=grades,
            methods=methods or None,
            timeout=timeout or (300.0 if len(read.frame) >= _LONG else None),
            n_jobs=jobs,
            random_state=seed,
            progress=progress,
        )
        found = found.from_source("table.csv" if table == "-" else table, _provenance(table))
        if read.whole is not None:
            found.warnings.insert(
                0,
                f"The file is large: {len(read.frame):,} of its about {read.whole:,} rows were "
                "looked at, in blocks from all over it.",
            )
        if form != "json":
            status.stop()
            _print(found, form)
            status.start()
        paths = found.report(title=title, progress=progress).save(out, ["html"])
        if found.model is not None:
            progress("saving")
            notes = table_notes(found.task, found.problem)
            save(found.model, out / "model.rankwise", notes=notes)
            paths.insert(0, out / "model.rankwise")
    if form == "json":
        content = found.to_dict() | {"files": [str(path) for path in paths]}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
    elif form == "table":
        said = Console(markup=False, emoji=False, highlight=False)
        said.print("\nWrote " + ", ".join(map(str, paths)), soft_wrap=True)


def _provenance(table: str) -> dict[str, str]:
    """Return the command, and the size and digest of the file."""
    about = {"command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])}
    if Path(table).is_file():
        with Path(table).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = f"{Path(table).stat().st_size:,} bytes"
        about |= {"file": Path(table).name, "size": size, "SHA-256": digest}
    return about


def _embedded(table: str) -> Any:
    """Return the films that come with rankwise, if these are meant, and no file."""
    if table != "films" or Path(table).exists():
        return None
    from rankwise.comparison import TableFile  # noqa: PLC0415
    from rankwise.datasets import load_films  # noqa: PLC0415

    return TableFile("films", load_films())


def _as_in(frame: Any, order: list[str]) -> list[Any]:
    """Return grades as the table has them: numbers that were given as texts are numbers."""
    values = {str(value): value for name in frame for value in frame[name].dropna().unique()[:50]}
    return [values.get(grade, grade) for grade in order]


def _print(found: Any, form: str) -> None:
    """Print the answer, then the table, then what is to be known about both."""
    from rankwise._core.terminal import degraded  # noqa: PLC0415
    from rankwise.reports import FORMATS, Report  # noqa: PLC0415
    from rankwise.reports.terminal import show  # noqa: PLC0415

    task = f"{found.facts['task']}.".replace("..", ".")
    brief = form == "table"
    report = Report("Advice", task, [found.table(brief=brief)], found.advice)
    if not brief:
        click.echo(FORMATS[FORMS[form]](report), nl=False)
        return
    console = Console(markup=False, emoji=False, highlight=False)
    show(report, console)
    notes = [f"Note: {text}" for text in found.warnings if not text.startswith("Leak?")]
    for text in [*found.footnotes(), *notes]:
        console.print(degraded(text, console.encoding))


def check_out(out: Path) -> None:
    """Raise if a folder can't be written to, or made, before any work is done."""
    nearest = next(path for path in (out, *out.absolute().parents) if os.path.lexists(path))
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise click.ClickException(f"--out {out}: {error.strerror}") from error
