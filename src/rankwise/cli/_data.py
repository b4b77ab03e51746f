"""``rankwise data``: which data sets there are, where they lie, and whether files can be read."""

from dataclasses import asdict
from pathlib import Path

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
    from rankwise.datasets.listing import print_list  # noqa: PLC0415

    if as_json:
        show_json([asdict(dataset_info(name)) for name in list_datasets()])
    else:
        print_list()


@data.command(epilog=examples("rankwise data show ml-1m", "rankwise data show jester-1 --json"))
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the terms, citation and checksum of a data set."""
    from rankwise.datasets import dataset_info  # noqa: PLC0415
    from rankwise.datasets.listing import print_entry  # noqa: PLC0415

    if as_json:
        show_json(asdict(dataset_info(name)))
    else:
        print_entry(name)


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
    from rankwise.datasets.listing import is_good, print_findings  # noqa: PLC0415

    findings = look(path)
    if as_json:
        show_json([finding._asdict() for finding in findings])
    else:
        print_findings(findings)
    if not is_good(findings):
        raise click.exceptions.Exit(1)
