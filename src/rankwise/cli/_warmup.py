"""``rankwise warmup``: compile all loops and keep them on disk."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import click
from rich.console import Console
from rich.progress import track

from rankwise._core.compilation import cache_folder, remove_old
from rankwise.cli._first_calls import FIRST_CALLS, INPUTS, FirstCall, make_data


def compiled_files() -> list[Path]:
    """Return the files of compiled loops that today's sources can use."""
    folder = cache_folder()
    return [] if folder is None else sorted(folder.rglob("*.nbc"))


def chosen(word: str) -> Iterator[tuple[str, str, FirstCall]]:
    """Yield the kind of input, the name and the call of the entry points that hold a word."""
    for kind in INPUTS:
        for name, first in FIRST_CALLS.items():
            if word in name and (kind == INPUTS[0] or first.reads_rows):
                yield kind, name, first


def warm_up(only: str, console: Console) -> None:
    """Call the entry points whose names hold a word, for all kinds of input, and tell of it."""
    work = list(chosen(only))
    if not work:
        raise click.ClickException(f"--only {only}: no entry point has that in its name")
    folder = cache_folder()
    if folder is None:
        raise click.ClickException(
            "compiled loops can't be kept: set NUMBA_CACHE_DIR to a folder that can be written to"
        )
    start = monotonic()
    data = {kind: make_data(kind) for kind in INPUTS}
    for kind, name, first in track(work, description="compiling", console=console):
        try:
            first.call(data[kind])
        except ImportError as error:
            console.print(f"{name} is left out: {error}", soft_wrap=True)
    old = remove_old(folder)
    files = compiled_files()
    size = sum(path.stat().st_size for path in files) / 1e6
    console.print(
        f"{len(work)} calls took {monotonic() - start:.0f} s. {len(files)} compiled functions "
        f"({size:.0f} MB) are kept in {folder}; {old} old folders were removed.",
        soft_wrap=True,
    )
