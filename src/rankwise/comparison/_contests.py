"""Contests in a table: who met whom, and who won."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankwise._core.arguments import shortened
from rankwise.comparison._recognise import Task
from rankwise.datasets.readers_contests import contest_scores

if TYPE_CHECKING:
    from pandas import DataFrame

_TRUE, _FALSE = {"true", "yes", "1", "1.0"}, {"false", "no", "0", "0.0"}


class Contests(NamedTuple):
    """What `rankwise.contests.BradleyTerry` learns from.

    Attributes
    ----------
    first, second : ndarray of shape (n,)
        The two of each contest.
    outcome : ndarray of shape (n,)
        1 where the first one won, 0 where the second did, 0.5 for a tie.
    ordered : bool
        Whether it means something which of the two is named first.
    """

    first: Any
    second: Any
    outcome: Any
    ordered: bool


def contests_of(frame: "DataFrame", task: Task) -> Contests:
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
        If a row names nobody, one twice, or an outcome that is none, or does not say whether it is
        a tie.
    """
    roles = task.roles
    if "winner" in roles:
        first, second = (_names(frame, roles[part]) for part in ("winner", "loser"))
        tied = _flags(frame, roles["tie"]) if "tie" in roles else np.zeros(len(frame), bool)
        told = np.where(tied, "tie", first)
    else:
        first, second = (_names(frame, roles[part]) for part in ("first", "second"))
        told = frame[roles["outcome"]].astype(str).to_numpy()
    scores = contest_scores(first, second, told)
    for number, score in enumerate(scores):
        if isinstance(score, str):
            raise ValueError(f"row {number} of the contests: {score}")
    return Contests(first, second, np.array(scores, dtype=float), "winner" not in roles)


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
            f"row {row} of the contests: tie={column!r} holds {shortened(frame[column].iloc[row])},"
            " wanted true or false (yes or no, 1 or 0)"
        )
    return words.isin(_TRUE).to_numpy()
