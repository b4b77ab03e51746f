"""Facts about a table, and warnings of what could mislead."""

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankwise.comparison._columns import MISSING, may_be_group, source_of
from rankwise.comparison._recognise import WORDS, Task
from rankwise.comparison.problem import Problem
from rankwise.io.files import pandas
from rankwise.metrics import comparable_pairs, pairwise_misranking_loss

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from rankwise.comparison.runner import Row

# A single column that puts so many pairs in order gives the target away, or nearly.
_GIVEN_AWAY = 0.995
_FEW_OF_A_GRADE = 5
_PERFECT = 5e-4
_BARS = 12
_COUNTS = re.compile(r"(^|[^a-z])(n|freq|frequency|count|counts|cases)$")


def describe(
    frame: "DataFrame", task: Task, whole: Problem, problem: Problem, best: "Row", n_folds: int
) -> tuple[dict[str, str], list[str]]:
    """Return facts on a table, and warnings; those of leaks come first.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table as it came.
    task : Task
        Its task.
    whole, problem : Problem
        All of its rows with a target, and those that are compared.
    best : Row
        The method with the best mean.
    n_folds : int
        How many folds there are.
    """
    return _facts(frame, task, problem), [
        *_leaks(problem, best),
        *task.notes,
        *_rows(frame, task, whole, problem),
        *_groups(frame, task, problem),
        *_targets(problem, n_folds),
        *_columns(problem),
        *_lists(problem),
    ]


def task_name(task: Task, problem: Problem) -> str:
    """Return what the task is called."""
    return "binary classification" if problem.binary else WORDS[task.kind]


def _facts(frame: "DataFrame", task: Task, problem: Problem) -> dict[str, str]:
    columns = task.columns
    facts = {
        "task": f"{task_name(task, problem)}: {task.why}",
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
        facts["rows of each class" if problem.binary else "rows of each grade"] = ", ".join(
            f"{label}: {count:,}" for label, count in zip(shown, counts, strict=True)
        )
    else:
        low, middle, high = np.quantile(problem.y, [0, 0.5, 1])
        facts["target"] = f"{plain(low)} to {plain(high)}, median {plain(middle)}"
    if problem.qid is not None:
        sizes = np.bincount(problem.qid)
        facts["queries"] = f"{len(sizes):,} of {sizes.min()} to {sizes.max():,} rows"
    return facts


def _numeric(problem: Problem) -> list[str]:
    return [name for name in problem.rows.columns if name not in problem.columns.categories]


def _rows(frame: "DataFrame", task: Task, whole: Problem, problem: Problem) -> list[str]:
    found = []
    if len(frame) > len(whole.y):
        n_absent = len(frame) - len(whole.y)
        found.append(f"Rows without a target are left out: {n_absent:,}.")
        words = whole.labels is not None and isinstance(whole.labels[0], str)
        if words and 5 * n_absent > len(frame):
            found.append(
                "If None or NA is a grade in the file, it was read as missing: --missing '' "
                "keeps it."
            )
    if len(whole.y) > len(problem.y):
        found.append(
            f"The methods are compared on a sample of {len(problem.y):,} of the {len(whole.y):,} "
            "rows (max_rows, or --max-rows); the model learns from all."
        )
    twice = problem.rows.assign(**{"": problem.y}).duplicated()
    if not {"query", "group"} & task.roles.keys() and twice.mean() > 0.01:
        kept = "each is in one fold with its copies"
        if problem.groups is None:
            kept = "usual where no column has mostly different values"
        found.append(f"{int(twice.sum()):,} rows are copies of others: {kept}.")
    found += [
        f"{name!r} may say how many cases a row stands for: here each row counts once. If it "
        f"does, repeat the rows: frame.loc[frame.index.repeat(frame[{name!r}])]."
        for name in task.columns.numbers
        if _may_be_counts(problem, name)
    ]
    if len(problem.y) < 100:
        found.append(f"Only {len(problem.y)} rows: the intervals are wide.")
    return found


def _may_be_counts(problem: Problem, name: str) -> bool:
    """Whether a column counts the cases of each combination of categories."""
    others = problem.rows.drop(columns=name).assign(**{"": problem.y})
    return (
        _COUNTS.search(name.lower()) is not None
        and {name, *problem.columns.categories} == {*problem.rows}
        and not others.duplicated().any()
    )


def _groups(frame: "DataFrame", task: Task, problem: Problem) -> list[str]:
    """Warn of ids that repeat and of dates, where folds at random promise too much."""
    found = []
    if problem.times is None and task.columns.dates:
        found.append(
            f"{task.columns.dates[0]!r} has dates: if the model is for later rows, use "
            "split='time', or --split time."
        )
    if "group" in task.roles or "query" in task.roles:
        return found
    for name in frame.columns:
        if name != task.roles["target"] and may_be_group(frame[name]):
            n = frame[name].nunique()
            found.append(
                f"Rows of one {name!r} ({n:,} values in {frame[name].count():,} rows) are on both "
                "sides of a split: if the model is for values that are not in this table, use "
                f"group={name!r}, or --group {name}."
            )
    return found


def _targets(problem: Problem, n_folds: int) -> list[str]:
    if problem.labels is None or problem.qid is not None:
        return []
    counts = {
        str(label): int((problem.y == rank).sum()) for rank, label in enumerate(problem.labels, 1)
    }
    if problem.binary and n_folds < 5:
        label = min(counts, key=lambda label: counts[label])
        return [f"Only {counts[label]} rows are {label!r}: {n_folds} folds instead of 5."]
    rare = [label for label, count in counts.items() if 0 < count < _FEW_OF_A_GRADE]
    return (
        [f"Fewer than {_FEW_OF_A_GRADE} rows have the grade {' or '.join(rare)}."] if rare else []
    )


def _leaks(problem: Problem, best: "Row") -> list[str]:
    """Warn of columns that give the target away, and of methods that make no error."""
    shares = {name: order_share(problem, name) for name in problem.rows.columns}
    telling = [name for name in shares if shares[name] >= _GIVEN_AWAY or _decides(problem, name)]
    telling = list(dict.fromkeys(map(source_of, telling)))
    if telling:
        return [
            f"Leak? {name!r} alone orders nearly everything: was it known before the target was? "
            f"If not, leave it out (ignore=[{name!r}], or --ignore {name})."
            for name in telling[:3]
        ]
    first = problem.measures[0]
    if first.loss(best.means[0]) > _PERFECT:
        return []
    most = max(shares, key=lambda name: shares[name])
    text = (
        f"Leak? {best.name} makes no error ({first.name} {best.means[0]:.3f}): does a column come "
        f"from the target? {source_of(most)!r} tells the most (pairwise accuracy "
        f"{shares[most]:.3f})."
    )
    return [text]


class Summary(NamedTuple):
    """A column of a table: kind, share missing, distinct values, range, and how it orders."""

    name: str
    kind: str
    missing: float
    distinct: int
    extent: str
    counts: list[int]
    relation: float


def summaries(problem: Problem) -> list[Summary]:
    """Return a summary of each column that is learned from.

    The relation is the pairwise accuracy of the column alone, in its better direction; categories
    are ordered by their mean target.
    """
    found = []
    for name, values in problem.rows.items():
        if source_of(name) != name and not name.endswith(" (days)"):
            continue  # words and cycles
        category = name in problem.columns.categories
        if category:
            tally = values.value_counts()
            counts = tally.head(_BARS).tolist()
            extent = ", ".join(tally.index[:3]) + (", ..." if len(tally) > 3 else "")
            missing = float((values == MISSING).mean())
        else:
            known = values.dropna().to_numpy()
            values_of = np.unique(known, return_counts=True)[1]
            counts = values_of if len(values_of) <= _BARS else np.histogram(known, _BARS)[0]
            counts = counts.tolist()
            extent = f"{plain(known.min())} to {plain(known.max())}" if len(known) else "no values"
            missing = float(values.isna().mean())
            if source_of(name) != name and len(known):
                extent = " to ".join(
                    str(np.datetime64(int(day), "D")) for day in (known.min(), known.max())
                )
        kind = "category" if category else "date" if source_of(name) != name else "number"
        share = order_share(problem, name)
        found.append(
            Summary(source_of(name), kind, missing, values.nunique(), extent, counts, share)
        )
    return found


def _columns(problem: Problem) -> list[str]:
    found, names = [], _numeric(problem)
    constant = [name for name in problem.rows.columns if problem.rows[name].nunique() < 2]
    if constant:
        found.append(f"The same value in all rows of {_listed(constant)}.")
    empty = [name for name in names if problem.rows[name].isna().mean() > 0.5]
    if empty:
        found.append(f"More than half of the values are missing in {_listed(empty)}.")
    return found


def order_share(problem: Problem, name: str) -> float:
    """Return the share of pairs that a column alone puts in order, in its better direction."""
    values = problem.rows[name]
    if name in problem.columns.categories:
        values = values.map(_category_means(problem, name))
    numbers = values.to_numpy(float)
    known = np.isfinite(numbers)
    qid = None if problem.qid is None else problem.qid[known]
    if known.mean() < 0.5 or comparable_pairs(problem.y[known], qid=qid).n_pairs == 0:
        return 0.5
    wrong = pairwise_misranking_loss(problem.y[known], numbers[known], qid=qid, ties="half")
    return float(max(wrong, 1 - wrong))


def plain(value: float) -> str:
    """Return a number with four digits, a large one with all digits before the point."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def _category_means(problem: Problem, name: str) -> "Series[float]":
    """Return the mean target of each category, drawn to that of all as by 5 more rows."""
    y = pandas().Series(problem.y, index=problem.rows.index)
    groups = y.groupby(problem.rows[name])
    return (groups.sum() + 5 * y.mean()) / (groups.count() + 5)


def _decides(problem: Problem, name: str) -> bool:
    """Whether the target follows from a column whose values come back."""
    values = problem.rows[name]
    if problem.qid is not None or not 2 <= values.nunique() <= len(values) / 5:
        return False
    y = pandas().Series(problem.y, index=values.index)
    return bool(y.nunique() > 1 and (y.groupby(values).nunique() == 1).all())


def _lists(problem: Problem) -> list[str]:
    if problem.qid is None:
        return []
    pairs = comparable_pairs(problem.y, qid=problem.qid)
    if not pairs.n_left_out:
        return []
    left = f"{pairs.n_left_out:,} of {pairs.n_queries:,} queries"
    return [f"{left} have no two rows that differ, and teach nothing."]


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" * (len(names) > 5))
