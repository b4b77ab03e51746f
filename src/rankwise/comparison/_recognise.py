"""What a table is evidence of, and why that is believed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.comparison._columns import Columns, as_frame, look_at_columns
from rankwise.datasets.readers_contests import contest_score
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# What each kind is called where people read it.
WORDS = {"grades": "grades", "relevance": "numbers whose size matters", "ratings": "ratings"}
KINDS = ("grades", "relevance", "ratings", "contests", "rankings")
# More values than this are no grades, and a grade comes back some times.
_MOST_GRADES, _LEAST_ROWS_EACH = 20, 3

_NAMES = {
    "target": "target grade response label relevance rel quality rating score stars y",
    "query": "qid query queryid srchid searchid groupid",
    "user": "user userid person personid customer customerid reviewer reviewerid worker",
    "item": "item itemid movie movieid film filmid isbn product productid book bookid joke jokeid",
    "rating": "rating ratings stars bookrating score",
    "winner": "winner won",
    "loser": "loser lost",
}
# Rows that are tried on whether they are contests.
_LOOKED_AT = 100
_SIDES = (("left", "right"), ("first", "second"), ("modela", "modelb"), ("a", "b"))


@dataclass(frozen=True)
class Task:
    """What a table is evidence of.

    Attributes
    ----------
    kind : {"grades", "relevance", "ratings", "contests", "rankings"}
        Ordered grades, a number whose size matters, people's ratings of items, who beat whom, or
        whole orders.
    why : str
        The reason, in one sentence.
    roles : dict of str to str
        The columns by their part: ``target`` and perhaps ``query``; ``user``, ``item``, ``rating``;
        ``winner``, ``loser`` and perhaps ``tie``; or ``first``, ``second``, ``outcome``.
    columns : Columns
        What is learned from, by what it holds; empty for ratings, contests and rankings.
    order : list or None
        Grades that are texts, lowest first.
    """

    kind: str
    why: str
    roles: dict[str, str] = field(default_factory=dict)
    columns: Columns = field(default_factory=lambda: Columns([], [], [], []))
    order: list[Any] | None = None


def recognise(
    frame: "DataFrame",
    *,
    target: str | None = None,
    query: str | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    ignore: Sequence[str] = (),
    order: Sequence[Any] | None = None,
    text: str = "refuse",
) -> Task:
    """Say what a table is evidence of.

    Columns that are named are taken as they are named; the others are found by their names, and the
    kind of a target by its values.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, a row for each thing, rating or contest.
    target : str, default=None
        The column to rank by. By default one that is called so, else the last.
    query : str, default=None
        The column of the lists: only rows of one list are compared.
    user, item, rating : str, default=None
        The columns of a table of ratings.
    winner, loser, tie : str, default=None
        The columns of contests; ``tie`` is true where nobody won. ``winner`` may also hold the
        name of one of two other columns, such as left and right.
    ignore : str or sequence of str, default=()
        Columns to leave out.
    order : sequence, default=None
        The grades, lowest first, if they are texts.
    text : {"refuse", "hash"}, default="refuse"
        What becomes of columns of free text.

    Returns
    -------
    Task

    Raises
    ------
    ValueError
        A column that is not there, a target without values or with one, grades that are texts
        without an order, free text.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise.comparison import recognise
    >>> frame = pd.DataFrame({"grade": [1, 2, 3, 2] * 5, "acid": range(20)})
    >>> task = recognise(frame)
    >>> task.kind, task.columns.numbers
    ('grades', ['acid'])
    >>> task.why
    "the column 'grade', named like a target, has the 3 grades 1, 2, 3"
    """
    named = {
        "target": target,
        "query": query,
        "user": user,
        "item": item,
        "rating": rating,
        "winner": winner,
        "loser": loser,
        "tie": tie,
    }
    given = {part: name for part, name in named.items() if name is not None}
    frame = as_frame(frame)
    ignore = [ignore] if isinstance(ignore, str) else list(ignore)
    _check_names(frame, [*given.values(), *ignore])
    _check_parts(frame, given, ignore)
    seen = [name for name in frame.columns if name not in ignore]
    if not len(frame):
        raise ValueError("the table has no rows")
    if len(frame) < 3:
        rows = "one row" if len(frame) == 1 else f"{len(frame)} rows"
        raise ValueError(f"the table has {rows}; a comparison needs some dozens")
    if target is None and (task := _contests(frame, seen, given)) is not None:
        return task
    if target is None and query is None and (task := _ratings(frame, seen, given)) is not None:
        return task
    if given.keys() - {"target", "query"}:
        parts = " ".join(f"{part}={name!r}" for part, name in given.items())
        raise ValueError(
            f"{parts} fits no kind of evidence: name target and perhaps query, or user, item and "
            "rating, or winner and loser"
        )
    return _graded(frame, seen, given, order, text)


def _check_names(frame: "DataFrame", names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            listed = ", ".join(map(str, frame.columns[:12])) + (
                ", ..." if len(frame.columns) > 12 else ""
            )
            raise ValueError(f"no column {name!r} in this table, which has {listed}")


def _check_parts(frame: "DataFrame", given: dict[str, str], ignore: Sequence[str]) -> None:
    """Refuse a column that is to be two things."""
    for part, name in given.items():
        other = next((p for p, n in given.items() if n == name and p != part), None)
        if other is not None:
            raise ValueError(f"{part} and {other} are both {name!r}: name another column for one")
        if name in ignore:
            raise ValueError(f"{part}={name!r} is also to be ignored: name another column for one")
    query = given.get("query")
    if query is not None and len(frame) > 2 and frame[query].nunique() == frame[query].count():
        raise ValueError(
            f"query={query!r} has another value in each row, so that no two rows can be compared: "
            "name a column that rows of one list share"
        )


def _find(part: str, seen: Sequence[str]) -> str | None:
    """Return the first column that is called like a part."""
    bare = {re.sub(r"[^a-z]", "", str(name).lower()): name for name in reversed(seen)}
    return next((bare[word] for word in _NAMES[part].split() if word in bare), None)


def _contests(frame: "DataFrame", seen: list[str], given: dict[str, str]) -> Task | None:
    winner = given.get("winner") or _find("winner", seen)
    loser = given.get("loser") or _find("loser", seen)
    if winner is not None and loser is not None and winner != loser:
        roles = {"winner": winner, "loser": loser}
        if "tie" in given:
            roles["tie"] = given["tie"]
        how = "the columns were named" if "winner" in given else "found by the names of columns"
        return Task(
            "contests", f"a row has a winner, {winner!r}, and a loser, {loser!r}: {how}", roles
        )
    if given.keys() - {"winner"}:
        return None
    bare = {re.sub(r"[^a-z]", "", str(name).lower()): name for name in seen}
    outcome = winner or bare.get("outcome")
    for first, second in _SIDES:
        if outcome is None or not {first, second} <= bare.keys():
            continue
        columns = [bare[first], bare[second], outcome]
        rows = frame[columns].dropna().head(_LOOKED_AT).astype(str).to_numpy()
        told = sum(isinstance(contest_score(*row), float) for row in rows)
        if 2 * told > len(rows):
            roles = dict(zip(("first", "second", "outcome"), columns, strict=True))
            why = f"{outcome!r} says which of {bare[first]!r} and {bare[second]!r} won"
            return Task("contests", why, roles)
    return None


def _ratings(frame: "DataFrame", seen: list[str], given: dict[str, str]) -> Task | None:
    roles = {part: given.get(part) or _find(part, seen) for part in ("user", "item", "rating")}
    if any(name is None for name in roles.values()) or len(set(roles.values())) < 3:
        return None
    found = {part: str(name) for part, name in roles.items()}
    values = frame[found["rating"]]
    if not pandas().api.types.is_numeric_dtype(values):
        raise ValueError(f"rating={found['rating']!r} holds texts, where numbers are wanted")
    how = (
        "the columns were named" if given.keys() & found.keys() else "found by the names of columns"
    )
    return Task(
        "ratings",
        f"a row is a rating, {found['rating']!r}, of {found['item']!r} by {found['user']!r}: {how}",
        found,
    )


def _graded(
    frame: "DataFrame",
    seen: list[str],
    given: dict[str, str],
    order: Sequence[Any] | None,
    text: str,
) -> Task:
    query = given.get("query") or _find("query", seen)
    target, how = given.get("target"), "which was named"
    if target is None:
        target, how = _find("target", seen), "named like a target"
    if target is None:
        target, how = seen[-1] if seen[-1] != query else seen[0], "the last, since none was named"
    kind, levels = _grades(frame[target].dropna(), target, order)
    roles = {"target": target} | ({"query": query} if query is not None else {})
    left = [name for name in seen if name not in roles.values()]
    if not left:
        raise ValueError(f"no column is left beside {' and '.join(map(repr, roles.values()))}")
    if not frame[left].notna().to_numpy().any():
        raise ValueError(f"no column beside {target!r} has a value: there is nothing to learn from")
    if kind == "grades":
        shown = ", ".join(map(str, levels[:6])) + (", ..." if len(levels) > 6 else "")
        why = f"the column {target!r}, {how}, has the {len(levels)} grades {shown}"
    else:
        why = f"the column {target!r}, {how}, has {len(levels):,} values"
    if query is not None:
        why += f", to be compared within the {frame[query].nunique():,} lists of {query!r}"
    told = levels if order is not None or not _is_number(frame[target]) else None
    return Task(kind, why, roles, look_at_columns(frame, left, text=text), told)


def _grades(
    values: "Series[Any]", target: str, order: Sequence[Any] | None
) -> tuple[str, list[Any]]:
    """Return whether a target is of grades or of a number whose size matters, and its values."""
    pd = pandas()
    if order is not None:
        levels = [value.item() if isinstance(value, np.generic) else value for value in order]
        unknown = set(values.unique()) - set(levels)
        if unknown or len(set(levels)) < max(2, len(levels)):
            shown = f"does not have {sorted(map(str, unknown))[:3]}" if unknown else "is too short"
            raise ValueError(f"order={levels} {shown}: give each grade of {target!r} once")
        return "grades", levels
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        return "grades", [level for level in values.cat.categories if (values == level).any()]
    distinct = list(values.unique())
    if not _is_number(values):
        shown = ", ".join(map(str, distinct[:6])) + (", ..." if len(distinct) > 6 else "")
        raise ValueError(
            f"the target {target!r} holds texts ({shown}): give their order, lowest first (order="
            "[...], or --order a,b,c), or name another target"
        )
    distinct = sorted(distinct)
    if len(distinct) < 2:
        shown = f"only the value {distinct[0]}" if distinct else "no values"
        raise ValueError(f"the target {target!r} has {shown}: there is nothing to rank")
    if not np.isfinite(np.asarray(distinct, float)).all():
        raise ValueError(f"the target {target!r} has infinite values")
    few = len(distinct) <= min(_MOST_GRADES, max(2, len(values) // _LEAST_ROWS_EACH))
    return ("grades" if few else "relevance"), distinct


def _is_number(values: "Series[Any]") -> bool:
    return bool(pandas().api.types.is_numeric_dtype(values))
