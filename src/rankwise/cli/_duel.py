"""``rankwise duel``: the strengths of the items of a table of contests, with a report."""

import warnings
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from rankwise.cli._shared import (
    FORMS,
    count,
    examples,
    format_option,
    reading_options,
    table_argument,
)
from rankwise.reports import FORMATS, Report, Table
from rankwise.reports.terminal import show

# Rows of the table that the terminal shows; the report has all.
_SHOWN = 25
# An interval of an advantage so long holds all odds that there are.
_UNKNOWN = 50.0


@click.command(
    epilog=examples(
        "rankwise duel arena.csv --rater worker --out arena",
        "rankwise duel games.csv --first player --second opponent --outcome result",
    ),
)
@table_argument
@click.option("--first", metavar="COL", help="The first item.  [default: found by its name]")
@click.option("--second", metavar="COL", help="The second item.")
@click.option("--outcome", metavar="COL", help="The result: who won, or a tie.")
@click.option("--winner", metavar="COL", help="The winner, if the other column is the loser.")
@click.option("--loser", metavar="COL", help="The loser.")
@click.option("--rater", metavar="COL", help="The rater: each one gets a reliability.")
@click.option(
    "--ties",
    type=click.Choice(["davidson", "rao-kupper", "half"]),
    default="davidson",
    show_default=True,
    help="The model of ties.",
)
@click.option("--no-order", is_flag=True, help="Fit no advantage of coming first.")
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence level.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the report, its figures and the csv.  [default: none is written]",
)
@format_option
@reading_options
def duel(
    table: Path,
    rater: str | None,
    ties: str,
    no_order: bool,
    level: float,
    out: Path | None,
    form: str,
    reading: dict[str, Any],
    **columns: str | None,
) -> None:
    """Fit the strength of each item of TABLE, and how certain its rank is.

    TABLE has a row for each contest of two, in any format that rankwise compare reads: winner and
    loser; two items and who won, as evalica and FastChat write it; or home, away and the scores of
    both. Other columns are named.
    """
    from rankwise.cli._tables import read_frame  # noqa: PLC0415
    from rankwise.comparison import contests_of, recognise  # noqa: PLC0415
    from rankwise.contests import BradleyTerry  # noqa: PLC0415

    frame = read_frame(table, reading).frame
    try:
        task = recognise(frame, **{part: name for part, name in columns.items() if name})
        if task.kind != "contests":
            raise ValueError(
                f"the columns are {', '.join(frame.columns[:12])}: name those of the two "
                f"items and of "
                "who won by --first, --second and --outcome, or by --winner and --loser"
            )
        contests = contests_of(frame, task)
    except ValueError as error:
        raise click.ClickException(f"{table}: {error}") from error
    if rater is not None and rater not in frame:
        raise click.ClickException(f"--rater {rater}: the columns are {', '.join(frame.columns)}")
    given = None if rater is None else frame[rater].astype(str).iloc[contests.rows].to_numpy()
    ordered = contests.ordered and not no_order
    model = BradleyTerry(ties=ties, order_effect=ordered, level=level)
    left_out = len(frame) - len(contests.rows)
    judge(model, contests[:3], table.name, rater=given, left_out=left_out, out=out, form=form)


def judge(
    model: Any,
    contests: tuple[Any, Any, Any],
    name: str,
    *,
    rater: Any = None,
    left_out: int = 0,
    out: Path | None,
    form: str = "table",
) -> None:
    """Fit a `BradleyTerry`, print what it says, and write the report to a folder, if there is one.

    Parameters
    ----------
    model : BradleyTerry
        Unfitted.
    contests : tuple of array-like
        First, second and outcome.
    name : str
        Of the data.
    rater : array-like, default=None
        Who judged.
    left_out : int
        Rows of the table without scores.
    out : Path or None
        The folder; the model is kept there too.
    form : str
        What is printed: table, json, csv, md or latex.
    """
    from rankwise.persistence import save  # noqa: PLC0415

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(*contests, rater=rater)
    texts = [str(w.message) for w in said]
    if left_out:
        texts.append(f"{count(left_out, 'row')} without scores: not counted as contests")
    report = make_report(model, name, texts, draw=out is not None)
    console = Console(markup=False, emoji=False)
    if form == "table":
        show(_short(report), console)
    else:
        click.echo(FORMATS[FORMS[form]](report), nl=False)
    if out is not None:
        paths = report.save(out)
        model.to_csv(out / "strengths.csv")
        save(model, out / "model.rankwise")
        paths += [out / "strengths.csv", out / "model.rankwise"]
        console = Console(markup=False, emoji=False, stderr=form != "table")
        console.print("\nWrote " + ", ".join(str(path) for path in paths), soft_wrap=True)


def make_report(model: Any, name: str, said: list[str], *, draw: bool) -> Report:
    """Return the report of a fitted `BradleyTerry`.

    Parameters
    ----------
    model : BradleyTerry
        Fitted.
    name : str
        Of the data.
    said : list of str
        Warnings of the fit.
    draw : bool
        Whether to draw figures.
    """
    table = model.table()
    n, percent = len(table["item"]), f"{100 * model.level:g} %"
    rows = [
        [
            str(table["item"][i]),
            f"{table['strength'][i]:.2f}",
            f"{table['low'][i]:.2f} to {table['high'][i]:.2f}",
            f"{table['rank'][i]}",
            f"{table['best_rank'][i]} to {table['worst_rank'][i]}",
            f"{table['p_best'][i]:.0%}",
        ]
        for i in range(n)
    ]
    columns = ["item", "strength", percent, "rank", f"ranks, {percent}", "P(best)"]
    tables = [Table("Strengths", columns, rows)]
    if len(model.raters_):
        ends = model.reliability_interval()
        order = model.reliabilities_.argsort()
        tables.append(
            Table(
                "Reliabilities: 1 as everyone, 0 at random",
                ["rater", "reliability", percent],
                [
                    [
                        str(model.raters_[i]),
                        f"{model.reliabilities_[i]:.2f}",
                        f"{ends[i, 0]:.2f} to {ends[i, 1]:.2f}",
                    ]
                    for i in order
                ],
            )
        )
    return Report(
        title=f"Strengths: {name}",
        setting=f"{model.n_contests_:,.0f} contests of {n:,} items; {model!r}",
        tables=tables,
        findings=_findings(model, table, said, percent),
        figures=_figures(model) if draw else {},
    )


def _findings(model: Any, table: dict[str, Any], said: list[str], percent: str) -> list[str]:
    best, worst = table["best_rank"][0], table["worst_rank"][0]
    first = (
        f"{table['item'][0]} comes first, and is the best with a probability of "
        f"{table['p_best'][0]:.0%}. Its rank is {best} to {worst} ({percent}, simultaneous for all "
        "items)."
    )
    findings = [first]
    if model.order_effect:
        low, high = model.effect_interval()[0]
        findings.append(_order_finding(model.order_effect_, low, high))
    if len(model.raters_):
        coins = [str(rater) for rater in model.random_raters_]
        findings.append(
            f"{len(coins)} of {len(model.raters_)} raters answer at random, or worse"
            + (f": {', '.join(coins)}." if coins else ".")
        )
    fit = model.goodness_of_fit()
    misfit = f"misfit: {fit.unexplained:.0%} of the differences between pairs are unexplained"
    verdict = misfit if fit.pvalue < 0.05 else "no sign of misfit"
    findings.append(f"Goodness of fit: p = {fit.pvalue:.2g} ({verdict}).")
    return findings + [f"{word[:1].upper()}{word[1:]}." for word in said]


def _order_finding(effect: float, low: float, high: float) -> str:
    if high - low > _UNKNOWN:
        return "These contests can't show whether the order of the two matters."
    sure = "is not significant" if low <= 0 <= high else "is significant"
    return (
        f"The advantage of coming first {sure}: it adds {effect:.2f} ({low:.2f} to {high:.2f}) to "
        "a strength."
    )


def _figures(model: Any) -> dict[str, Any]:
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    from rankwise.plots import (  # noqa: PLC0415
        ContestCalibrationDisplay,
        RaterDisplay,
        StrengthDisplay,
        WinMatrixDisplay,
    )

    displays: dict[str, Any] = {
        "strengths": StrengthDisplay.from_estimator(model),
        "places": StrengthDisplay.from_estimator(model, places=True),
        "wins": WinMatrixDisplay.from_estimator(model),
        "calibration": ContestCalibrationDisplay.from_estimator(model),
    }
    if len(model.raters_):
        displays["raters"] = RaterDisplay.from_estimator(model)
    return {name: display.figure_ for name, display in displays.items()}


def _short(report: Report) -> Report:
    """Return the report with as many rows as a terminal shows."""
    tables = [
        Table(
            t.title if len(t.rows) <= _SHOWN else f"{t.title}, the first {_SHOWN} of {len(t.rows)}",
            t.columns,
            t.rows[:_SHOWN],
        )
        for t in report.tables
    ]
    return Report(report.title, report.setting, tables, report.findings)
