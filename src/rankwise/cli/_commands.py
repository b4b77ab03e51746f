"""The commands."""

from typing import Any

import click
from rich.console import Console

from rankwise import __version__
from rankwise.cli._duel import duel
from rankwise.cli._experiment import experiment
from rankwise.cli._export import export
from rankwise.cli._order import order
from rankwise.cli._serve import serve
from rankwise.engine.terminal import degrade_output, sentence


class _Commands(click.Group):
    """All commands: what they can't do is said in a line, on any terminal."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        degrade_output()
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except ImportError as error:
            if (error.name or "").partition(".")[0] == "rankwise":
                raise
            hint = "" if "pip install" in str(error) else "; pip install 'rankwise[all]'"
            raise click.ClickException(f"{sentence(error)}{hint}") from error
        except (OSError, ValueError) as error:
            raise click.ClickException(sentence(error)) from error


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="rankwise")
def rankwise() -> None:
    """Learn to put things in order, and say how far to trust the order."""


@rankwise.command()
@click.option("--only", default="", metavar="WORD", help="Only entry points whose name holds it.")
def warmup(only: str) -> None:
    """Compile all loops and keep them, so that no later call has to wait.

    They are kept in the folder that NUMBA_CACHE_DIR names, in that of rankwise, or in your home,
    whichever can be written to first. What older versions of rankwise have left there is removed.
    """
    from rankwise.cli._warmup import warm_up  # noqa: PLC0415

    warm_up(only, Console(markup=False, emoji=False))


@rankwise.command()
@click.option("--no-test", is_flag=True, help="Leave out the self-test.")
def doctor(no_test: bool) -> None:
    """Say what is installed, where compiled loops are kept, and whether all works.

    The self-test calls one entry point after the other for ten seconds. The exit status is 1 if
    one of them fails.
    """
    from rankwise.cli._doctor import examine  # noqa: PLC0415

    if not examine(Console(markup=False, emoji=False), test=not no_test):
        raise click.exceptions.Exit(1)


rankwise.add_command(experiment)
rankwise.add_command(duel)
rankwise.add_command(order)
rankwise.add_command(export)
rankwise.add_command(serve)
