"""``rankwise aggregate``: one ranking from many, by every method side by side."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from rankwise.cli._shown import as_json as json_option
from rankwise.cli._shown import examples, show_json, show_table

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
@click.option("--top", type=click.IntRange(1), help="Show so many places.  [default: 20]")
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
    help="What becomes of candidates that a voter does not name.",
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
    """Make one ranking from many, by every method.

    VOTES is a file of PrefLib (soc, soi, toc, toi), or has a ranking a line, best first: "a, b, c"
    or "a > b = c"; "12: a, b" counts twelve times. The Kemeny cost is the number of pairs that
    voters order otherwise: less is better. A lower bound tells how far from the best it may be.
    """
    from rankwise import aggregation  # noqa: PLC0415
    from rankwise.cli._votes import read_votes  # noqa: PLC0415

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
        row["proven"] = _is_least(row["cost"], best) if method in {None, "kemeny"} else None
    facts = {"voters": sum(counts), "candidates": len(found[0]["order"])}
    if as_json:
        show_json(facts | {"methods": found})
    elif method is not None:
        for name in found[0]["order"][:top]:
            click.echo(str(name))
    else:
        _show(facts, found, best, top or 20)


def _is_least(cost: float, bound: float) -> bool:
    return cost <= bound * (1 + 1e-9) + 1e-9


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
