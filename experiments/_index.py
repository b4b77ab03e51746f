"""What the papers printed beside ours, and the page of all experiments."""

import re
from collections.abc import Mapping
from typing import Any

from rankwise.reports import Report, Section, Table

PAPERS = {
    "1": "K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001; the slides (paper 3) "
    "have the same experiments.",
    "2": "E. Harrington, Online ranking/collaborative filtering using the perceptron algorithm, "
    "ICML 2003.",
    "4": "C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, "
    "WEA 2007.",
    "5": "M. Mohri, Foundations of machine learning: ranking, slides of a lecture.",
}
COLUMNS = ["experiment", "paper", "what it printed", "ours", "agrees, or why not"]
# What `claim` puts together; words before it, such as a size, belong to what is ours.
_CLAIM = re.compile(r"(.*?)(Papers? \d[^:]*): (.*?) Here: (.*?)(?: So: (.*))?", re.DOTALL)


def claim(paper: str, printed: str, ours: str, verdict: str) -> str:
    """Return a finding that the page of all experiments shows as a row.

    Parameters
    ----------
    paper : str
        Such as ``"Paper 1"``.
    printed, ours : str
        What it says, in words or numbers of its text, and what was found here.
    verdict : str
        Whether they agree, or why not.

    Examples
    --------
    >>> claim("Paper 1", "PRank is best.", "it is not.", "the films differ.")
    'Paper 1: PRank is best. Here: it is not. So: the films differ.'
    """
    return f"{paper}: {printed} Here: {ours} So: {verdict}"


def index(reports: Mapping[str, Report | str]) -> Report:
    """Return the page of all: reports by the name of their experiment, or why there is none.

    It opens with what each paper printed beside ours, paper by paper; then come the figures of each
    paper, and the studies that no paper has.
    """
    claims, others = [], []
    figures: dict[str, dict[str, Any]] = {paper: {} for paper in PAPERS}
    for name, report in reports.items():
        if isinstance(report, str):
            others.append([name, report])
            continue
        found = [match for finding in report.findings if (match := _CLAIM.fullmatch(finding))]
        claims += [
            [name, paper, printed, f"{before}{ours}", verdict or "see ours"]
            for before, paper, printed, ours, verdict in (match.groups() for match in found)
        ]
        if found:
            paper = re.search(r"\d", found[0].group(2))[0]  # type: ignore[index]
            drawn = {f"{name}-{figure}": of for figure, of in report.figures.items()}
            figures[paper] |= drawn
        else:
            others.append([name, report.title])
    done = [name for name, report in reports.items() if isinstance(report, Report)]
    claims.sort(key=lambda row: row[1].split()[1])
    return Report(
        title="The papers' experiments, beside ours",
        setting=f"{len(done)} of {len(reports)} experiments were run",
        tables=[
            Table("What the papers printed, and ours", COLUMNS, claims),
            Table("Further studies", ["experiment", "what it asks, or why it was not run"], others),
        ],
        findings=[],
        links={name: f"{name}/report.html" for name in done},
        sections=[
            Section(f"Paper {paper}, again: the figures", [PAPERS[paper]], drawn)
            for paper, drawn in figures.items()
            if drawn
        ],
    )
