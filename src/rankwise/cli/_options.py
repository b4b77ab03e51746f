"""Arguments that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_COLUMNS = {
    "target": "The column to learn or compare with.",
    "query": "The column of lists: rows are compared within one.",
    "user": "Of ratings: who.",
    "item": "Of ratings: what.",
    "rating": "Of ratings: the number.",
}

model_argument = click.argument(
    "model", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
table_argument = click.argument(
    "table", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)


def split_names(
    _: click.Context, __: click.Parameter, value: str | tuple[str, ...] | None
) -> list[str]:
    """Return names that stand between commas, in one option or in several of one name."""
    texts = (value or "",) if isinstance(value, str | None) else value
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def columns(*parts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options for the columns of a table."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for part in reversed(parts or tuple(_COLUMNS)):
            function = click.option(f"--{part}", metavar="COL", help=_COLUMNS[part])(function)
        return function

    return decorate
