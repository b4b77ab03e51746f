"""``rankwise predict``, ``rank``, ``evaluate`` and ``explain``: a model on the rows of a table."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import (
    check_writable,
    columns,
    count,
    csv_text,
    examples,
    model_argument,
    note,
    reading_options,
    seed_option,
    show_json,
    show_table,
    table_argument,
    write_text,
)

if TYPE_CHECKING:
    from rankwise.cli._tables import Kept, Read
    from rankwise.comparison.held_out import HeldOut
    from rankwise.comparison.measures import Answers


@click.command(
    epilog=examples(
        "rankwise predict wine.rankwise new-wines.csv",
        "rankwise predict films.rankwise pairs.csv --out scores.csv",
    )
)
@model_argument
@table_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the predictions.  [default: standard output]",
)
@reading_options
@json_option
def predict(
    model: Path, table: Path, out: Path | None, reading: dict[str, Any], as_json: bool
) -> None:
    """Print a grade or a score for each row of TABLE, as CSV with a header.

    Columns are found by their names, and a column of targets is ignored. If the model knows a
    column with the names of the rows, and TABLE has it, the names are printed, too.
    """
    from rankwise.cli._tables import load_model, predictions, read_frame  # noqa: PLC0415

    if out is not None:
        check_writable(out, "--out", model, table)
    kept, read = load_model(model), read_frame(table, reading)
    found = predictions(kept, read).tolist()
    name: Any = kept.facts.get("name")
    names = {name: read.frame[name].tolist()} if name in read.frame else {}
    text = csv_text([*names, "prediction"], zip(*names.values(), found, strict=True))
    if out is not None:
        write_text(out, text)
        note(f"{len(found):,} predictions are in {out}")
    if as_json:
        show_json({"rows": len(found), **({"predictions": found} if out is None else {})})
    elif out is None:
        click.echo(text, nl=False)


@click.command(
    epilog=examples(
        "rankwise rank wine.rankwise new-wines.csv --top 5",
        "rankwise rank web.rankwise pages.txt --query query --top 3 --json",
    )
)
@model_argument
@table_argument
@columns("query")
@click.option("--top", type=click.IntRange(1), help="Number of rows to show per query.")
@click.option("--flip", is_flag=True, help="Worst first.")
@click.option("--name", metavar="COL", help="The column with the names of the rows.")
@reading_options
@json_option
def rank(
    model: Path,
    table: Path,
    query: str | None,
    top: int | None,
    flip: bool,
    name: str | None,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Put the rows of TABLE in order, best first.

    The default query column is that of the fit, if TABLE has it. Each ranking is cut at the largest
    gap of its scores: the rows above it stand apart from the others. A terminal shows a table of 10
    rows per query, a pipe gets all rows as CSV.
    """
    from rankwise.cli._tables import load_model, read_frame  # noqa: PLC0415

    kept, read = load_model(model), read_frame(table, reading)
    lists = _lists(kept, read, query, name, flip)
    shown = sys.stdout.isatty() and not as_json
    for one in lists:
        one["rows"] = one["rows"][: top or (10 if shown else None)]
    if as_json:
        show_json(lists)
    elif shown:
        for one in lists:
            _show(one)
    else:
        _print_csv(lists)


def _lists(kept: Any, read: Any, query: str | None, name: str | None, flip: bool) -> list[Any]:
    """Return the rows of each list in order, and how many stand before the largest gap."""
    from rankwise.cli._tables import column_of, scores  # noqa: PLC0415
    from rankwise.magnitude import cut_at_gap  # noqa: PLC0415

    keys = _keys(kept, read, query)
    names = None if name is None else read.frame[column_of(kept, read, "name", name)]
    found = scores(kept, read)
    signed = -found if flip else found
    lists = []
    for rows in _ordered(signed, keys):
        entries = [
            {"place": i + 1, "row": int(row) + 1}
            | ({} if names is None else {"name": str(names.iloc[row])})
            | {"score": float(found[row])}
            for i, row in enumerate(rows)
        ]
        keep = cut_at_gap(signed[rows])
        key = None if keys is None else keys[rows[0]]
        lists.append({"list": key, "size": len(rows), "above_gap": keep, "rows": entries})
    return lists


def _keys(kept: Any, read: Any, query: str | None) -> Any:
    """Return the list of each row as a string; None if all rows are one list."""
    from rankwise.cli._tables import list_column  # noqa: PLC0415

    column = list_column(kept, read, query)
    if column is None:
        return None
    missing = read.frame[column].isna().to_numpy()
    if missing.any():
        raise click.ClickException(
            f"row {missing.argmax() + 1} has no value in column {column!r}: give its query, or "
            "remove the row"
        )
    return read.frame[column].astype(str).to_numpy()


def _ordered(scores: Any, keys: Any) -> list[Any]:
    """Return the rows of each list, highest score first; the list that is seen first goes first."""
    from rankwise.io.files import pandas  # noqa: PLC0415

    codes = np.zeros(len(scores)) if keys is None else pandas().factorize(keys)[0]
    order = np.lexsort((-scores, codes))
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _show(one: dict[str, Any]) -> None:
    title = f"{one['size']} rows" if one["list"] is None else f"{one['list']}: {one['size']} rows"
    rows, keep = one["rows"], one["above_gap"]
    table = [[*map(str, (row | {"score": f"{row['score']:.4g}"}).values())] for row in rows]
    if 0 < keep < len(table):
        table.insert(keep, ["gap", *[""] * (len(table[0]) - 1)])
    elif keep < one["size"]:
        title += f"; the largest gap is after place {keep}"
    show_table(title, [*rows[0]], table)


def _print_csv(lists: list[Any]) -> None:
    """Print all rows as CSV, with the columns that there are."""
    rows = [
        ({} if one["list"] is None else {"list": one["list"]})
        | row
        | {"above gap": int(row["place"] <= one["above_gap"])}
        for one in lists
        for row in one["rows"]
    ]
    click.echo(csv_text([*rows[0]], [row.values() for row in rows]), nl=False)


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
    help="Another model to compare on the same rows.",
)
@seed_option
@reading_options
@json_option
def evaluate(
    model: Path,
    table: Path,
    target: str | None,
    query: str | None,
    against: Path | None,
    seed: int,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Measure MODEL on rows that it has not learned from.

    TABLE has the column of targets that the model was fitted to. Intervals have a level of 95 % and
    are bootstrapped by rows, or by queries. The difference of two models is tested on the same
    samples.
    """
    paths = [model] if against is None else [model, against]
    facts, found = evaluate_models(paths, table, reading, target, query, seed)
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


def evaluate_models(
    paths: Sequence[Path],
    table: Path,
    reading: dict[str, Any],
    target: str | None,
    query: str | None,
    seed: int,
) -> tuple[dict[str, Any], "list[HeldOut]"]:
    """Return facts about the rows, and the measures of the models on them."""
    from rankwise.cli._tables import column_of, list_column, load_model, read_frame  # noqa: PLC0415
    from rankwise.comparison.held_out import measure_held_out  # noqa: PLC0415
    from rankwise.comparison.measures import measures_of  # noqa: PLC0415
    from rankwise.io.files import pandas  # noqa: PLC0415

    read, models = read_frame(table, reading), [load_model(path) for path in paths]
    first = models[0]
    ratings = first.facts.get("kind") == "ratings"
    goal = column_of(first, read, "rating" if ratings else "target", target)
    known = read.frame[goal].notna().to_numpy()
    lists = list_column(first, read, query)
    if lists is not None:
        known = known & read.frame[lists].notna().to_numpy()
    if not known.any():
        raise click.ClickException(f"{table}: no row has a {goal}")
    held = read._replace(frame=read.frame[known])
    kind = "relevance" if ratings else first.facts.get("kind") or _kind(first, held, goal)
    labels = None
    if kind == "grades":
        known_labels = [kept.labels for kept in models if kept.labels]
        labels = [*known_labels, sorted(held.frame[goal].unique().tolist())][0]
    y = _ranks(held.frame[goal], labels, goal) if labels else held.frame[goal].to_numpy(np.float64)
    qid = None if lists is None else pandas().factorize(held.frame[lists])[0].astype(np.int64)
    answers = [_answers(kept, held, labels) for kept in models]
    measures = measures_of(kind, lists=qid is not None)
    if any(one.ranks is None for one in answers):
        measures = [m for m in measures if m.name not in {"MAE", "accuracy"}]
    found = measure_held_out(measures, y, answers, qid, seed)
    if all(np.isnan(one.values).all() for one in found):
        raise click.ClickException(
            f"{table}: no two rows can be compared: is {goal} the same in all?"
        )
    return {"rows": len(y), "lists": 0 if qid is None else len(np.unique(qid))}, found


def _kind(kept: "Kept", held: "Read", goal: str) -> str:
    """Return the task of the target, if the file of the model does not say."""
    from rankwise.comparison import recognise  # noqa: PLC0415

    order = kept.labels if kept.labels and isinstance(kept.labels[0], str) else None
    return recognise(held.frame, target=goal, order=order).kind


def _ranks(values: Any, labels: list[Any], goal: str) -> NDArray[np.float64]:
    """Return the ranks of grades, from 1; raise if a grade is not among the labels."""
    from rankwise.io.files import pandas  # noqa: PLC0415

    places = pandas().Index(labels).get_indexer(pandas().Index(values))
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        raise click.ClickException(
            f"{goal} is {values.iloc[row]} in row {values.index[row] + 1}, and the model knows the "
            f"grades {', '.join(map(str, labels))}"
        )
    return places + 1.0


def _answers(kept: "Kept", held: "Read", labels: list[Any] | None) -> "Answers":
    """Return the scores of a model, and the ranks of the grades that it predicts."""
    from rankwise.cli._tables import predictions, scores  # noqa: PLC0415
    from rankwise.comparison.measures import Answers  # noqa: PLC0415
    from rankwise.io.files import pandas  # noqa: PLC0415
    from rankwise.magnitude import MPRank, MPRankCV, SVRank  # noqa: PLC0415

    found = scores(kept, held)
    if labels is not None and kept.graded:
        grades = pandas().Series(predictions(kept, held), index=held.frame.index)
        return Answers(found, _ranks(grades, labels, f"the prediction of {kept.path}"))
    # Their scores are on the scale of the target, and can be rounded to a grade.
    if labels is not None and isinstance(kept.last, (MPRank, MPRankCV, SVRank)):
        return Answers(found, np.clip(np.rint(found), 1, len(labels)))
    return Answers(found, None)


@click.command(
    epilog=examples(
        "rankwise explain wine.rankwise wines.csv --row 1",
        "rankwise explain wine.rankwise wines.csv --row 12 --top 5 --json",
    )
)
@model_argument
@table_argument
@click.option("--row", type=click.IntRange(1), required=True, help="The row, from 1.")
@click.option("--top", type=click.IntRange(1), help="Number of columns to show.")
@reading_options
@json_option
def explain(
    model: Path, table: Path, row: int, top: int | None, reading: dict[str, Any], as_json: bool
) -> None:
    """Split the score of a row by its columns.

    The parts of a linear model are weights times values, those of RankBoost are Shapley values.
    Other models give an error: their scores are not sums over columns.
    """
    score, start, parts = parts_of(model, table, reading, row - 1)
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
    show_table(f"Row {row}", ["column", "value", "contribution"], rows)


def parts_of(
    model: Path, table: Path, reading: dict[str, Any], row: int
) -> tuple[float, float, list[dict[str, Any]]]:
    """Return the score of a row, what it starts from, and what each column of a value adds."""
    from rankwise.cli._tables import load_model, read_frame, rows_for, scores  # noqa: PLC0415
    from rankwise.recommend import TasteModel  # noqa: PLC0415

    kept, read = load_model(model), read_frame(table, reading)
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
    total: dict[str, float] = {}
    for name, part in zip(_sources(kept, rows, len(z)), adds.tolist(), strict=True):
        total[name] = total.get(name, 0.0) + part
    values = dict(zip(_columns(kept, rows, len(z)), np.asarray(rows).ravel().tolist(), strict=True))
    parts = [{"column": n, "value": values[n], "adds": part} for n, part in total.items() if part]
    return score, start, parts


def _adds(kept: "Kept", z: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return what each number of a row adds to the score, and what the score starts from."""
    import pandas as pd  # noqa: PLC0415

    from rankwise.boosting import RankBoost  # noqa: PLC0415

    last = kept.last
    # thresholds over scores, and the setting that cross-validation has chosen
    for inner in ("estimator_", "best_estimator_"):
        last = getattr(last, inner, last)
    if isinstance(last, RankBoost):
        names = getattr(last, "feature_names_in_", None)
        found = last.explain(z[None, :] if names is None else pd.DataFrame([z], columns=names))
        return found.contributions[0], found.base
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
    for _, part, names in step.transformers_:
        sizes = [len(values) for values in getattr(part, "categories_", [])] or [1] * len(names)
        for name, size in zip(names, sizes, strict=True):
            found += [str(name)] * size
    return found


def _refusal(kept: "Kept") -> click.ClickException:
    return click.ClickException(
        f"{kept.path}: the score of {type(kept.last).__name__} is not a sum over columns; linear "
        "models and RankBoost can be explained"
    )
