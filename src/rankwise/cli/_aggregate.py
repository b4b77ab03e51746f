"""``rankwise aggregate``: one ranking from many, by every method side by side."""

import re
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import click

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import examples, note, show_json, show_table

_NAMES = ("kemeny", "borda", "copeland", "footrule", "markov_chain", "kwiksort")


@click.command(
    epilog=examples(
        "rankwise aggregate election.soc",
        "rankwise aggregate judges.txt --method kemeny --top 3",
    )
)
@click.argument(
    "votes", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@click.option("--method", type=click.Choice(_NAMES), help="One method only: prints its order.")
@click.option("--top", type=click.IntRange(1), help="Number of ranks to show.  [default: 20]")
@click.option(
    "--time-limit",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Seconds to look for Kemeny's order and its proof.",
)
@click.option(
    "--unlisted",
    type=click.Choice(["ignored", "last"]),
    default="ignored",
    show_default=True,
    help="Treatment of candidates that a voter does not name.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@json_option
def aggregate(
    votes: Path,
    method: str | None,
    top: int | None,
    time_limit: float,
    unlisted: str,
    seed: int,
    as_json: bool,
) -> None:
    """Combine rankings into one, by every method.

    VOTES is a file of PrefLib (soc, soi, toc, toi), or has a ranking a line, best first: "a, b, c"
    or "a > b = c"; "12: a, b" counts twelve times. The Kemeny cost is the number of pairs that
    voters order differently: less is better. A lower bound limits the distance from the best.
    """
    from rankwise import aggregation  # noqa: PLC0415

    orders, counts = read_votes(votes)
    options: dict[str, Any] = {"weights": counts, "unlisted": unlisted}
    rules: dict[str, Callable[..., Any]] = {
        **{name: getattr(aggregation, name) for name in _NAMES},
        "kemeny": partial(aggregation.kemeny, time_limit=time_limit),
        "kwiksort": partial(aggregation.kwiksort, random_state=seed, repeats=10),
    }
    found: list[dict[str, Any]] = []
    # A method alone is not compared with a bound.
    for name in _NAMES if method is None else (method,):
        rules[name]([["a", "b"], ["b", "a"]])  # the first call of a rule compiles it
        start = perf_counter()
        ranking = rules[name](orders, **options)
        seconds = perf_counter() - start
        cost = float(aggregation.kemeny_cost(ranking, orders, **options))
        bound = ranking.lower_bound if name == "kemeny" else None
        found.append(
            {"method": name, "order": list(ranking.order), "cost": cost, "seconds": seconds}
            | ({} if bound is None else {"lower_bound": float(bound)})
        )
    best = max((row.get("lower_bound", 0.0) for row in found), default=0.0)
    for row in found:
        least = row["cost"] <= best * (1 + 1e-9) + 1e-9
        row["proven"] = least if method in {None, "kemeny"} else None
    facts = {"voters": sum(counts), "candidates": len(found[0]["order"])}
    if as_json:
        show_json(facts | {"methods": found})
    elif method is not None:
        for name in found[0]["order"][:top]:
            click.echo(str(name))
    else:
        _show(facts, found, best, top or 20)


def _show(facts: dict[str, int], found: list[dict[str, Any]], bound: float, top: int) -> None:
    """Print the methods, then their orders side by side."""
    rows = []
    for row in found:
        gap = (row["cost"] - bound) / bound if bound else float("inf")
        proof = "the best, proven" if row["proven"] else f"within {gap:.1%}"
        if not row["proven"] and not bound:
            proof = "not known"
        rows.append([row["method"], f"{row['cost']:,.10g}", proof, f"{row['seconds']:.3f}"])
    title = f"{facts['voters']:,} voters, {facts['candidates']:,} candidates"
    show_table(title, ["method", "Kemeny cost", "of the best", "seconds"], rows)
    places = [
        [str(place + 1), *(str(row["order"][place]) for row in found)]
        for place in range(min(top, facts["candidates"]))
    ]
    show_table("Orders, best first", ["place", *(row["method"] for row in found)], places)
    left = facts["candidates"] - len(places)
    if left > 0:
        click.echo(f"{left:,} more places: --top {facts['candidates']}, or --json")


_COUNT = re.compile(r"([0-9]+)\s*:\s*(.*)")
# A colon within a name, such as that of a film, is followed by no order of several.
_VOTER = re.compile(r"([^:>,;=]+):\s+([^:]*[>,;=][^:]*)")
Votes = tuple[list[list[Any]], Sequence[int]]


def read_votes(path: Path) -> Votes:
    """Return orders, best first with ties as tuples, and how often each was cast."""
    if str(path) != "-":
        return _read(path, str(path))
    with TemporaryDirectory() as folder:
        spooled = Path(folder) / "votes"
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return _read(spooled, "standard input")


def _read(path: Path, name: str) -> Votes:
    from rankwise.datasets import read_preflib  # noqa: PLC0415
    from rankwise.datasets.check import guess_format  # noqa: PLC0415
    from rankwise.io.files import as_utf8, read_source  # noqa: PLC0415

    known = guess_format(path)
    if known is not None and known.name == "PrefLib":
        orders, counts = read_preflib(path, return_counts=True)
        return orders, counts.tolist()
    raw, _ = as_utf8(read_source(path), None)
    if b"\0" in raw:
        raise click.ClickException(
            f"{name} is not a text file: expected PrefLib, or one ranking per line"
        )
    orders, counts = [], []
    lines = [
        (number, line.strip())
        for number, line in enumerate(raw.decode().splitlines(), start=1)
        if line.strip() and not line.strip().startswith("#")
    ]
    voters = [_VOTER.fullmatch(text) for _, text in lines]
    if lines and all(voters) and not all(_COUNT.fullmatch(text) for _, text in lines):
        note(f"{name}: what is before a colon names the voter")
        lines = [(number, v[2]) for (number, _), v in zip(lines, voters, strict=True) if v]
    for number, text in lines:
        counted = _COUNT.fullmatch(text)
        counts.append(int(counted[1]) if counted else 1)
        orders.append(_order(counted[2] if counted else text, f"{name}:{number}"))
    if not orders:
        raise click.ClickException(f"{name} has no rankings")
    return orders, counts


def _order(text: str, place: str) -> list[Any]:
    """Return the order of a line: ``a > b = c``, ``a, b, c``, or words."""
    separator = next((mark for mark in (">", ",", ";", "\t") if mark in text), None)
    joined = re.sub(r"\s*=\s*", "=", text)
    groups = [
        tuple(name.strip() for name in group.split("=") if name.strip())
        for group in joined.split(separator)
    ]
    names = [name for group in groups for name in group]
    if any(not group for group in groups):
        raise click.ClickException(f"{place}: a name is missing in {text[:80]!r}")
    if len({*names}) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise click.ClickException(
            f"{place}: {duplicate!r} is duplicated: expected one ranking per line, as in a > b = c"
        )
    return [group if len(group) > 1 else group[0] for group in groups]
