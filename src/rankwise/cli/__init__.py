"""The console script ``rankwise``: parse, call the library, show."""

import io
import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the output's encoding lacks is written as an escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from rankwise.cli._commands import rankwise  # noqa: PLC0415
    except ImportError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit(f"rankwise: {error.name} is not installed: pip install 'rankwise[cli,plots]'")
    rankwise(prog_name="rankwise")
