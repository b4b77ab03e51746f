"""``rankwise stream``: learn from rows as they come, and keep the place in the model file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rankwise.cli._shared import check_regular, check_writable, examples, split_names

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
    help="The file of the model: made, or gone on with.",
)
@click.option(
    "--labels", metavar="LIST", help="All grades from the lowest up: 1-5, or poor,fair,good."
)
@click.option("--ignore", callback=split_names, metavar="COL,...", help="Columns to leave out.")
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    help="PRank averaged, as in the paper, in passive-aggressive steps, or OAP.  "
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
    help="Save after so many rows.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Save after so many seconds, if there are new rows.",
)
@click.option("--follow", is_flag=True, help="Wait for more at the end of FILE.")
@click.option("--more", is_flag=True, help="FILE is new: learn on from its start.")
@click.option("--json", "as_json", is_flag=True, help="Tell the loss at the end in JSON.")
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
    as_json: bool,
) -> None:
    """Learn grades online from FILE or standard input.

    Rows are CSV or JSON lines, a grade and columns of numbers. Each row is predicted by the
    model that has learned all rows before it, and then learned. One prediction a line goes to
    the output at once. Columns are scaled by what was seen so far.

    The model file holds the place in the input. After an interrupt, be it kill -9, the same
    command goes on there and comes to the same model, bit for bit. Standard input has to be
    sent again from its start: rows that were learned are skipped. An --out file is cut back to
    that place.
    """
    from rankwise.cli._stream_input import Pieces  # noqa: PLC0415
    from rankwise.cli._stream_run import Run  # noqa: PLC0415

    check_regular(path, "--model")
    check_writable(path, "--model", file)
    if out is not None:
        check_regular(out, "--out")
        check_writable(out, "--out", file, path)
    with _stopped() as stopped:
        run = Run(Pieces(None if str(file) == "-" else file, follow=follow), path, stopped)
        run.prepare(target, ignore, labels, method, more=more)
        run.go(out, every, seconds)
    run.tell(as_json=as_json)
    if stopped:
        raise click.exceptions.Exit(128 + stopped[0])


@contextmanager
def _stopped() -> Iterator[list[int]]:
    """Note Ctrl-C and the wish to terminate, so that what is under way ends well."""
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
