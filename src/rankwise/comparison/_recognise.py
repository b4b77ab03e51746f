"""Recognise the task of a table from its columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise._core.arguments import check_word, did_you_mean
from rankwise.comparison._columns import (
    Columns,
    as_frame,
    identifiers,
    kind_of,
    look_at_columns,
    may_be_group,
    odd_values,
)
from rankwise.comparison._contests import contest_columns
from rankwise.comparison._scales import known_order
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# The name of each kind where people read it.
WORDS = {"grades": "ordinal regression", "relevance": "regression ranking", "ratings": "ratings"}
KINDS = ("grades", "relevance", "ratings", "contests", "rankings")
# A target with more values than this is a number, and so is one with fewer rows for each; counts,
# which have gaps between their larger values, from fewer values on.
_MOST_GRADES, _LEAST_ROWS_EACH, _MOST_UNEVEN = 20, 3, 10

_NAMES = {
    "target": "target grade response label relevance rel quality rating score stars y",
    "query": "qid query queryid srchid searchid groupid",
    "user": "user userid person personid customer customerid reviewer reviewerid worker",
    "item": "item itemid movie movieid film filmid isbn product productid book bookid joke jokeid",
    "rating": "rating ratings stars bookrating score",
    "winner": "winner won",
    "loser": "loser lost",
}


@dataclass(frozen=True)
class Task:
    """The kind of evidence in a table.

    Attributes
    ----------
    kind : {"grades", "relevance", "ratings", "contests", "rankings"}
        Ordered grades, a number whose size matters, people's ratings of items, who beat whom, or
        whole orders.
    why : str
        The reason, in one sentence.
    roles : dict of str to str
        The columns by their part: ``target`` and perhaps ``query``, ``group`` and ``name``;
        ``user``, ``item``, ``rating``; ``winner``, ``loser`` and perhaps ``tie``; or ``first``,
        ``second`` and ``outcome``, or ``first_score`` and ``second_score``.
    columns : Columns
        What is learned from, by what it holds; empty for ratings, contests and rankings.
    order : list or None
        Grades that are texts, lowest first.
    notes : list of str
        What was decided, and how to decide otherwise.
    """

    kind: str
    why: str
    roles: dict[str, str] = field(default_factory=dict)
    columns: Columns = field(default_factory=lambda: Columns([], [], [], []))
    order: list[Any] | None = None
    notes: list[str] = field(default_factory=list)


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
    first: str | None = None,
    second: str | None = None,
    outcome: str | None = None,
    group: str | None = None,
    ignore: Sequence[str] = (),
    order: Sequence[Any] | None = None,
    text: str = "hash",
) -> Task:
    """Recognise the task of a table.

    Columns that are named are taken as they are named; the others are found by their names, and the
    kind of a target by its values. Columns that count or name the rows are left out.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, a row for each thing, rating or contest.
    target : str, default=None
        The column to rank by. By default one that is called so, else the last if it can be one.
    query : str, default=None
        The column of the lists: only rows of one list are compared.
    user, item, rating : str, default=None
        The columns of a table of ratings.
    winner, loser, tie : str, default=None
        The columns of contests; ``tie`` is true where nobody won. ``winner`` may also hold the
        name of one of two other columns, such as left and right.
    first, second, outcome : str, default=None
        The columns of contests whose outcome is one of first, second and tie.
    group : str, default=None
        A column of which no value is both learned from and tested on, such as patients.
    ignore : str or sequence of str, default=()
        Columns to leave out.
    order : sequence, default=None
        The grades, lowest first, if they are texts of no known scale.
    text : {"hash", "ignore"}, default="hash"
        Whether the words of columns of free text are hashed, or the columns left out.

    Returns
    -------
    Task

    Raises
    ------
    ValueError
        A column that is not there, a target without values or with one, grades that are texts
        without an order, no column that could be a target.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from rankwise.comparison import recognise
    >>> frame = pd.DataFrame({"grade": [1, 2, 3, 2] * 5, "acid": np.linspace(2, 3, 20)})
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
        "first": first,
        "second": second,
        "outcome": outcome,
        "group": group,
    }
    check_word(text, "text", ("hash", "ignore"))
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
    if given.keys() - {"target", "query", "group"}:
        parts = " ".join(f"{part}={name!r}" for part, name in given.items())
        raise ValueError(
            f"{parts} does not determine a task: name target and perhaps query, or user, item and "
            "rating, or winner and loser"
        )
    return _graded(frame, seen, given, order, text)


def _check_names(frame: "DataFrame", names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            listed = ", ".join(map(str, frame.columns[:12])) + (
                ", ..." if len(frame.columns) > 12 else ""
            )
            near = did_you_mean(name, list(frame.columns)) or f"; the table has {listed}"
            raise ValueError(f"column {name!r} not found{near}")


def _check_parts(frame: "DataFrame", given: dict[str, str], ignore: Sequence[str]) -> None:
    """Raise if a column has two parts."""
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
    bare = {word: name for word, name in bare.items() if not re.search("[0-9]", str(name))}
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
    if given.keys() - {"winner", "first", "second", "outcome"}:
        return None
    sides = {part: name for part, name in given.items() if part in {"first", "second", "outcome"}}
    if len(sides) == 3:
        return Task("contests", "the columns were named", sides)
    found = contest_columns(
        frame, [name for name in seen if name not in sides.values()] if sides else seen
    )
    if found is None:
        return None
    return Task("contests", found[1], found[0] | sides)


def _ratings(frame: "DataFrame", seen: list[str], given: dict[str, str]) -> Task | None:
    roles = {part: given.get(part) or _find(part, seen) for part in ("user", "item", "rating")}
    if any(name is None for name in roles.values()) or len(set(roles.values())) < 3:
        return None
    found = {part: str(name) for part, name in roles.items()}
    values = frame[found["rating"]]
    if not pandas().api.types.is_numeric_dtype(values):
        raise ValueError(f"rating={found['rating']!r} holds strings, expected numbers")
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
    notes: list[str] = []
    target, how = given.get("target"), "which was named"
    taken = [name for name in (query, given.get("group")) if name is not None]
    if target is None:
        target, how = _find_target(frame, [name for name in seen if name not in taken])
        others = _candidates(frame, [name for name in seen if name not in {target, *taken}])
        if others:
            notes.append(f"To rank by another column, name it (target=..., or --target): {others}.")
    kind, levels, scale = _grades(frame[target].dropna(), target, order)
    notes += [scale] if scale else []
    roles = {"target": target} | ({"query": query} if query is not None else {})
    roles |= {"group": given["group"]} if "group" in given else {}
    left = [name for name in seen if name not in roles.values()]
    if not left:
        raise ValueError(f"no column is left besides {' and '.join(map(repr, roles.values()))}")
    if not frame[left].notna().to_numpy().any():
        raise ValueError(f"no column besides {target!r} has a value: nothing to learn from")
    named = identifiers(frame, left)
    if len(named) == len(left):
        raise ValueError(
            f"no column is left besides {target!r}: "
            + "; ".join(f"{name!r} {why}" for name, why in named.items())
        )
    notes += [f"{name!r} {why}: it is left out." for name, why in named.items()]
    texts = [name for name in named if kind_of(frame[name]) == "texts"]
    if texts:
        roles["name"] = texts[0]
    columns = look_at_columns(frame, [name for name in left if name not in named])
    if columns.texts and text == "ignore":
        notes.append(f"Free text in {_quoted(columns.texts)} is left out.")
        columns = columns._replace(texts=[])
    elif columns.texts:
        notes.append(
            f"The words of {_quoted(columns.texts)} are hashed into columns (text='ignore', or "
            "--text ignore, leaves free text out)."
        )
    if not columns.names:
        raise ValueError(f"no column is left besides {target!r} and free text: use text='hash'")
    for name in columns.numbers:
        odd = odd_values(frame[name])
        if len(odd):
            row = int(np.argmax(frame.index == odd.index[0])) + 1
            notes.append(
                f"{name!r} has numbers, but {str(odd.iloc[0])[:40]!r} in row {row}: "
                f"{len(odd):,} such "
                "values count as missing."
            )
    if kind == "grades":
        shown = ", ".join(map(str, levels[:6])) + (", ..." if len(levels) > 6 else "")
        what = "classes" if len(levels) == 2 and query is None else "grades"
        why = f"the column {target!r}, {how}, has the {len(levels)} {what} {shown}"
    else:
        why = f"the column {target!r}, {how}, has {len(levels):,} values"
    if query is not None:
        why += f", to be compared within the {frame[query].nunique():,} queries of {query!r}"
    told = levels if order is not None or not _is_number(frame[target]) else None
    return Task(kind, why, roles, columns, told, notes)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _find_target(frame: "DataFrame", seen: list[str]) -> tuple[str, str]:
    """Return a column to rank by, and how it was found: by its name, or as the last one."""
    target, how = _find("target", seen), "named like a target"
    if target is None or not _fits(frame[target]):
        target, how = seen[-1], "the last one, since none was named"
    if not _fits(frame[target]):
        listed = _candidates(frame, seen) or "none of the columns is a number or of a known scale"
        raise ValueError(
            f"which column is the target? Name it (target='...', or --target). Candidates: {listed}"
        )
    return target, how


def _candidates(frame: "DataFrame", names: list[str], most: int = 8) -> str:
    """Return the columns that could be a target with their kinds, the last first."""
    fitting = [name for name in reversed(names) if _fits(frame[name])]
    others = [name for name in fitting if may_be_group(frame[name])]
    fitting = [name for name in fitting if name not in {*identifiers(frame, fitting), *others}]
    shown = []
    for name in fitting[:most]:
        known = frame[name].dropna()
        kind, levels, _ = _grades(known, name, None)
        word = "classes" if len(levels) == 2 else "grades"
        shown.append(f"{name!r} ({f'{len(levels)} {word}' if kind == 'grades' else 'a number'})")
    more = len(fitting) - most
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _fits(values: "Series[Any]") -> bool:
    """Whether a column can be a target without an order."""
    try:
        _grades(values.dropna(), "", None)
    except ValueError:
        return _is_number(values)  # which has a message of its own
    return True


def _grades(
    values: "Series[Any]", target: str, order: Sequence[Any] | None
) -> tuple[str, list[Any], str]:
    """Return whether a target is of grades or a number, its values, and a note on their order."""
    pd = pandas()
    if order is not None:
        levels = [value.item() if isinstance(value, np.generic) else value for value in order]
        unknown = set(values.unique()) - set(levels)
        if unknown or len(set(levels)) < max(2, len(levels)):
            shown = f"does not have {sorted(map(str, unknown))[:3]}" if unknown else "is too short"
            raise ValueError(f"order={levels} {shown}: give each grade of {target!r} once")
        return "grades", levels, ""
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        levels = [level for level in values.cat.categories if (values == level).any()]
        if len(levels) > 1:
            return "grades", levels, ""
    distinct = list(values.unique())
    if not _is_number(values) and len(distinct) > 1:
        counts = values.value_counts()
        rare_last = [counts.index[0], counts.index[1]] if len(distinct) == 2 else None
        known = known_order(distinct)
        levels = known or rare_last or []
        if levels:
            shown = " < ".join(map(str, levels))
            why = "" if known else ", the rarer class last"
            note = (
                f"{target!r} is ordered {shown}{why} (order=[...], or --order a,b,c, changes that)."
            )
            return "grades", levels, note
        shown = ", ".join(map(str, distinct[:6])) + (", ..." if len(distinct) > 6 else "")
        raise ValueError(
            f"the target {target!r} holds strings without a known order ({shown}): give it, "
            "lowest first (order=[...], or --order a,b,c), or name another target"
        )
    if len(distinct) < 2:
        shown = f"only the value {distinct[0]}" if distinct else "no values"
        raise ValueError(f"the target {target!r} has {shown}: there is nothing to rank")
    distinct = sorted(distinct)
    if not np.isfinite(np.asarray(distinct, float)).all():
        raise ValueError(f"the target {target!r} has infinite values")
    few = len(distinct) <= min(_MOST_GRADES, max(2, len(values) // _LEAST_ROWS_EACH))
    scale = len(distinct) <= _MOST_UNEVEN or np.allclose(np.diff(distinct, 2), 0)
    return ("grades" if few and scale else "relevance"), distinct, ""


def _is_number(values: "Series[Any]") -> bool:
    return bool(pandas().api.types.is_numeric_dtype(values))
