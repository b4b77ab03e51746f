"""Command line of models on disk: ``python -m rankwise.persistence show FILE``."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankwise._core.terminal import degrade_output, sentence
from rankwise.persistence._models import read_facts

_WIDTH = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m rankwise.persistence", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="tell what is in a file, without loading it")
    show.add_argument("file", metavar="FILE", type=Path)
    options = parser.parse_args(arguments)
    degrade_output()
    try:
        print(*_lines(options.file), sep="\n")
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # whoever read the output has gone; what is left must not be flushed to nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError) as error:
        print(f"python -m rankwise.persistence: {sentence(error)}", file=sys.stderr)
        return 2


def _lines(path: Path) -> Iterator[str]:
    facts, arrays = read_facts(path)
    yield f"{'class':14} {_text(facts.get('class'))}"
    yield f"{'file':14} {path.stat().st_size:,} bytes, schema {facts['schema']}"
    for title in ("made_with", "input", "training", "notes"):
        yield from _section(title.replace("_", " "), facts.get(title))
    model = facts["model"] if isinstance(facts["model"], dict) else {}
    yield from _section("parameters", model.get("params"))
    described = {
        name: f"{spec['dtype']} {'x'.join(map(str, spec['shape'])) or 'scalar'}"
        for name, spec in arrays.items()
    }
    yield from _section("arrays", described)


def _section(title: str, values: Any) -> Iterator[str]:
    known = values if isinstance(values, Mapping) else {}
    for name, value in known.items():
        yield f"{title:14} {_text(name)[1:-1]} = {_text(value)}"
        title = ""


def _text(value: Any) -> str:
    """Return a value in ASCII on one line: a file can't move the cursor or clear the screen."""
    text = json.dumps(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


if __name__ == "__main__":
    sys.exit(main())
