"""The data in numbers, and what is odd about them."""

from typing import TYPE_CHECKING

import numpy as np

from rankwise.comparison._recognise import WORDS, Task
from rankwise.comparison.problem import Problem
from rankwise.metrics import comparable_pairs, pairwise_misranking_loss

if TYPE_CHECKING:
    from pandas import DataFrame

# A single column that puts so many pairs in order gives the target away, or nearly.
_GIVEN_AWAY = 0.995
_FEW_OF_A_GRADE = 5


def describe(
    frame: "DataFrame", task: Task, whole: Problem, problem: Problem
) -> tuple[dict[str, str], list[str]]:
    """Return facts on a table, and warnings.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table as it came.
    task : Task
        What it is taken for.
    whole, problem : Problem
        All of its rows with a target, and those that are compared.
    """
    return _facts(frame, task, problem), [
        *_rows(frame, whole, problem),
        *_targets(problem),
        *_columns(problem),
        *_lists(problem),
    ]


def _facts(frame: "DataFrame", task: Task, problem: Problem) -> dict[str, str]:
    columns = task.columns
    facts = {
        "taken for": f"{WORDS[task.kind]}: {task.why}",
        "rows": f"{len(frame):,}",
        "columns learned from": f"{len(columns.names):,}",
    }
    for what, names in zip(("categories", "dates", "texts, hashed"), columns[1:], strict=True):
        if names:
            facts[what] = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    missing = problem.rows[_numeric(problem)].isna().to_numpy()
    if missing.any():
        facts["missing numbers"] = f"{100 * missing.mean():.1f} %"
    if problem.labels is not None:
        counts = [int((problem.y == value).sum()) for value in np.unique(problem.y)]
        shown = problem.labels if len(problem.labels) == len(counts) else np.unique(problem.y)
        facts["rows of each grade"] = ", ".join(
            f"{label}: {count:,}" for label, count in zip(shown, counts, strict=True)
        )
    else:
        low, middle, high = np.quantile(problem.y, [0, 0.5, 1])
        facts["target"] = f"{low:.4g} to {high:.4g}, median {middle:.4g}"
    if problem.qid is not None:
        sizes = np.bincount(problem.qid)
        facts["lists"] = f"{len(sizes):,} of {sizes.min()} to {sizes.max():,} rows"
    return facts


def _numeric(problem: Problem) -> list[str]:
    return [name for name in problem.rows.columns if name not in problem.columns.categories]


def _rows(frame: "DataFrame", whole: Problem, problem: Problem) -> list[str]:
    found = []
    if len(frame) > len(whole.y):
        found.append(f"{len(frame) - len(whole.y):,} rows have no target and are left out.")
    if len(whole.y) > len(problem.y):
        found.append(
            f"A sample of {len(problem.y):,} of the {len(whole.y):,} rows is compared and learned "
            "from (max_rows, or --max-rows)."
        )
    twice = problem.rows.assign(**{"": problem.y}).duplicated()
    if problem.qid is None and twice.mean() > 0.01:
        found.append(
            f"{int(twice.sum()):,} rows are copies of others: a copy may be tested on what was "
            "learned from its twin, so that all numbers are too good."
        )
    if len(problem.y) < 100:
        found.append(f"Only {len(problem.y)} rows: the intervals are wide.")
    return found


def _targets(problem: Problem) -> list[str]:
    if problem.labels is None or problem.qid is not None:
        return []
    rare = [
        str(label)
        for rank, label in enumerate(problem.labels, 1)
        if 0 < (problem.y == rank).sum() < _FEW_OF_A_GRADE
    ]
    if not rare:
        return []
    return [f"Fewer than {_FEW_OF_A_GRADE} rows have the grade {' or '.join(rare)}."]


def _columns(problem: Problem) -> list[str]:
    found, names = [], _numeric(problem)
    constant = [name for name in problem.rows.columns if problem.rows[name].nunique() < 2]
    if constant:
        found.append(f"The same value in all rows of {_listed(constant)}.")
    empty = [name for name in names if problem.rows[name].isna().mean() > 0.5]
    if empty:
        found.append(f"More than half of the values are missing in {_listed(empty)}.")
    telling = [name for name in names if name not in constant and _tells(problem, name)]
    if telling:
        found.append(
            f"{_listed(telling)} alone puts nearly all pairs in the right order: was it known "
            "before the target was? If not, leave it out (ignore, or --ignore)."
        )
    return found


def _tells(problem: Problem, name: str) -> bool:
    values = problem.rows[name].to_numpy(float)
    known = np.isfinite(values)
    qid = None if problem.qid is None else problem.qid[known]
    if known.mean() < 0.5 or comparable_pairs(problem.y[known], qid=qid).n_pairs == 0:
        return False
    wrong = pairwise_misranking_loss(problem.y[known], values[known], qid=qid, ties="half")
    return max(wrong, 1 - wrong) >= _GIVEN_AWAY


def _lists(problem: Problem) -> list[str]:
    if problem.qid is None:
        return []
    pairs = comparable_pairs(problem.y, qid=problem.qid)
    if not pairs.n_left_out:
        return []
    left = f"{pairs.n_left_out:,} of {pairs.n_queries:,} lists"
    return [f"{left} have no two rows that differ, and teach nothing."]


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" * (len(names) > 5))
