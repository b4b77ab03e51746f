"""Contests in a table: the two of each, and who won."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankwise._core.arguments import shortened
from rankwise.datasets.readers_contests import contest_score, contest_scores
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

    from rankwise.comparison._recognise import Task

_TRUE, _FALSE = {"true", "yes", "1", "1.0"}, {"false", "no", "0", "0.0"}
# Rows that are tried on whether they are contests.
_LOOKED_AT = 100
# How the two sides are called, in the names of columns and in outcomes.
_SIDES = (
    ("home", "away"),
    ("left", "right"),
    ("first", "second"),
    ("white", "black"),
    ("modela", "modelb"),
    ("1", "2"),
    ("a", "b"),
)
_THINGS = ("", "team", "player", "item", "model", "system", "name")
_POINTS = ("goals", "goal", "score", "scores", "points", "pts", "runs", "sets", "g", "s")
_OUTCOMES = ("winner", "won", "outcome", "result", "ftr")
_WORDS = {
    "1-0": "first", "0-1": "second", "1/2-1/2": "tie", "½-½": "tie", "h": "first", "d": "tie",
    "home": "first", "away": "second", "white": "first", "black": "second", "none": "tie",
    "drawn": "tie",
}  # fmt: skip


class Contests(NamedTuple):
    """The contests that `rankwise.contests.BradleyTerry` learns from.

    Attributes
    ----------
    first, second : ndarray of shape (n,)
        The two of each contest.
    outcome : ndarray of shape (n,)
        1 where the first one won, 0 where the second did, 0.5 for a tie.
    ordered : bool
        Whether it means something which of the two is named first.
    rows : ndarray of shape (n,)
        Their rows in the table: a contest without scores was not held and is left out.
    """

    first: Any
    second: Any
    outcome: Any
    ordered: bool
    rows: Any


def contest_columns(frame: "DataFrame", seen: Sequence[str]) -> tuple[dict[str, str], str] | None:
    """Return the roles of the columns of a table of contests, and why; None if it is none."""
    bare = {re.sub(r"[^a-z0-9]", "", str(name).lower()): name for name in reversed(seen)}
    for sides in _SIDES:
        for thing in _THINGS:
            for one, other in ([side + thing for side in sides], [thing + side for side in sides]):
                if one in bare and other in bare:
                    roles = {"first": bare[one], "second": bare[other]}
                    found = _scores(frame, bare, sides) or _outcome(frame, bare, roles)
                    if found:
                        return roles | found[0], found[1]
    return None


def _scores(
    frame: "DataFrame", bare: dict[str, str], sides: tuple[str, str]
) -> tuple[dict[str, str], str] | None:
    """Return the columns with the points of both sides."""
    pairs = [("fthg", "ftag")] * (sides == ("home", "away"))
    pairs += [(sides[0] + word, sides[1] + word) for word in _POINTS]
    pairs += [(word + sides[0], word + sides[1]) for word in _POINTS]
    numeric = pandas().api.types.is_numeric_dtype
    for one, other in pairs:
        if (
            one in bare
            and other in bare
            and numeric(frame[bare[one]])
            and numeric(frame[bare[other]])
        ):
            roles = {"first_score": bare[one], "second_score": bare[other]}
            return roles, f"{bare[one]!r} and {bare[other]!r} are the scores of both"
    return None


def _outcome(
    frame: "DataFrame", bare: dict[str, str], roles: dict[str, str]
) -> tuple[dict[str, str], str] | None:
    outcome = next((bare[word] for word in _OUTCOMES if word in bare), None)
    if outcome is None:
        return None
    columns = [roles["first"], roles["second"], outcome]
    rows = frame[columns].dropna().head(_LOOKED_AT).astype(str)
    rows[outcome] = _told(rows, {"first": columns[0], "second": columns[1], "outcome": outcome})
    told = sum(isinstance(contest_score(*row), float) for row in rows.to_numpy())
    if 2 * told <= len(rows):
        return None
    why = f"{outcome!r} says which of {columns[0]!r} and {columns[1]!r} won"
    return {"outcome": outcome}, why


def contests_of(frame: "DataFrame", task: "Task") -> Contests:
    """Return the contests of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    task : Task
        Of contests, from `recognise`.

    Raises
    ------
    ValueError
        If a row has no names or the same one twice, or if its outcome or tie can't be read.
    """
    roles = task.roles
    rows = np.arange(len(frame))
    if "first_score" in roles:
        parts = ("first_score", "second_score")
        rows = np.flatnonzero(frame[[roles[part] for part in parts]].notna().all(axis=1))
        frame = frame.iloc[rows]
        points = [frame[roles[part]].to_numpy(float) for part in parts]
        told = np.where(
            points[0] > points[1], "first", np.where(points[0] < points[1], "second", "tie")
        )
    one, other = ("winner", "loser") if "winner" in roles else ("first", "second")
    first, second = _names(frame, roles[one]), _names(frame, roles[other])
    if "winner" in roles:
        tied = _flags(frame, roles["tie"]) if "tie" in roles else np.zeros(len(frame), bool)
        told = np.where(tied, "tie", first)
    elif "outcome" in roles:
        told = _told(frame, roles)
    scores = contest_scores(first, second, told)
    for number, score in zip(rows, scores, strict=True):
        if isinstance(score, str):
            raise ValueError(f"row {number + 1} of the contests: {score}")
    return Contests(first, second, np.array(scores, float), "winner" not in roles, rows)


def _told(frame: "DataFrame", roles: dict[str, str]) -> Any:
    """Return outcomes, those in the words of a kind of game as first, second and tie."""
    told = frame[roles["outcome"]].astype(str)
    names = {*frame[roles["first"]], *frame[roles["second"]]}
    words = {word: what for word, what in _WORDS.items() if word not in names}
    if "home" in roles["first"].lower():
        words["a"] = "second"
    return told.str.strip().str.lower().map(words).fillna(told).to_numpy()


def _names(frame: "DataFrame", column: str) -> Any:
    """Return names without blanks around them, as outcomes are read."""
    return frame[column].fillna("").astype(str).str.strip().to_numpy()


def _flags(frame: "DataFrame", column: str) -> Any:
    """Return a column of yes and no; ``astype(bool)`` would take the text "no" for a yes."""
    words = frame[column].astype(str).str.strip().str.lower()
    known = words.isin(_TRUE | _FALSE).to_numpy()
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise ValueError(
            f"row {row + 1} of the contests: tie={column!r} holds "
            f"{shortened(frame[column].iloc[row])}, expected true or false (yes or no, 1 or 0)"
        )
    return words.isin(_TRUE).to_numpy()
