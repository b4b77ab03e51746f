"""Command line of the data sets: ``python -m rankwise.datasets list | show NAME | check PATH``."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from textwrap import fill

from rankwise.datasets._registry import REGISTRY, dataset_info
from rankwise.engine.terminal import degrade_output, sentence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m rankwise.datasets", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name, size and call of every data set")
    show = commands.add_parser("show", help="all that is known of one: terms, citation, checksum")
    show.add_argument("name", metavar="NAME")
    check = commands.add_parser(
        "check", help="tell the format of a file or of those in a folder, and read them"
    )
    check.add_argument("path", metavar="PATH", type=Path)
    options = parser.parse_args(arguments)
    degrade_output()
    try:
        if options.command == "list":
            status = _list()
        else:
            status = _show(options.name) if options.command == "show" else _check(options.path)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # whoever read the output has gone; what is left must not be flushed to nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError, ImportError) as error:
        print(f"python -m rankwise.datasets: {sentence(error)}", file=sys.stderr)
        return 2


def _list() -> int:
    for entry in REGISTRY.values():
        print(f"{entry.name:16} {entry.what}\n{'':16} {entry.rows}; {entry.access}")
    return 0


def _show(name: str) -> int:
    entry = dataset_info(name)
    for field in fields(entry):
        value = getattr(entry, field.name)
        text = " ".join(value) if isinstance(value, tuple) else value
        title = field.name.replace("_", " ")
        shown = text or ("not known" if field.name == "checksum" and entry.urls else "none")
        print(fill(shown, 100, initial_indent=f"{title:16}", subsequent_indent=" " * 16))
    return 0


def _check(path: Path) -> int:
    from rankwise.datasets._check import check  # noqa: PLC0415

    findings = check(path)
    for finding in findings:
        what = f"{finding.format or 'unknown'}: {finding.rows or finding.problem or finding.remark}"
        print(f"{finding.path}: {what}")
        if finding.remark and finding.format:
            print(f"    {finding.remark}")
    unread = all(not finding.format for finding in findings)
    return 1 if unread or any(finding.problem for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
