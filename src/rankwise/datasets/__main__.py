"""Command line of the data sets: ``python -m rankwise.datasets list | show NAME | check PATH``."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rankwise._core.terminal import degrade_output, sentence
from rankwise.datasets.listing import is_good, print_entry, print_findings, print_list


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
            from rankwise.datasets.check import check as look  # noqa: PLC0415

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


if __name__ == "__main__":
    sys.exit(main())
