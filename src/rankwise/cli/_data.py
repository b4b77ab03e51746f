"""``rankwise data``: which data sets there are, where they lie, and whether files can be read."""

from dataclasses import asdict
from pathlib import Path
from textwrap import fill

import click

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import examples, show_json


@click.group(epilog=examples("rankwise data list", "rankwise data get ml-100k"))
def data() -> None:
    """List, get and check the data sets that rankwise knows."""


@data.command("list", epilog=examples("rankwise data list", "rankwise data list --json"))
@json_option
def list_(as_json: bool) -> None:
    """Print the name, size and call of every data set."""
    from rankwise.datasets import dataset_info, list_datasets  # noqa: PLC0415

    entries = [dataset_info(name) for name in list_datasets()]
    if as_json:
        show_json([asdict(entry) for entry in entries])
        return
    for entry in entries:
        click.echo(f"{entry.name:16} {entry.what}\n{'':16} {entry.rows}; {entry.access}")


@data.command(epilog=examples("rankwise data show ml-1m", "rankwise data show jester-1 --json"))
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the terms, citation and checksum of a data set."""
    from rankwise.datasets import dataset_info  # noqa: PLC0415

    entry = asdict(dataset_info(name))
    if as_json:
        show_json(entry)
        return
    for field, value in entry.items():
        text = " ".join(value) if isinstance(value, tuple) else value
        text = text or ("not known" if field == "checksum" and entry["urls"] else "none")
        title = f"{field.replace('_', ' '):16}"
        click.echo(fill(text, 100, initial_indent=title, subsequent_indent=" " * 16))


@data.command(
    epilog=examples("rankwise data get ml-100k", "rankwise data get jester-1 --folder downloads")
)
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to keep it in.  [default: RANKWISE_DATA if it is there, or your cache folder]",
)
@json_option
def get(name: str, folder: Path | None, as_json: bool) -> None:
    """Download a data set unless it is there, and print its path."""
    from rankwise.datasets import dataset_info  # noqa: PLC0415
    from rankwise.datasets.download import KNOWN, locate  # noqa: PLC0415

    info = dataset_info(name)
    if not (info.urls or info.offline):
        raise click.ClickException(f"{name} is not a file to download: {info.access} gives it")
    path = locate(info, data_home=folder, url=None, checksum=KNOWN, timeout=30.0)
    if as_json:
        show_json({"name": name, "path": str(path), "terms": info.terms})
    else:
        click.echo(path)


@data.command(epilog=examples("rankwise data check ratings.csv", "rankwise data check downloads"))
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
def check(path: Path, as_json: bool) -> None:
    """Recognise the format of a file, or of the files in a folder, and read them.

    The exit status is 1 if none can be read, or one has a mistake.
    """
    from rankwise.datasets.check import check as look  # noqa: PLC0415

    findings = look(path)
    if as_json:
        show_json([finding._asdict() for finding in findings])
    for known in [] if as_json else findings:
        what = f"{known.format or 'unknown'}: {known.rows or known.problem or known.remark}"
        print(f"{known.path}: {what}")  # click writes UTF-8 where the output is ASCII
        if known.remark and known.format:
            print(f"    {known.remark}")
    if not any(known.format for known in findings) or any(known.problem for known in findings):
        raise click.exceptions.Exit(1)
