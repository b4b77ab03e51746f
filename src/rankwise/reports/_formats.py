"""A report as text: Markdown, csv, JSON, LaTeX and HTML."""

import csv
import json
from base64 import b64encode
from collections.abc import Callable
from html import escape
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankwise.reports._report import Report, Table

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
th:first-child, td:first-child, .text { text-align: left; }
td.text { white-space: normal; min-width: 11rem; }
figure { margin: 1.5rem 0; } figcaption { color: var(--quiet); }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
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
        "tables": [
            {"title": table.title, "columns": table.columns, "rows": table.rows}
            for table in report.tables
        ],
        "findings": report.findings,
        "figures": list(report.figures),
        **({"about": report.about} if report.about else {}),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def to_latex(report: "Report") -> str:
    """Return the tables in LaTeX, for the package booktabs."""
    return "\n".join(_latex_table(table) for table in report.tables)


def to_html(report: "Report") -> str:
    """Return one file that needs nothing else: style and figures are inside, no script."""
    tables = "".join(_html_table(table) for table in report.tables)
    findings = "".join(f"<li>{escape(finding)}</li>\n" for finding in report.findings)
    figures = "".join(_html_figure(name, figure) for name, figure in report.figures.items())
    links = "".join(
        f'<li><a href="{escape(address)}">{escape(name)}</a></li>\n'
        for name, address in report.links.items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(report.title)}</h1>\n<p class="setting">{escape(report.setting)}</p>\n'
        f"<ul>\n{findings}{links}</ul>\n{figures}{tables}</body>\n</html>\n"
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


def _html_table(table: "Table") -> str:
    kinds = [
        ' class="text"' if max(map(len, cells), default=0) > _LONG else ""
        for cells in zip(*table.rows, strict=True)
    ] or [""] * len(table.columns)
    head = "".join(
        f'<th scope="col"{kind}>{escape(column)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(c)}</td>" for c, kind in zip(row, kinds, strict=True))
        + "</tr>\n"
        for row in table.rows
    )
    return (
        f'<h2>{escape(table.title)}</h2>\n<div class="scroll"><table>\n<thead><tr>{head}</tr>'
        f"</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _html_figure(name: str, figure: "Figure") -> str:
    data = b64encode(png(figure)).decode("ascii")
    caption = escape(name.replace("-", " "))
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{caption}">'
        f"<figcaption>{caption}</figcaption></figure>\n"
    )
