"""Votes out of a file: PrefLib, or one ranking a line."""

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from rankwise.datasets import read_preflib
from rankwise.datasets.check import guess_format

_COUNT = re.compile(r"([0-9]+)\s*:\s*(.*)")
Votes = tuple[list[list[Any]], Sequence[int]]


def read_votes(path: Path) -> Votes:
    """Return orders, best first with ties as tuples, and how often each was cast."""
    if str(path) != "-":
        return _read(path, str(path))
    with TemporaryDirectory() as folder:
        spooled = Path(folder) / "votes"
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return _read(spooled, "standard input")


def _read(path: Path, name: str) -> Votes:
    known = guess_format(path)
    if known is not None and known.name == "PrefLib":
        orders, counts = read_preflib(path, return_counts=True)
        return orders, counts.tolist()
    raw = path.read_bytes()
    if b"\0" in raw:
        raise click.ClickException(f"{name}: no text; PrefLib or one ranking a line is wanted")
    orders, counts = [], []
    for number, line in enumerate(raw.decode("utf-8-sig", "replace").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        counted = _COUNT.fullmatch(text)
        counts.append(int(counted[1]) if counted else 1)
        orders.append(_order(counted[2] if counted else text, f"{name}:{number}"))
    if not orders:
        raise click.ClickException(f"{name} has no rankings")
    return orders, counts


def _order(text: str, place: str) -> list[Any]:
    """Return the order of a line: ``a > b = c``, ``a, b, c``, or words."""
    separator = next((mark for mark in (">", ",", ";", "\t") if mark in text), None)
    joined = re.sub(r"\s*=\s*", "=", text)
    groups = [
        tuple(name.strip() for name in group.split("=") if name.strip())
        for group in joined.split(separator)
    ]
    names = [name for group in groups for name in group]
    if any(not group for group in groups):
        raise click.ClickException(f"{place}: a name is missing in {text[:80]!r}")
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise click.ClickException(
            f"{place}: {twice!r} is there twice; a ranking a line is wanted, as in a > b = c"
        )
    return [group if len(group) > 1 else group[0] for group in groups]
