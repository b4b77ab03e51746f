"""``rankwise stream``: learn rows as they arrive, and keep the position in the model file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from rankwise.cli._shared import (
    check_regular,
    check_writable,
    examples,
    reading_options,
    split_names,
)

_METHODS = ("averaged", "prank", "pa", "oap")


@click.command(
    epilog=examples(
        "rankwise stream grades.csv --target grade --model grades.rankwise --out guesses.txt",
        "tail -n +1 -f log.csv | rankwise stream --target stars --labels 1-5 --model m.rankwise",
    )
)
@click.argument(
    "file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
)
@click.option("--target", required=True, metavar="COL", help="The column of grades.")
@click.option(
    "--model",
    "path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The model file: created, or continued.",
)
@click.option("--labels", metavar="LIST", help="All grades, lowest first: 1-5, or poor,fair,good.")
@click.option("--ignore", callback=split_names, metavar="COL,...", help="Columns to leave out.")
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    help="averaged PRank, PRank as in the paper, passive-aggressive PRank, or OAP.  "
    "[default: averaged]",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the predictions.  [default: standard output]",
)
@click.option(
    "--every",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Save after this many rows.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Save after this many seconds, if there are new rows.",
)
@click.option("--follow", is_flag=True, help="Wait for more at the end of FILE.")
@click.option("--more", is_flag=True, help="FILE is another input: learn it from its start.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print the loss at the end as JSON.")
def stream(
    file: Path,
    target: str,
    path: Path,
    labels: str | None,
    ignore: list[str],
    method: str | None,
    out: Path | None,
    every: int,
    seconds: float,
    follow: bool,
    more: bool,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Learn grades online from FILE or standard input.

    Each row is predicted by the model of all earlier rows, and then learned. The output has one
    prediction per line, written at once. Rows may have any format of rankwise compare, also
    compressed, and columns are treated as there. Numbers are scaled, and missing ones imputed, by
    the rows so far; the first 100 categories of a column have a coefficient each.

    The model file holds the position in the input. After an interrupt, even kill -9, the same
    command continues from there and gives the same model, bit for bit. Standard input must be sent
    again from its start: learned rows are skipped. An --out file is cut back to that position.
    """
    from rankwise.cli._stream_run import Run, Stopped  # noqa: PLC0415

    check_regular(path, "--model")
    check_writable(path, "--model", file)
    if out is not None:
        check_regular(out, "--out")
        check_writable(out, "--out", file, path)
    with _stopped() as stopped:
        run = Run(
            None if str(file) == "-" else file,
            path,
            out,
            stopped,
            every=every,
            seconds=seconds,
            follow=follow,
            options=reading,
        )
        with suppress(Stopped):
            run.prepare(target, ignore, labels, method, more=more)
            run.go()
            run.report(as_json=as_json)
    if stopped:
        raise click.exceptions.Exit(128 + stopped[0])


@contextmanager
def _stopped() -> Iterator[list[int]]:
    """Collect the signals INT and TERM, so that a block of rows is finished and saved."""
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: noted.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
