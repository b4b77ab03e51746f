"""Command line of the data sets: ``python -m rankwise.datasets list | show NAME | check PATH``."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from rankwise.datasets._registry import REGISTRY, dataset_info
from rankwise.engine.terminal import degrade_output, sentence

if TYPE_CHECKING:
    from rankwise.datasets._check import Finding


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
    status = 0
    try:
        if options.command == "list":
            print_list()
        elif options.command == "show":
            print_entry(options.name)
        else:
            from rankwise.datasets._check import check as look  # noqa: PLC0415

            findings = look(options.path)
            print_findings(findings)
            status = 0 if is_good(findings) else 1
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # whoever read the output has gone; what is left must not be flushed to nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError, ImportError) as error:
        print(f"python -m rankwise.datasets: {sentence(error)}", file=sys.stderr)
        return 2


def print_list() -> None:
    """Print what every data set is, a few lines each."""
    for entry in REGISTRY.values():
        print(f"{entry.name:16} {entry.what}\n{'':16} {entry.rows}; {entry.access}")


def print_entry(name: str) -> None:
    """Print all that is known of one."""
    entry = dataset_info(name)
    for field in fields(entry):
        value = getattr(entry, field.name)
        text = " ".join(value) if isinstance(value, tuple) else value
        title = field.name.replace("_", " ")
        shown = text or ("not known" if field.name == "checksum" and entry.urls else "none")
        print(fill(shown, 100, initial_indent=f"{title:16}", subsequent_indent=" " * 16))


def print_findings(findings: "Sequence[Finding]") -> None:
    """Print what was found out about files."""
    for finding in findings:
        what = f"{finding.format or 'unknown'}: {finding.rows or finding.problem or finding.remark}"
        print(f"{finding.path}: {what}")
        if finding.remark and finding.format:
            print(f"    {finding.remark}")


def is_good(findings: "Sequence[Finding]") -> bool:
    """Whether at least one file is known, and none has a mistake."""
    known = any(finding.format for finding in findings)
    return known and not any(finding.problem for finding in findings)


if __name__ == "__main__":
    sys.exit(main())
