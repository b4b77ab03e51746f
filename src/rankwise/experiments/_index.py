"""What the papers printed beside ours, and the page of all experiments."""

from collections.abc import Mapping

from rankwise.reports import Report, Table

COLUMNS = ["experiment", "paper", "what it printed", "ours", "agrees, or why not"]
_HERE, _SO = " Here: ", " So: "


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
    return f"{paper}: {printed}{_HERE}{ours}{_SO}{verdict}"


def index(reports: Mapping[str, Report | str]) -> Report:
    """Return the page of all: reports by the name of their experiment, or why there is none."""
    rows = []
    for name, report in reports.items():
        if isinstance(report, str):
            rows.append([name, "-", "-", "-", report])
            continue
        rows += [
            [name, *_cells(finding)]
            for finding in report.findings
            if finding.startswith("Paper ") and _HERE in finding
        ] or [[name, "no paper has it", "-", f"{report.title}: {report.setting}", "-"]]
    done = [name for name, report in reports.items() if isinstance(report, Report)]
    return Report(
        title="The papers' experiments, beside ours",
        setting=f"{len(done)} of {len(reports)} experiments were run",
        tables=[Table("What the papers printed, and ours", COLUMNS, rows)],
        findings=[],
        links={name: f"{name}/report.html" for name in done},
    )


def _cells(finding: str) -> list[str]:
    """Split what `claim` has put together; without a verdict, our half says what differs."""
    paper, _, rest = finding.partition(": ")
    printed, _, rest = rest.partition(_HERE)
    ours, _, verdict = rest.partition(_SO)
    return [paper, printed, ours, verdict or "see ours"]
