"""``rankwise evaluate``: how good a model is on rows that it has not seen."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from rankwise.cli._options import columns, model_argument, table_argument
from rankwise.cli._shown import as_json as json_option
from rankwise.cli._shown import count, examples, show_json, show_table


@click.command(
    epilog=examples(
        "rankwise evaluate wine.rankwise held-out.csv",
        "rankwise evaluate wine.rankwise held-out.csv --against older.rankwise",
    )
)
@model_argument
@table_argument
@columns("target", "query")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Another model, to be compared on the same rows.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@json_option
def evaluate(
    model: Path,
    table: Path,
    target: str | None,
    query: str | None,
    against: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure MODEL on rows that it has not learned from.

    TABLE has the target that the model was fitted to. Intervals hold in 95 of 100 cases; they
    are found by drawing rows, or whole lists, anew. Of two models the differences are tested on
    the same draws.
    """
    from rankwise.cli._evaluating import evaluate_models  # noqa: PLC0415

    paths = [model] if against is None else [model, against]
    facts, found = evaluate_models(paths, table, target, query, seed)
    if as_json:
        measures = [asdict(one) for one in found]
        show_json(facts | {"models": [str(path) for path in paths], "measures": measures})
        return
    rows, lists = facts["rows"], facts["lists"]
    title = count(rows, "row") + (f" in {count(lists, 'list')}" if lists else "")
    heads = [path.name for path in paths]
    extra = ["difference", "p"] if against else []
    cells = [
        [one.name, *(_cell(*both) for both in zip(one.values, one.intervals, strict=True))]
        + ([_cell(one.difference, one.interval), f"{one.pvalue:.2g}"] if against else [])
        for one in found
    ]
    show_table(title, ["measure", *heads, *extra], cells)


def _cell(value: Any, interval: Any) -> str:
    if np.isnan(value):
        return "no two rows differ"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"
