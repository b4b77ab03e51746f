"""``rankwise export``: a saved model as the text that a search engine takes."""

from pathlib import Path
from typing import Any

import click

from rankwise._core.files import replacing
from rankwise.cli._shown import examples
from rankwise.cli._writing import check_writable

FORMATS = ["es-linear", "es-xgboost", "json", "python", "ranklib", "solr-linear", "solr-trees"]


class _Shift(click.ParamType):  # type: ignore[type-arg]
    """A number, or auto."""

    name = "number|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        return value if value == "auto" else float(click.FLOAT.convert(value, param, ctx))


@click.command(
    short_help="Write a model for a search engine.",
    epilog=examples(
        "rankwise export films.rankwise --to es-xgboost --shift auto --out model.json",
        "rankwise export films.rankwise --to python > score_films.py",
    ),
)
@click.argument("model", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option("--name", default="rankwise", show_default=True, help="Name in the engine.")
@click.option("--shift", type=_Shift(), default=0.0, help="Added to every score.")
def export(model: Path, to: str, out: Path | None, name: str, shift: float | str) -> None:
    """Write MODEL, saved by rankwise, in the format of a search engine or as a program.

    Lucene, and so Elasticsearch, OpenSearch and Solr, refuses negative scores. --shift adds a
    number to all of them, which changes no order; --shift auto makes the smallest score that trees
    can give 0. Linear formats have no constant: add one in the query there.
    """
    from rankwise.persistence import export as as_text  # noqa: PLC0415
    from rankwise.persistence import load  # noqa: PLC0415

    if out is not None:
        check_writable(out, "--out", model)
    text = as_text(load(model), to, name=name, shift=shift)
    if out is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    with replacing(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
