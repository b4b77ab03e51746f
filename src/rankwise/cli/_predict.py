"""``rankwise predict`` and ``rankwise rank``: the predictions for each row, and rows in order."""

import csv
import io
import sys
from pathlib import Path
from typing import Any

import click

from rankwise._core.files import replacing
from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import (
    check_writable,
    columns,
    examples,
    model_argument,
    note,
    show_json,
    show_table,
    table_argument,
)


@click.command(
    epilog=examples(
        "rankwise predict wine.rankwise new-wines.csv",
        "rankwise predict films.rankwise pairs.csv --out scores.txt",
    )
)
@model_argument
@table_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the predictions.  [default: standard output]",
)
@json_option
def predict(model: Path, table: Path, out: Path | None, as_json: bool) -> None:
    """Print a grade or a score for each row of TABLE.

    Columns are found by their names; a target that the table has is not looked at.
    """
    from rankwise.cli._tables import load_model, predictions, read_frame  # noqa: PLC0415

    if out is not None:
        check_writable(out, "--out", model, table)
    found = predictions(load_model(model), read_frame(table)).tolist()
    if out is not None:
        with replacing(out) as temporary:
            temporary.write_text("".join(f"{value}\n" for value in found), encoding="utf-8")
        note(f"{len(found):,} predictions are in {out}")
    if as_json:
        show_json({"rows": len(found), **({"predictions": found} if out is None else {})})
    elif out is None:
        click.echo("\n".join(map(str, found)))


_FIELDS = ("list", "place", "row", "name", "score", "above gap")


@click.command(
    epilog=examples(
        "rankwise rank wine.rankwise new-wines.csv --top 5",
        "rankwise rank web.rankwise pages.txt --query query --top 3 --json",
    )
)
@model_argument
@table_argument
@columns("query")
@click.option("--top", type=click.IntRange(1), help="Show so many of each list.")
@click.option("--flip", is_flag=True, help="The worst first.")
@click.option("--name", metavar="COL", help="The column that says what a row is.")
@json_option
def rank(
    model: Path,
    table: Path,
    query: str | None,
    top: int | None,
    flip: bool,
    name: str | None,
    as_json: bool,
) -> None:
    """Put the rows of TABLE in order, best first.

    Lists are those of the column that the model was fitted with, if the table has it. A list is cut
    where its scores fall most: rows before that gap stand apart from the others. A terminal gets a
    table of 10 rows a list, a pipe gets all rows as CSV.
    """
    from rankwise.cli._tables import load_model, read_frame  # noqa: PLC0415

    kept, read = load_model(model), read_frame(table)
    lists = _lists(kept, read, query, name, flip)
    shown = sys.stdout.isatty() and not as_json
    if top is not None or shown:
        for one in lists:
            one["rows"] = one["rows"][: top or 10]
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
    """Return the name of each row's list, as a text; None if all rows are one list."""
    from rankwise.cli._tables import list_column  # noqa: PLC0415

    column = list_column(kept, read, query)
    if column is None:
        return None
    missing = read.frame[column].isna().to_numpy()
    if missing.any():
        raise click.ClickException(
            f"row {missing.argmax() + 1} has no {column}: name its list, or leave the row out"
        )
    return read.frame[column].astype(str).to_numpy()


def _ordered(scores: Any, keys: Any) -> list[Any]:
    """Return the rows of each list, highest score first; the list that is seen first goes first."""
    import numpy as np  # noqa: PLC0415

    order = np.argsort(-scores, kind="stable")
    if keys is None:
        return [order]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    first_row = first[place]
    by_list = order[np.argsort(first_row[order], kind="stable")]
    return np.split(by_list, np.flatnonzero(np.diff(first_row[by_list])) + 1)


def _show(one: dict[str, Any]) -> None:
    title = f"{one['size']} rows" if one["list"] is None else f"{one['list']}: {one['size']} rows"
    rows, keep = one["rows"], one["above_gap"]
    named = rows and "name" in rows[0]
    table = [
        [
            str(row["place"]),
            str(row["row"]),
            *([row["name"]] if named else []),
            f"{row['score']:.4g}",
        ]
        for row in rows
    ]
    if 0 < keep < len(table):
        table.insert(keep, ["gap", *[""] * (len(table[0]) - 1)])
    elif keep < one["size"]:
        title += f"; the largest gap is after place {keep}"
    show_table(title, ["place", "row", *(["name"] if named else []), "score"], table)


def _print_csv(lists: list[Any]) -> None:
    """Print all rows as CSV, with the columns that there are."""
    used = [
        field
        for field in _FIELDS
        if field in {"place", "row", "score", "above gap"}
        or (field == "list" and lists[0]["list"] is not None)
        or (field == "name" and "name" in lists[0]["rows"][0])
    ]
    out = io.StringIO()
    writer = csv.DictWriter(out, used, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for one in lists:
        for row in one["rows"]:
            above = int(row["place"] <= one["above_gap"])
            writer.writerow({**row, "list": one["list"], "above gap": above})
    click.echo(out.getvalue(), nl=False)
