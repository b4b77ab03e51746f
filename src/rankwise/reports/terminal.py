"""Reports on a terminal of any width: a table that is too wide is shown in parts."""

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from rankwise._core.terminal import degraded

if TYPE_CHECKING:
    from rankwise.reports import Report, Table

# What rich puts around a column, two blanks and a line, and at the edge of a table.
_AROUND, _EDGE = 3, 1
_NARROW = 8


def show(report: "Report", console: Console) -> None:
    """Print the title, the tables and the findings of a report."""
    console.print(f"\n{_plain(report.title, console)}", style="bold")
    console.print(f"{_plain(report.setting, console)}\n")
    for table in report.tables:
        console.print(_plain(table.title, console), style="italic")
        for grid in grids(table, console):
            console.print(grid)
    for finding in report.findings:
        console.print(_plain(f"• {finding}", console))


def grids(table: "Table", console: Console) -> list[Grid]:
    """Return a table in as many parts as it takes to fit the console.

    The first column names the rows and is in every part; it alone may be folded. The others are as
    wide as their widest cell, so that no number is cut.
    """
    columns = [
        [_plain(text, console) for text in texts]
        for texts in zip(table.columns, *table.rows, strict=True)
    ]
    widths = [max(map(cell_len, texts)) for texts in columns]
    parts = [list(range(1, len(columns)))]
    if sum(widths) + _AROUND * len(widths) + _EDGE > console.width:
        widths = _narrow(columns, console.width)
        parts = _parts(widths, console.width)
    return [
        _grid([columns[i] for i in [0, *part]], [widths[i] for i in [0, *part]]) for part in parts
    ]


def _narrow(columns: list[list[str]], width: int) -> list[int]:
    """Return the widths of columns whose headers are broken at blanks, and names if need be."""
    widths = [
        max(cell_len(text) for text in [*header.split(), *cells]) for header, *cells in columns
    ]
    room = width - _EDGE - _AROUND - max((w + _AROUND for w in widths[1:]), default=0)
    widths[0] = max(min(widths[0], width // 2, room), _NARROW)
    return widths


def _parts(widths: list[int], width: int) -> list[list[int]]:
    """Share the columns but the first among parts, in their order, as many as fit in each."""
    parts: list[list[int]] = []
    room = 0
    for i, wanted in enumerate(widths[1:], 1):
        if not parts or wanted + _AROUND > room:
            parts.append([])
            room = width - _EDGE - _AROUND - widths[0]
        parts[-1].append(i)
        room -= wanted + _AROUND
    return parts or [[]]


def _grid(columns: list[list[str]], widths: list[int]) -> Grid:
    grid = Grid(box=SIMPLE_HEAD)
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        grid.add_column(
            Text(column[0]), justify="right" if i else "left", width=width, overflow="fold"
        )
    for row in zip(*(column[1:] for column in columns), strict=True):
        grid.add_row(*map(Text, row))
    return grid


def _plain(text: str, console: Console) -> str:
    return degraded(text, console.encoding)
