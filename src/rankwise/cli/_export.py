"""``rankwise show`` and ``rankwise export``: a model file for a reader or a search engine."""

import json
from pathlib import Path
from typing import Any

import click

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import check_writable, examples, model_argument, write_text

_WIDTH = 100
FORMATS = ["es-linear", "es-xgboost", "json", "python", "ranklib", "solr-linear", "solr-trees"]


@click.command(
    epilog=examples("rankwise show films.rankwise", "rankwise show films.rankwise --json")
)
@model_argument
@json_option
def show(model: Path, as_json: bool) -> None:
    """Print the contents of a model file, without loading it.

    Class, versions, training, notes, parameters and the shapes of the arrays. Nothing in the file
    is run, and its text can't change the terminal.
    """
    from rankwise.persistence import read_facts  # noqa: PLC0415

    facts, arrays = read_facts(model)
    described = {
        name: f"{spec['dtype']} {'x'.join(map(str, spec['shape'])) or 'scalar'}"
        for name, spec in arrays.items()
    }
    content = facts["model"] if isinstance(facts["model"], dict) else {}
    sections = {
        **{part: facts.get(part) for part in ("made_with", "input", "training", "notes")},
        "parameters": content.get("params"),
        "arrays": described,
    }
    size = model.stat().st_size
    if as_json:
        head = {"class": facts.get("class"), "bytes": size, "schema": facts["schema"]}
        click.echo(json.dumps(head | sections))
        return
    click.echo(f"{'class':14} {_text(facts.get('class'))}")
    click.echo(f"{'file':14} {size:,} bytes, schema {facts['schema']}")
    for title, values in sections.items():
        label = title.replace("_", " ")
        for name, value in values.items() if isinstance(values, dict) else ():
            click.echo(f"{label:14} {_text(name)[1:-1]} = {_text(value)}")
            label = ""


def _text(value: Any) -> str:
    """Return a value in ASCII on one line: a file can't move the cursor or clear the screen."""
    text = json.dumps(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


class _Shift(click.ParamType):  # type: ignore[type-arg]
    """A number, or auto."""

    name = "number|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        return value if value == "auto" else float(click.FLOAT.convert(value, param, ctx))


@click.command(
    epilog=examples(
        "rankwise export films.rankwise --to es-xgboost --shift auto --out model.json",
        "rankwise export films.rankwise --to python > score_films.py",
    ),
)
@click.argument("model", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the output.  [default: standard output]",
)
@click.option("--name", default="rankwise", show_default=True, help="Name in the engine.")
@click.option("--shift", type=_Shift(), default=0.0, help="Number to add to every score.")
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
    write_text(out, text)
