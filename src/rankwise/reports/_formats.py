"""A report as text: Markdown, csv, JSON, LaTeX and HTML."""

import csv
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankwise.reports._report import Report, Section, Table

_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
}
# A column with more characters in a cell holds sentences, which may be broken into lines.
_LONG = 40
# Figures in the dark: the page and the ink, and how far from grey a colour is left alone.
_DARK, _LIGHT, _GREY = "#14181c", "#e6e9ec", 0.08
# Light and dark by the reader's choice; tables scroll by themselves on a narrow screen.
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --quiet: #5b6670; --line: #d5dae0; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --quiet: #9aa5b0; --line: #3a424b; --page: #14181c; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.setting { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .8rem; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }
th { vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child, .text, .facts td { text-align: left; }
td.text { white-space: normal; min-width: 11rem; overflow-wrap: anywhere; }
.word { text-align: left; }
.facts td { white-space: normal; }
figure { margin: 1.5rem 0; } figcaption { color: var(--quiet); }
img { max-width: min(100%, 46rem); height: auto; border-radius: 4px; }
a { color: inherit; }
@media (max-width: 40rem) {
  figure { overflow-x: auto; } .scroll th { white-space: nowrap; }
  img { max-width: none; width: max(100%, 4.2rem * var(--inches)); }
  .said thead { display: none; } .said tr { display: block; padding: .6rem 0;
    border-bottom: 1px solid var(--line); }
  .said td { display: block; text-align: left; border: 0; padding: .1rem 0; }
  .said td:first-child { font-weight: bold; }
  .said td.text::before { content: attr(data-name); display: block; color: var(--quiet); }
}
pre { padding: .8rem; border: 1px solid var(--line); border-radius: 4px; font-size: .85rem; }
@media print { body { max-width: none; margin: 0; font-size: 11px; } figure, table {
  break-inside: avoid; } .scroll { overflow: visible; } th, td { padding: .15rem .4rem; } }
"""


def to_markdown(report: "Report") -> str:
    """Return the report in Markdown, with links to the figures beside it."""
    parts = [f"# {report.title}", report.setting]
    parts += [_markdown_table(table) for table in report.tables]
    parts += ["\n".join(f"- {finding}" for finding in report.findings)]
    parts += [f"![{name}]({name}.png)" for name in report.figures]
    parts += ["\n".join(f"- [{name}]({address})" for name, address in report.links.items())]
    for section in report.sections:
        parts += [f"## {section.title}", *section.text]
        parts += [f"![{name}]({name}.png)" for name in section.figures]
        parts += [_markdown_table(table) for table in section.tables]
        parts += [f"```python\n{section.code}\n```"] * bool(section.code)
    return "\n\n".join(filter(None, parts)) + "\n"


def to_csv(report: "Report") -> str:
    """Return the tables below each other, with the title of its table in front of each row."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in report.tables:
        writer.writerow(["table", *table.columns])
        writer.writerows([table.title, *row] for row in table.rows)
    return out.getvalue()


def results_csv(results: list[dict[str, Any]]) -> str:
    """Return rows with the same keys, below their names; floats so that they can be read back."""
    out = StringIO()
    writer = csv.DictWriter(out, list(results[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(results)
    return out.getvalue()


def to_json(report: "Report") -> str:
    """Return all but the figures as JSON; of these the names."""
    content = {
        "title": report.title,
        "setting": report.setting,
        "tables": [_json_table(table) for table in report.tables],
        "findings": report.findings,
        "figures": list(report.figures),
        **({"about": report.about} if report.about else {}),
        "sections": [
            {
                "title": section.title,
                "text": section.text,
                "tables": [_json_table(table) for table in section.tables],
                "figures": list(section.figures),
                "code": section.code,
            }
            for section in report.sections
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _json_table(table: "Table") -> dict[str, Any]:
    return {"title": table.title, "columns": table.columns, "rows": table.rows}


def to_latex(report: "Report") -> str:
    """Return the tables in LaTeX, for the package booktabs."""
    return "\n".join(_latex_table(table) for table in report.tables)


def to_html(report: "Report") -> str:
    """Return one file that needs nothing else: style and figures are inside, no script."""
    tables = "".join(_html_table(table, report.links) for table in report.tables)
    # A link whose name begins a row is there.
    named = {row[0] for table in report.tables for row in table.rows if row}
    findings = "".join(f"<li>{escape(finding)}</li>\n" for finding in report.findings)
    figures = "".join(_html_figure(name, figure) for name, figure in report.figures.items())
    links = "".join(
        f'<li><a href="{escape(address)}">{escape(name)}</a></li>\n'
        for name, address in report.links.items()
        if name not in named
    )
    sections = "".join(map(_html_section, report.sections))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(report.title)}</h1>\n<p class="setting">{escape(report.setting)}</p>\n'
        + (f"<ul>\n{findings}{links}</ul>\n" if findings or links else "")
        + f"{figures}{tables}{sections}</body>\n</html>\n"
    )


def png(figure: "Figure") -> bytes:
    """Return a figure as PNG."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=150)
    return out.getvalue()


FORMATS: "dict[str, Callable[[Report], str]]" = {
    "md": to_markdown,
    "csv": to_csv,
    "json": to_json,
    "tex": to_latex,
    "html": to_html,
}


def _markdown_table(table: "Table") -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in lines]
    return "\n".join([f"### {table.title}", "", *(f"| {' | '.join(row)} |" for row in cells)])


def _latex_table(table: "Table") -> str:
    head, *rows = (
        " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in row) + r" \\"
        for row in [table.columns, *table.rows]
    )
    title = "".join(_LATEX.get(c, c) for c in table.title)
    places = "l" + "r" * (len(table.columns) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{title}}}",
            rf"\begin{{tabular}}{{{places}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _html_table(table: "Table", links: Mapping[str, str] | None = None) -> str:
    """Return a table; one without heads is of facts, a name and a text in each row.

    A row that begins with the name of a link is linked. On a narrow screen the cells of a table of
    sentences are below each other.
    """
    kinds = [_kind(cells) for cells in zip(*table.rows, strict=True)]
    kinds = kinds or [""] * len(table.columns)
    head = "".join(
        f'<th scope="col"{_class(kind)}>{escape(column)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    head = f"<thead><tr>{head}</tr></thead>\n" if any(table.columns) else ""
    form = "facts" if not head else "said" if kinds.count("text") > 1 else ""
    rows = "".join(
        f"<tr>{''.join(map(_html_cell, row, kinds, table.columns))}</tr>\n"
        for row in _linked(table.rows, links or {})
    )
    return (
        f'<h2>{escape(table.title)}</h2>\n<div class="scroll"><table{_class(form)}>\n{head}'
        f"<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _kind(cells: Sequence[str]) -> str:
    """Say whether a column holds sentences, words or numbers."""
    if max(map(len, cells)) > _LONG:
        return "text"
    return "word" if all(cell[:1].isalpha() or cell in {"", "-"} for cell in cells) else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _linked(rows: list[list[str]], links: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the rows, escaped, the first cell a link if it is the name of one."""
    for row in rows:
        cells = [escape(cell) for cell in row]
        if row and (address := links.get(row[0])):
            cells[0] = f'<a href="{escape(address)}">{cells[0]}</a>'
        yield cells


def _html_cell(cell: str, kind: str, column: str) -> str:
    name = f' data-name="{escape(column)}"' if kind == "text" else ""
    return f"<td{_class(kind)}{name}>{cell}</td>"


def _html_section(section: "Section") -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in section.text)
    figures = "".join(
        _html_figure(name, figure, named=False) for name, figure in section.figures.items()
    )
    tables = "".join(map(_html_table, section.tables))
    code = (
        f'<pre class="scroll"><code>{escape(section.code)}</code></pre>\n' if section.code else ""
    )
    return f"<section>\n<h2>{escape(section.title)}</h2>\n{text}{figures}{tables}{code}</section>\n"


def _html_figure(name: str, figure: "Figure", *, named: bool = True) -> str:
    caption = escape(name[:1].upper() + name[1:].replace("-", " "))
    light = _data(png(figure))
    with _in_the_dark(figure):
        dark = _data(png(figure))
    return (
        '<figure><picture><source media="(prefers-color-scheme: dark)" '
        f'srcset="{dark}"><img src="{light}" alt="{caption}" '
        f'style="--inches: {figure.get_figwidth():.1f}"></picture>'
        + (f"<figcaption>{caption}</figcaption></figure>\n" if named else "</figure>\n")
    )


def _data(image: bytes) -> str:
    return f"data:image/png;base64,{b64encode(image).decode('ascii')}"


@contextmanager
def _in_the_dark(figure: "Figure") -> Iterator[None]:
    """Turn a figure's page dark, and what is black on it light, for a while."""
    from matplotlib.artist import Artist  # noqa: PLC0415
    from matplotlib.colors import to_rgba  # noqa: PLC0415

    undo: list[Callable[[], Any]] = []

    def swap(artist: Artist, part: str) -> None:
        get, put = getattr(artist, f"get_{part}", None), getattr(artist, f"set_{part}", None)
        if get is None or put is None or not isinstance(color := get(), str | tuple):
            return
        red, green, blue, alpha = to_rgba(color)
        if max(red, green, blue) - min(red, green, blue) > _GREY or not alpha:
            return
        low, high = to_rgba(_DARK)[:3], to_rgba(_LIGHT)[:3]
        new = [h + (red + green + blue) / 3 * (d - h) for d, h in zip(low, high, strict=True)]
        undo.append(partial(put, color))
        put((*new, alpha))

    for artist in figure.findobj():
        if not hasattr(artist, "patch"):  # figures and axes answer for their patch, which comes too
            for part in ("facecolor", "edgecolor", "color", "markeredgecolor"):
                swap(artist, part)
    try:
        yield
    finally:
        for step in reversed(undo):
            step()
