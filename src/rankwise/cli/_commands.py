"""The commands."""

import os
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from rankwise import __version__
from rankwise.cli._order import order
from rankwise.engine.terminal import degrade_output, sentence
from rankwise.reports._terminal import show

# The experiments, and the sizes of their long form.
_FULL: dict[str, dict[str, Any]] = {
    "auc_coverage": {"n_trials": 10_000},
    "budgets": {"n_rounds": 20_000, "n_trials": 10, "sizes": (10, 25, 50, 100, 200)},
    "drift": {"n_rounds": 48_000, "window": 1_000},
    "elections": {"n_elections": 50, "n_candidates": 80, "time_limit": 60.0},
    "ensembles": {"n_rounds": (5_000, 50_000)},
    "letor": {},
    "magnitude": {"sizes": (350, 700, 1400, 2800, 5600, 11200), "n_trials": 50},
    "preference": {
        "n_few": 7,
        "n_many": 100,
        "n_tournaments": 400,
        "n_sorts": 400,
        "sizes": (100, 1_000, 10_000, 100_000, 1_000_000),
        "tops": (1, 10, 100, 1_000),
    },
    "sizes": {
        "rows": (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
        "member_rows": (1_000, 50_000),
    },
    "steps": {"n_rounds": 50_000},
    "synthetic": {"n_rounds": 50_000},
}
_NAMES = list(_FULL)


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
@click.argument("name", type=click.Choice(_NAMES))
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
    help="Folder for the report and its figures.",
)
def experiment(name: str, full: bool, seed: int, out: Path) -> None:
    """Run an experiment and write its report."""
    if find_spec("matplotlib") is None:
        raise click.ClickException("figures need matplotlib: pip install 'rankwise[plots]'")
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    from rankwise.experiments import EXPERIMENTS  # noqa: PLC0415

    _check_out(out)
    console = Console(markup=False, emoji=False)
    sizes = _FULL[name] if full else {}
    report = EXPERIMENTS[name](
        **sizes,
        seed=seed,
        track=lambda work: track(work, description=name, console=console),
    )
    paths = report.save(out)
    show(report, console)
    console.print("\nWrote " + ", ".join(str(path) for path in paths), soft_wrap=True)


def _check_out(out: Path) -> None:
    """Refuse a folder that can't be written to, or made, before any work is done."""
    nearest = next(path for path in (out, *out.absolute().parents) if os.path.lexists(path))
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise click.ClickException(f"--out {out}: {error.strerror}") from error


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


rankwise.add_command(order)
