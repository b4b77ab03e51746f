"""What an experiment returns, and how it is kept."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rankwise.engine.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

# Wraps a sequence to show progress while it is worked off.
Track = Callable[[Sequence[T]], Iterable[T]]


@dataclass(frozen=True)
class Table:
    """A table of strings."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join([f"### {self.title}", "", *(f"| {' | '.join(row)} |" for row in lines)])


@dataclass(frozen=True)
class Report:
    """The outcome of an experiment.

    Attributes
    ----------
    title, setting : str
        What was done, and with which sizes and seeds.
    tables : list of Table
        The numbers, the paper's beside ours.
    findings : list of str
        What they say, differences to the paper included.
    figures : dict of str to Figure
        The pictures, by the name of their file.
    """

    title: str
    setting: str
    tables: list[Table]
    findings: list[str]
    figures: "dict[str, Figure]"

    def to_markdown(self) -> str:
        """Return the report in Markdown, with links to the figures beside it."""
        parts = [f"# {self.title}", self.setting]
        parts += [table.to_markdown() for table in self.tables]
        parts += ["\n".join(f"- {finding}" for finding in self.findings)]
        parts += [f"![{name}]({name}.png)" for name in self.figures]
        return "\n\n".join(parts) + "\n"

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``report.md`` and the figures as PNG to a folder; return the paths.

        Each file is complete or absent: it is written under another name and then renamed.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, figure in self.figures.items():
            paths.append(folder / f"{name}.png")
            with replacing(paths[-1]) as temporary:
                figure.savefig(temporary, format="png", dpi=150)
        paths.append(folder / "report.md")
        with replacing(paths[-1]) as temporary:
            temporary.write_text(self.to_markdown(), encoding="utf-8")
        return paths
