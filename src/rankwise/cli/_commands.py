"""The commands."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from rankwise import __version__
from rankwise.cli._aggregate import aggregate
from rankwise.cli._compare import check_out, compare
from rankwise.cli._completion import completion
from rankwise.cli._data import data
from rankwise.cli._evaluate import evaluate
from rankwise.cli._explain import explain
from rankwise.cli._fit import fit
from rankwise.cli._group import Commands
from rankwise.cli._predict import predict
from rankwise.cli._rank import rank
from rankwise.cli._serve import serve
from rankwise.cli._shown import examples
from rankwise.cli._sort import sort
from rankwise.cli._stream import stream
from rankwise.reports._terminal import show


class _Experiment(click.ParamType):  # type: ignore[type-arg]
    """The name of an experiment, or "all": the list is loaded when a name is given."""

    name = "name"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        from rankwise.experiments import EXPERIMENTS  # noqa: PLC0415

        chosen = click.Choice(["all", *EXPERIMENTS]).convert(value, param, ctx)
        return list(EXPERIMENTS) if chosen == "all" else [chosen]


@click.group(cls=Commands, epilog="rankwise COMMAND --help tells more, with examples.")
@click.version_option(__version__, prog_name="rankwise")
def rankwise() -> None:
    """Learn to put things in order, and say how far to trust the order."""


@rankwise.command()
@click.argument("names", metavar="NAME|all", type=_Experiment())
@click.option("--full", is_flag=True, help="The long form, with more data.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31),
    default=0,
    show_default=True,
    help="Seed of the first trial.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="reports",
    show_default=True,
    help="Folder for the report and its figures; with all, it gets a folder for each.",
)
def experiment(names: list[str], full: bool, seed: int, out: Path) -> None:
    """Run an experiment, or all, and write the report. A wrong NAME is answered by the list.

    Of all, letor is left out unless RANKWISE_DATA names the folder of its data.
    """
    if find_spec("matplotlib") is None:
        raise click.ClickException("figures need matplotlib: pip install 'rankwise[plots]'")
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    check_out(out)
    console = Console(markup=False, emoji=False)
    if len(names) == 1:
        _run(names[0], full, seed, out, console)
        return
    for name in names:
        if name == "letor" and not os.environ.get("RANKWISE_DATA"):
            console.print("letor is left out: set RANKWISE_DATA to the folder of its data")
        else:
            _run(name, full, seed, out / name, console)


def _run(name: str, full: bool, seed: int, out: Path, console: Console) -> None:
    """Run one experiment, show its report and write it."""
    from rankwise.experiments import EXPERIMENTS, LONG_FORMS  # noqa: PLC0415

    report = EXPERIMENTS[name](
        **LONG_FORMS[name] if full else {},
        seed=seed,
        track=lambda work: track(work, description=name, console=console),
    )
    paths = report.save(out)
    show(report, console)
    console.print("\nWrote " + ", ".join(str(path) for path in paths), soft_wrap=True)


@rankwise.command(
    short_help="Compile all loops, so that no call has to wait.",
    epilog=examples("rankwise warmup", "rankwise warmup --only PRank"),
)
@click.option("--only", default="", metavar="WORD", help="Only entry points whose name holds it.")
def warmup(only: str) -> None:
    """Compile all loops and keep them, so that no later call has to wait.

    They are kept in the folder that NUMBA_CACHE_DIR names, in that of rankwise, or in your home,
    whichever can be written to first. What older versions of rankwise have left there is removed.
    """
    from rankwise.cli._warmup import warm_up  # noqa: PLC0415

    warm_up(only, Console(markup=False, emoji=False))


@rankwise.command(
    short_help="Say what is installed, and whether it works.",
    epilog=examples("rankwise doctor", "rankwise doctor --no-test"),
)
@click.option("--no-test", is_flag=True, help="Leave out the self-test.")
def doctor(no_test: bool) -> None:
    """Say what is installed, where compiled loops are kept, and whether all works.

    The self-test calls one entry point after the other for ten seconds. The exit status is 1 if
    one of them fails.
    """
    from rankwise.cli._doctor import examine  # noqa: PLC0415

    if not examine(Console(markup=False, emoji=False), test=not no_test):
        raise click.exceptions.Exit(1)


experiment.epilog = experiment.epilog or examples(
    "rankwise experiment synthetic", "rankwise experiment all --full --out reports"
)
for _command in (
    aggregate,
    compare,
    completion,
    data,
    evaluate,
    explain,
    fit,
    predict,
    rank,
    serve,
    sort,
    stream,
):
    rankwise.add_command(_command)
