"""What the papers printed beside ours, and the page of all experiments."""

import re
from collections.abc import Mapping

from rankwise.reports import Report, Table

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

    Those that no paper has come last.
    """
    rows, others = [], []
    for name, report in reports.items():
        if isinstance(report, str):
            rows.append([name, "-", "-", "-", report])
            continue
        claims = [match for finding in report.findings if (match := _CLAIM.fullmatch(finding))]
        rows += [
            [name, paper, printed, f"{before}{ours}", verdict or "see ours"]
            for before, paper, printed, ours, verdict in (match.groups() for match in claims)
        ]
        if not claims:
            others.append([name, "-", "-", report.title, "see its report"])
    done = [name for name, report in reports.items() if isinstance(report, Report)]
    return Report(
        title="The papers' experiments, beside ours",
        setting=f"{len(done)} of {len(reports)} experiments were run",
        tables=[Table("What the papers printed, and ours", COLUMNS, [*rows, *others])],
        findings=[],
        links={name: f"{name}/report.html" for name in done},
    )
