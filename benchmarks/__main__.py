"""Command line of the races: ``python -m benchmarks [NAME | all | charts]``."""

import argparse
import ast
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)


def races() -> dict[str, str]:
    """Name and one-line description of every race, read without importing any."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in {"__init__", "__main__", "charts", "clusters", "harness", "report"}:
            docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
            found[path.stem] = docstring.partition("\n")[0]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "race",
        nargs="?",
        help="a name, 'all', or 'charts' to draw the page; without it, list the races",
    )
    parser.add_argument("--threads", type=_positive, default=1, help="of every entrant")
    parser.add_argument("--repeats", type=_positive, default=5, help="turns of every entrant")
    parser.add_argument("--growth", action="store_true", help="growth curves, not the race")
    parser.add_argument("--note", default="", help="kept with the result, such as: a busy machine")
    parser.add_argument(
        "--size",
        type=_size,
        action="append",
        default=[],
        metavar="NAME=N",
        help="change an argument of the data generator, such as m=20000",
    )
    options, rest = parser.parse_known_args(arguments)
    known = races()
    if options.race is None:
        width = max(map(len, known))
        print(*(f"{name:{width}}  {line}" for name, line in known.items()), sep="\n")
        return 0
    if options.race == "charts":
        return int(import_module("benchmarks.charts").main(rest))
    if options.race not in {*known, "all"}:
        names = ", ".join(known)
        print(f"no race is called {options.race!r}: choose {names}, all or charts", file=sys.stderr)
        return 2
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(options.threads)))
    os.environ["RANKWISE_RACE_NOTE"] = options.note
    try:
        chosen = list(known) if options.race == "all" else [options.race]
        return max(_run(name, options, rest, parser) for name in chosen)
    except KeyboardInterrupt:
        print("\ninterrupted: the unfinished race is not recorded", file=sys.stderr)
        return 130


def _run(
    name: str, options: argparse.Namespace, rest: list[str], parser: argparse.ArgumentParser
) -> int:
    # NumPy is imported here and not above: it reads the thread variables once.
    report = import_module("benchmarks.report")
    module = import_module(f"benchmarks.{name}")
    race, sizes = getattr(module, "RACE", None), dict(options.size)
    if options.growth:
        if sizes:
            parser.error("--size does not go with --growth, whose sizes the race declares")
        several = getattr(module, "RACES", {})
        races = {name: race} if race else {f"{name}_{each}": several[each] for each in several}
        if not any(its.growth for its in races.values()):
            print(f"{name} has no growth curves")
        for each, its in races.items():
            report.run_growth(each, its, repeats=options.repeats)
        return 0
    if race is None:
        return int(module.main(rest))
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if unknown := sizes.keys() - race.sizes().keys():
        parser.error(f"{name} has no size {', '.join(unknown)} but {', '.join(race.sizes())}")
    return 0 if report.run_race(name, race, repeats=options.repeats, sizes=sizes) else 1


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    return number


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    try:
        return name, _positive(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not of the form m=20000") from None


if __name__ == "__main__":
    sys.exit(main())
