"""The commands."""

import click
from rich.console import Console

from rankwise import __version__
from rankwise.cli._aggregate import aggregate
from rankwise.cli._compare import compare
from rankwise.cli._completion import completion
from rankwise.cli._data import data
from rankwise.cli._duel import duel
from rankwise.cli._evaluate import evaluate
from rankwise.cli._explain import explain
from rankwise.cli._export import export
from rankwise.cli._fit import fit
from rankwise.cli._group import Commands
from rankwise.cli._predict import predict
from rankwise.cli._rank import rank
from rankwise.cli._serve import serve
from rankwise.cli._shown import examples
from rankwise.cli._sort import sort
from rankwise.cli._stream import stream


@click.group(cls=Commands, epilog="rankwise COMMAND --help tells more, with examples.")
@click.version_option(__version__, prog_name="rankwise")
def rankwise() -> None:
    """Learn to put things in order, and say how far to trust the order."""


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


for _command in (
    aggregate,
    compare,
    completion,
    data,
    duel,
    evaluate,
    explain,
    export,
    fit,
    predict,
    rank,
    serve,
    sort,
    stream,
):
    rankwise.add_command(_command)
