"""Tables, sections and reports, and how they are saved to a folder."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rankwise._core.files import replacing
from rankwise.reports._formats import FORMATS, figure_file, results_csv, to_notebook

T = TypeVar("T")

# Wraps a sequence to show progress while it is worked off.
Track = Callable[[Sequence[T]], Iterable[T]]


@dataclass(frozen=True)
class Table:
    """A table of strings.

    Attributes
    ----------
    title : str
        What it shows.
    columns : list of str
        The head of each column.
    rows : list of list of str
        The cells, as many in each row as there are columns. A `Svg` is
        drawn in HTML and left out elsewhere.
    marked : int, default=None
        The number of a row that stands out.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    marked: int | None = None

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of the table {self.title!r} has {len(row)} cells for "
                    f"{len(self.columns)} columns"
                )


@dataclass(frozen=True)
class Section:
    """A section of a report.

    Attributes
    ----------
    title : str
        Its title.
    text : list of str
        Its paragraphs.
    figures : dict of str to Figure or Svg
        Its figures, by the name of their file.
    tables : list of Table
        Its numbers.
    code : str
        Lines of a program.
    """

    title: str
    text: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    code: str = ""


@dataclass(frozen=True)
class Report:
    """A report: settings, tables, figures and sections.

    Attributes
    ----------
    title, setting : str
        What was done, and with which sizes and seeds.
    tables : list of Table
        The numbers.
    findings : list of str
        What they say.
    figures : dict of str to Figure
        The pictures, by the name of their file.
    results : list of dict
        The numbers that the tables were made of, one a row, all with the same keys: what
        ``results.csv`` holds.
    about : dict
        What made them, for ``report.json``: versions, seeds and parameters.
    links : dict of str to str
        Other pages: what they are called, and their addresses.
    sections : list of Section
        What follows the tables. Terminals and csv leave them out.
    headline : tuple of str, default=None
        The most important number, and its sentence.

    Examples
    --------
    >>> from rankwise.reports import FORMATS, Report, Table
    >>> table = Table("Error of each model", ["model", "error"], [["a", "0.25"], ["b", "0.5"]])
    >>> report = Report("A comparison", "two models", [table], ["a errs less often."])
    >>> print(FORMATS["csv"](report))
    table,model,error
    Error of each model,a,0.25
    Error of each model,b,0.5
    >>> paths = report.save("comparison", ["md", "html"])  # doctest: +SKIP
    """

    title: str
    setting: str
    tables: list[Table]
    findings: list[str]
    figures: dict[str, Any] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    headline: tuple[str, str] | None = None

    def _repr_html_(self) -> str:
        """Return the findings and the tables, for a notebook."""
        return to_notebook(self)

    def save(
        self,
        folder: str | Path,
        formats: Sequence[str] = ("csv", "json", "md", "html"),
        *,
        name: str = "report",
    ) -> list[Path]:
        """Write ``results.csv``, ``report.md`` and so on; return the paths, HTML last.

        The HTML holds its figures; the other forms have them in separate files.

        Each file is complete or absent: it is written under another name and then renamed.

        Parameters
        ----------
        folder : str or Path
            Is made if it does not exist.
        formats : sequence of str
            Names in `FORMATS`, which are also the endings of the files.
        name : str, default="report"
            What the files are called before their endings.
        """
        if unknown := set(formats) - FORMATS.keys():
            raise ValueError(f"formats={sorted(unknown)} are not among {sorted(FORMATS)}")
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        beside: dict[str, Any] = dict(self.figures)
        for section in self.sections:
            beside |= section.figures
        if set(formats) == {"html"}:
            beside = {}
        files = dict(figure_file(name, figure) for name, figure in beside.items())
        if self.results:
            files["results.csv"] = results_csv(self.results).encode()
        files |= {f"{name}.{ending}": FORMATS[ending](self).encode() for ending in formats}
        for file, content in files.items():
            with replacing(folder / file) as temporary:
                temporary.write_bytes(content)
        return [folder / file for file in files]
