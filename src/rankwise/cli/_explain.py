"""``rankwise explain``: what each column adds to the score of a row."""

from pathlib import Path

import click

from rankwise.cli._options import model_argument, table_argument
from rankwise.cli._shown import as_json as json_option
from rankwise.cli._shown import count, examples, show_json, show_table


@click.command(
    epilog=examples(
        "rankwise explain wine.rankwise wines.csv --row 1",
        "rankwise explain wine.rankwise wines.csv --row 12 --top 5 --json",
    )
)
@model_argument
@table_argument
@click.option("--row", type=click.IntRange(1), required=True, help="Which row; the first is 1.")
@click.option("--top", type=click.IntRange(1), help="Show so many columns.")
@json_option
def explain(model: Path, table: Path, row: int, top: int | None, as_json: bool) -> None:
    """Split the score of a row by its columns.

    Linear models and boosted stumps are sums over columns, and the parts add up to the score. Other
    models are refused: their scores have no such parts.
    """
    from rankwise.cli._explaining import parts_of  # noqa: PLC0415

    score, start, parts = parts_of(model, table, row - 1)
    parts.sort(key=lambda part: -abs(part["adds"]))
    shown, left = parts[:top], parts[top:] if top else []
    if start:
        shown.append({"column": "(start)", "value": "", "adds": start})
        shown.sort(key=lambda part: -abs(part["adds"]))
    if as_json:
        show_json({"row": row, "score": score, "parts": shown})
        return
    rows = [[part["column"], str(part["value"]), f"{part['adds']:+.4g}"] for part in shown]
    if left:
        rest = sum(part["adds"] for part in left)
        rows.append([count(len(left), "more column"), "", f"{rest:+.4g}"])
    rows.append(["score", "", f"{score:.4g}"])
    show_table(f"Row {row}", ["column", "value", "adds"], rows)
