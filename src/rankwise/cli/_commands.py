"""The commands."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table as Grid

from rankwise import __version__
from rankwise.cli._order import order

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


@click.group()
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

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"--out {out}: {error.strerror}") from error
    console = Console()
    sizes = _FULL[name] if full else {}
    report = EXPERIMENTS[name](
        **sizes,
        seed=seed,
        track=lambda work: track(work, description=name, console=console),
    )
    paths = report.save(out)
    console.print(f"\n[bold]{report.title}[/bold]\n{report.setting}\n")
    for table in report.tables:
        grid = Grid(title=table.title, title_justify="left", box=SIMPLE_HEAD)
        for i, column in enumerate(table.columns):
            grid.add_column(column, justify="right" if i else "left", no_wrap=True)
        for row in table.rows:
            grid.add_row(*row)
        console.print(grid, "")
    for finding in report.findings:
        console.print(f"• {finding}")
    console.print("\nWrote " + ", ".join(str(path) for path in paths))


rankwise.add_command(order)
