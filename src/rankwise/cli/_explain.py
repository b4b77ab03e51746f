"""``rankwise explain``: what each column adds to the score of a row."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import (
    count,
    examples,
    model_argument,
    show_json,
    show_table,
    table_argument,
)

if TYPE_CHECKING:
    from rankwise.cli._tables import Kept


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


def parts_of(model: Path, table: Path, row: int) -> tuple[float, float, list[dict[str, Any]]]:
    """Return the score of a row, what it starts from, and what each column of a value adds."""
    from rankwise.cli._tables import load_model, read_frame, rows_for, scores  # noqa: PLC0415
    from rankwise.recommend import TasteModel  # noqa: PLC0415

    kept, read = load_model(model), read_frame(table)
    if row >= len(read.frame):
        raise click.ClickException(f"--row {row + 1}: the table has {len(read.frame):,} rows")
    if isinstance(kept.last, TasteModel):
        raise _refusal(kept)
    one = read._replace(frame=read.frame.iloc[[row]])
    rows = rows_for(kept, one)
    z = np.asarray(rows if kept.before is None else kept.before.transform(rows), np.float64)[0]
    adds, start = _adds(kept, z)
    score = float(scores(kept, one)[0])
    if not np.isclose(adds.sum() + start, score, rtol=1e-6, atol=1e-8 * (1 + np.abs(adds).sum())):
        raise _refusal(kept)
    names = _sources(kept, rows, len(z))
    values = dict(zip(_columns(kept, rows, len(z)), np.asarray(rows).ravel().tolist(), strict=True))
    total: dict[str, float] = {}
    for name, part in zip(names, adds.tolist(), strict=True):
        total[name] = total.get(name, 0.0) + part
    parts = [
        {"column": name, "value": values[name], "adds": part}
        for name, part in total.items()
        if part
    ]
    return score, start, parts


def _adds(kept: "Kept", z: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return what each number of a row adds to the score, and what the score starts from."""
    from rankwise.boosting import RankBoost  # noqa: PLC0415

    last = kept.last
    for inner in ("best_estimator_", "estimator_"):
        last = getattr(last, inner, last)
    if isinstance(last, RankBoost):
        steps = [last.feature_score(i)(np.array([x]))[0] for i, x in enumerate(z)]
        return np.array(steps), 0.0
    coef = np.asarray(getattr(last, "coef_", ()))
    if coef.shape != z.shape:
        raise _refusal(kept)
    return coef * z, float(getattr(last, "intercept_", 0.0))


def _columns(kept: "Kept", rows: Any, width: int) -> list[str]:
    """Return the names of the columns that the model is given."""
    known = kept.facts.get("columns") or getattr(rows, "columns", None)
    return [str(name) for name in (range(1, width + 1) if known is None else known)]


def _sources(kept: "Kept", rows: Any, width: int) -> list[str]:
    """Return, for each number that the last step sees, the column that it comes from."""
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415
    from sklearn.pipeline import Pipeline  # noqa: PLC0415

    step = kept.before
    while isinstance(step, Pipeline) and len(step) == 1:
        step = step[0]
    if not isinstance(step, ColumnTransformer):
        return _columns(kept, rows, width)
    found: list[str] = []
    for _, part, columns in step.transformers_:
        sizes = [len(values) for values in getattr(part, "categories_", [])] or [1] * len(columns)
        for name, size in zip(columns, sizes, strict=True):
            found += [str(name)] * size
    return found


def _refusal(kept: "Kept") -> click.ClickException:
    return click.ClickException(
        f"{kept.path}: the score of {type(kept.last).__name__} is no sum over columns; linear "
        "models and RankBoost's stumps can be explained"
    )
