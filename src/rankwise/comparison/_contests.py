"""Contests in a table: who met whom, and who won."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankwise.comparison._recognise import Task
from rankwise.datasets._readers_contests import contest_scores

if TYPE_CHECKING:
    from pandas import DataFrame


class Contests(NamedTuple):
    """What `rankwise.preference.BradleyTerry` learns from.

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
        If a row names nobody, one twice, or an outcome that is none.
    """
    roles = task.roles
    if "winner" in roles:
        first, second = (_names(frame, roles[part]) for part in ("winner", "loser"))
        tied = frame[roles["tie"]].astype(bool) if "tie" in roles else np.zeros(len(frame), bool)
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
    return frame[column].fillna("").astype(str).to_numpy()
