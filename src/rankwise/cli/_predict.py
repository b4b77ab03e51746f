"""``rankwise predict``: what a model says of each row."""

from pathlib import Path

import click

from rankwise._core.files import replacing
from rankwise.cli._options import model_argument, table_argument
from rankwise.cli._shown import as_json as json_option
from rankwise.cli._shown import examples, note, show_json
from rankwise.cli._writing import check_writable


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
