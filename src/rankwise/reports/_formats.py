"""Reports as Markdown, csv, JSON, LaTeX and HTML."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from io import BytesIO, StringIO
from itertools import repeat
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
# Light and dark by the reader's choice; tables scroll by themselves on a narrow screen.
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --quiet: #59636e; --line: #d5dae0; --page: #fff;
  --tint: #eef4fb; --warn: #fff3e0; --blue: #2f6fb5; --orange: #c96a12; --grey: #8a8f98; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --quiet: #9aa5b0; --line: #3a424b; --page: #14181c; --tint: #1b2836;
    --warn: #3a2a12; --blue: #6ba6e8; --orange: #eb9a4a; --grey: #8f98a3; }
}
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { line-height: 1.2; margin-bottom: .3rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
.setting, figcaption, footer { color: var(--quiet); }
.headline { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; align-items: baseline;
  background: var(--tint); border-left: 4px solid var(--blue); border-radius: 4px;
  padding: .8rem 1.1rem; margin: 1.2rem 0; }
.headline b { font-size: 2.4rem; line-height: 1.1; } .headline span { flex: 1 1 18rem; }
.warning { background: var(--warn); border-left: 4px solid var(--orange); border-radius: 4px;
  padding: .6rem 1rem; }
nav ul { columns: 16rem; padding-left: 1.1rem; } a { color: var(--blue); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .8rem; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }
th { vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child, .text, .facts td { text-align: left; }
td.text { white-space: normal; min-width: 11rem; overflow-wrap: anywhere; }
.word { text-align: left; }
.facts td { white-space: normal; }
.facts td + td { overflow-wrap: anywhere; }
.facts td:first-child { white-space: nowrap; color: var(--quiet); }
tr.marked td { background: var(--tint); font-weight: 600; }
figure { margin: 1rem 0; }
svg { width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg.small { width: auto; height: 20px; vertical-align: middle; }
pre { padding: .8rem; border: 1px solid var(--line); border-radius: 4px; font-size: .85rem; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } th, td { padding: .3rem .5rem; }
  .said thead { display: none; } .said tr { display: block; padding: .6rem 0;
    border-bottom: 1px solid var(--line); }
  .said td { display: block; text-align: left; border: 0; padding: .1rem 0; }
  .said td:first-child { font-weight: bold; } .facts td:first-child { white-space: normal; }
  .said td::before { content: attr(data-name) ": "; color: var(--quiet); }
  .said td:first-child::before { content: none; }
  pre { white-space: pre-wrap; }
}
@media print { :root { font-size: 11px; } body { max-width: none; margin: 0; font-size: 1rem; }
  nav { display: none; } h2, h3 { break-after: avoid; }
  figure, table, pre, .headline { break-inside: avoid; }
  .scroll { overflow: visible; } pre { white-space: pre-wrap; } svg { max-width: 26rem; }
  th, td { padding: .15rem .4rem; } }
"""


class Svg(str):
    """A picture in the text of a page, see `rankwise.reports.charts`."""

    __slots__ = ()


def to_markdown(report: "Report") -> str:
    """Return the report in Markdown, with links to the files of its figures."""
    parts = [f"# {report.title}", report.setting]
    parts += [_markdown_table(table) for table in report.tables]
    parts += ["\n".join(f"- {finding}" for finding in report.findings)]
    parts += [f"![{name}]({_file(name, figure)})" for name, figure in report.figures.items()]
    parts += ["\n".join(f"- [{name}]({address})" for name, address in report.links.items())]
    for section in report.sections:
        parts += [f"## {section.title}", *section.text]
        parts += [f"![{name}]({_file(name, figure)})" for name, figure in section.figures.items()]
        parts += [_markdown_table(table) for table in section.tables]
        parts += [f"```python\n{section.code}\n```"] * bool(section.code)
    return "\n\n".join(filter(None, parts)) + "\n"


def _file(name: str, figure: "Figure | Svg") -> str:
    return f"{name}.svg" if isinstance(figure, Svg) else f"{name}.png"


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
    return {
        "title": table.title,
        "columns": table.columns,
        "rows": [[*map(_words, row)] for row in table.rows],
    }


def to_latex(report: "Report") -> str:
    """Return the tables in LaTeX, for the package booktabs."""
    return "\n".join(_latex_table(table) for table in report.tables)


def to_html(report: "Report") -> str:
    """Return one self-contained file: style and figures are inside, without a script."""
    tables = "".join(_html_table(table, report.links) for table in report.tables)
    # A link whose name begins a row is there.
    named = {row[0] for table in report.tables for row in table.rows if row}
    findings = "".join(
        f"<li{_class('warning' if finding.startswith('Leak?') else '')}>{escape(finding)}</li>\n"
        for finding in report.findings
    )
    figures = "".join(_html_figure(name, figure) for name, figure in report.figures.items())
    sections = "".join(map(_html_section, report.sections))
    links = "".join(
        f'<li><a href="{escape(address)}">{escape(name)}</a></li>\n'
        for name, address in report.links.items()
        if name not in named
    )
    headline = ""
    if report.headline:
        value, text = report.headline
        headline = f'<p class="headline"><b>{escape(value)}</b><span>{escape(text)}</span></p>\n'
    contents = "".join(
        f'<li><a href="#{_anchor(section.title)}">{escape(section.title)}</a></li>\n'
        for section in report.sections
    )
    contents = f'<nav aria-label="Contents"><ul>\n{contents}</ul></nav>\n' if contents else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(report.title)}</h1>\n<p "
        f'class="setting">{escape(report.setting)}</p>\n{headline}'
        + (f"<ul>\n{findings}{links}</ul>\n" if findings or links else "")
        + f"{contents}{tables}{figures}{sections}</body>\n</html>\n"
    )


def to_notebook(report: "Report") -> str:
    """Return the findings and the tables as HTML for a notebook, in its style."""
    items = "".join(f"<li>{escape(finding)}</li>\n" for finding in report.findings)
    tables = "".join(map(_html_table, report.tables))
    return f"<ul>\n{items}</ul>\n{tables}".replace(
        '<tr class="marked">', '<tr style="font-weight: bold">'
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


def _words(cell: str) -> str:
    return "" if isinstance(cell, Svg) else cell


def _markdown_table(table: "Table") -> str:
    rows = [
        [f"**{cell}**" if cell and number == table.marked else cell for cell in map(_words, row)]
        for number, row in enumerate(table.rows)
    ]
    lines = [table.columns, ["---"] * len(table.columns), *rows]
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

    A row that begins with the name of a link is linked. On a narrow screen the cells of a table
    that ends with sentences are below each other.
    """
    kinds = [_kind(cells) for cells in zip(*table.rows, strict=True)]
    kinds = kinds or [""] * len(table.columns)
    head = "".join(
        f'<th scope="col"{_class(kind)}>{escape(column)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    head = f"<thead><tr>{head}</tr></thead>\n" if any(table.columns) else ""
    form = "facts" if not head else "said" if kinds[-1] == "text" else ""
    rows = "".join(
        f"<tr{_class('marked' if number == table.marked else '')}>"
        f"{''.join(map(_html_cell, row, kinds, table.columns, repeat(form == 'said')))}</tr>\n"
        for number, row in enumerate(_linked(table.rows, links or {}))
    )
    return (
        (f"<h3>{escape(table.title)}</h3>\n" if table.title else "")
        + f'<div class="scroll"><table{_class(form)}>\n{head}'
        f"<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _kind(cells: Sequence[str]) -> str:
    """Say whether a column holds sentences, words or numbers."""
    if max(map(len, map(_words, cells))) > _LONG:
        return "text"
    return "word" if all(cell[:1].isalpha() or cell in {"", "-"} for cell in cells) else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _linked(rows: list[list[str]], links: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the rows, escaped, the first cell a link if it is the name of one."""
    for row in rows:
        cells = [cell if isinstance(cell, Svg) else escape(cell) for cell in row]
        if row and (address := links.get(row[0])):
            cells[0] = f'<a href="{escape(address)}">{cells[0]}</a>'
        yield cells


def _html_cell(cell: str, kind: str, column: str, said: bool) -> str:
    name = f' data-name="{escape(column)}"' if said else ""
    return f"<td{_class(kind)}{name}>{cell}</td>"


def _html_section(section: "Section") -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in section.text)
    figures = "".join(
        _html_figure(name, figure, named=len(section.figures) > 1)
        for name, figure in section.figures.items()
    )
    tables = "".join(map(_html_table, section.tables))
    code = (
        f'<pre class="scroll"><code>{escape(section.code)}</code></pre>\n' if section.code else ""
    )
    head = f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>'
    return f"<section>\n{head}\n{text}{figures}{tables}{code}</section>\n"


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def _html_figure(name: str, figure: "Figure | Svg", *, named: bool = True) -> str:
    """Return a figure as SVG, whose black and white are the text and the page of the reader."""
    caption = escape(name[:1].upper() + name[1:].replace("-", " "))
    text = str(figure) if isinstance(figure, Svg) else _drawn(figure)
    text = text.replace("<svg ", f'<svg aria-label="{caption}" ', 1)
    caption = f"<figcaption>{caption}</figcaption>" if named else ""
    return f"<figure>{text}{caption}</figure>\n"


def _drawn(figure: "Figure") -> str:
    out = StringIO()
    figure.savefig(
        out, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None}
    )
    text = out.getvalue()
    text = re.sub(r' (?:width|height)="[0-9.]+pt"', "", text[text.index("<svg ") :], count=2)
    for colour, variable in (("#000000", "currentColor"), ("#ffffff", "var(--page, #fff)")):
        text = text.replace(colour, variable)
    # shapes without a fill of their own are black
    return text.replace("<svg ", '<svg fill="currentColor" ', 1)


def figure_file(name: str, figure: "Figure | Svg") -> tuple[str, bytes]:
    """Return the name of the file of a figure, and what is in it."""
    content = figure.encode() if isinstance(figure, Svg) else png(figure)
    return _file(name, figure), content
