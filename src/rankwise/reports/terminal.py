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
    """Print the title, the findings and the tables of a report: first the answer."""
    console.print(f"\n{_plain(report.title, console)}", style="bold")
    console.print(f"{_plain(report.setting, console)}\n")
    for finding in report.findings:
        console.print(_plain(f"• {finding}", console))
    for table in report.tables:
        console.print(_plain(f"\n{table.title}", console), style="italic")
        for grid in grids(table, console):
            console.print(grid)


def grids(table: "Table", console: Console) -> list[Grid]:
    """Return a table in as many parts as it takes to fit the console.

    The first column, or the first two if it takes both to tell the rows apart, is in every part and
    may be folded. The others are as wide as their widest cell, so that no number is cut.
    """
    columns = [
        [_plain(text, console) for text in texts]
        for texts in zip(table.columns, *table.rows, strict=True)
    ]
    widths = [max(map(cell_len, texts)) for texts in columns]
    n_names = 1
    parts = [list(range(1, len(columns)))]
    if sum(widths) + _AROUND * len(widths) + _EDGE > console.width:
        n_names = _names(table)
        widths = _narrow(columns, n_names, console.width)
        parts = _parts(widths, n_names, console.width)
    names = list(range(n_names))
    return [
        _grid(
            [columns[i] for i in names + part],
            [widths[i] for i in names + part],
            n_names,
            table.marked,
        )
        for part in parts
    ]


def _names(table: "Table") -> int:
    """Return how many columns name the rows: two if that tells rows apart and one does not."""
    first, both = ({tuple(row[:n]) for row in table.rows} for n in (1, 2))
    return 2 if len(first) < len(both) == len(table.rows) and len(table.columns) > 2 else 1


def _narrow(columns: list[list[str]], n_names: int, width: int) -> list[int]:
    """Return the widths of columns whose headers are broken at blanks, and names if need be."""
    widths = [
        max(cell_len(text) for text in [*header.split(), *cells]) for header, *cells in columns
    ]
    widest = max((w + _AROUND for w in widths[n_names:]), default=0)
    room = min(width - _EDGE - _AROUND * n_names - widest, width * n_names // 3 + width // 6)
    for i in range(n_names):
        widths[i] = max(min(widths[i], room // (n_names - i)), _NARROW)
        room -= widths[i]
    return widths


def _parts(widths: list[int], n_names: int, width: int) -> list[list[int]]:
    """Share the columns but the names among parts, in their order, as many as fit in each."""
    parts: list[list[int]] = []
    room = 0
    for i, wanted in enumerate(widths[n_names:], n_names):
        if not parts or wanted + _AROUND > room:
            parts.append([])
            room = width - _EDGE - sum(w + _AROUND for w in widths[:n_names])
        parts[-1].append(i)
        room -= wanted + _AROUND
    return parts or [[]]


def _grid(columns: list[list[str]], widths: list[int], n_names: int, marked: int | None) -> Grid:
    grid = Grid(box=SIMPLE_HEAD)
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        grid.add_column(
            Text(column[0]),
            justify="left" if i < n_names else "right",
            width=width,
            overflow="fold",
        )
    for number, row in enumerate(zip(*(column[1:] for column in columns), strict=True)):
        grid.add_row(*map(Text, row), style="bold" if number == marked else "")
    return grid


def _plain(text: str, console: Console) -> str:
    return degraded(text, console.encoding)
