"""Who beat whom: the place where a model of contests is called."""

from typing import TYPE_CHECKING, NoReturn

from rankwise.comparison._recognise import Task

if TYPE_CHECKING:
    from pandas import DataFrame


def compare_contests(frame: "DataFrame", task: Task) -> NoReturn:
    """Refuse contests in one sentence: they have no rows to fold."""
    raise ValueError(
        f"these {len(frame):,} rows are contests ({task.why}), for which compare has no model yet; "
        "to rank rows by a number, name the column as target"
    )
