"""A table as a problem: rows, what they are worth, and the folds."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.comparison._columns import DAYS, Columns, make_transformer, prepare
from rankwise.comparison._recognise import Task
from rankwise.comparison.measures import Measure, measures_of
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

Indices = NDArray[np.int64]
Fold = tuple[Indices, Indices]
# Splits of so many cells are kept: all methods learn from them, and preparing costs more than many
# a fit.
_KEPT_CELLS = 20_000


@dataclass(frozen=True)
class Problem:
    """The data that methods are compared on.

    Attributes
    ----------
    kind : {"grades", "relevance"}
        As in `Task`.
    rows : pandas.DataFrame
        What is learned from: numbers and categories.
    y : ndarray of shape (n,)
        Ranks from 1 for grades without lists, or grades that are texts; else the values.
    qid : ndarray of int of shape (n,) or None
        The list of each row.
    columns : Columns
        What the rows were made of.
    labels : list or None
        What the ranks are called, lowest first.
    names : ndarray of shape (n,) or None
        What the rows are called, for figures.
    groups : ndarray of int of shape (n,) or None
        Rows of one group are in one fold.
    times : ndarray of shape (n,) or None
        Folds are tested on rows that come later than those that they learn from.
    group_names : list of str
        What the groups are called, if a column tells.
    """

    kind: str
    rows: "DataFrame"
    y: NDArray[np.float64]
    qid: Indices | None
    columns: Columns
    labels: list[Any] | None
    names: NDArray[Any] | None = None
    groups: Indices | None = None
    times: NDArray[np.float64] | None = None
    group_names: list[str] = field(default_factory=list)
    _splits: dict[bytes, "Split"] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def graded(self) -> bool:
        """Whether grades are predicted, and not just an order within queries."""
        return self.kind == "grades" and self.qid is None

    @property
    def binary(self) -> bool:
        """Whether the grades are two classes."""
        return self.graded and self.labels is not None and len(self.labels) == 2

    @property
    def measures(self) -> list[Measure]:
        """The measures of the task; the first decides."""
        positives = float((self.y > 1).mean()) if self.binary else None
        return measures_of(self.kind, lists=self.qid is not None, positives=positives)

    def take(self, index: Indices) -> Self:
        """Return the problem of some rows."""
        parts: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else values[index]
            for name in ("y", "qid", "names", "groups", "times")
        }
        return replace(self, rows=self.rows.iloc[index], **parts)

    def sample(self, n: int, seed: int) -> Self:
        """Return at most n rows; whole lists if there are lists."""
        if len(self.y) <= n:
            return self
        order = np.random.default_rng(seed).permutation(self._n_units())
        if self.qid is None:
            return self.take(np.sort(order[:n]))
        sizes = np.bincount(self.qid)
        kept = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), n, side="right")))]
        return self.take(np.flatnonzero(np.isin(self.qid, kept)))._renumbered()

    def split(self, train: Indices, test: Indices) -> "Split":
        """Return the rows of a fold, with the columns prepared by what the training rows teach."""
        key = train.tobytes() + b"test" + test.tobytes()
        if key in self._splits:
            return self._splits[key]
        learned, held = self.take(train), self.take(test)
        columns = make_transformer(self.columns).fit(learned.rows)
        split = Split(learned, held, columns.transform(learned.rows), columns.transform(held.rows))
        if self.rows.size <= _KEPT_CELLS:
            self._splits[key] = split
        return split

    def _n_units(self) -> int:
        return len(self.y) if self.qid is None else int(self.qid.max()) + 1

    def _renumbered(self) -> Self:
        return replace(self, qid=np.unique(np.asarray(self.qid), return_inverse=True)[1])


class Split(NamedTuple):
    """The rows to learn from and those to test on, and the prepared columns of both."""

    learned: Problem
    held: Problem
    X: Any
    X_held: Any


def make_problem(
    frame: "DataFrame", task: Task, *, name: str | None = None, split: str = "random"
) -> Problem:
    """Return the problem of a table; rows without a target, or without a query, are left out.

    Copies of rows are put into one group if a column with mostly different values says that they
    are copies, so that no model is tested on a row that it has learned from.
    """
    pd = pandas()
    target, query = frame[task.roles["target"]], task.roles.get("query")
    known = target.notna().to_numpy()
    if query is not None:
        known = known & frame[query].notna().to_numpy()
    if not known.any():
        raise ValueError(
            f"no row has a value both in the target {target.name!r} and in query={query!r}: fill "
            "them, or name other columns"
        )
    frame, target = frame[known], target[known]
    labels = None
    if task.kind == "grades":
        labels = task.order or sorted(target.unique().tolist())
    if labels is not None and (query is None or task.order is not None):
        y = 1.0 + np.asarray(pd.Categorical(target, labels, ordered=True).codes, float)
    else:
        y = np.asarray(target, float)
    rows = prepare(frame, task.columns).reset_index(drop=True)
    group, name = task.roles.get("group"), name or task.roles.get("name")
    groups, group_names = None, []
    if group is not None:
        groups, values = pd.factorize(frame[group], use_na_sentinel=False)
        group_names = [str(value) for value in values]
    elif query is None:
        copies = rows.assign(**{"": y}).groupby([*rows.columns, ""], dropna=False).ngroup()
        n = copies.nunique()
        groups = copies.to_numpy() if n < len(rows) and (rows.nunique() > n / 2).any() else None
    times = None
    if split == "time":
        if not task.columns.dates:
            raise ValueError("split='time' needs a column of dates, but the table has none")
        times = rows[task.columns.dates[0] + DAYS].fillna(-np.inf).to_numpy()
    return Problem(
        kind=task.kind,
        rows=rows,
        y=y,
        qid=None if query is None else np.asarray(pd.factorize(frame[query])[0], np.int64),
        columns=task.columns,
        labels=labels,
        names=None if name is None else frame[name].astype(str).to_numpy(),
        groups=groups,
        times=times,
        group_names=group_names,
    )


def make_folds(problem: Problem, n_folds: int, n_repeats: int, seed: int) -> list[Fold]:
    """Return splits: queries and groups stay whole, and targets are about the same in each.

    Rows are sorted by their target and dealt out, each handful in a random order; of two classes
    all handfuls in the same one, so that each fold has its share of the rarer class. With times,
    the rows are cut into ``n_folds + 1`` parts, and each but the first is tested by what the
    earlier ones teach; repeats would be the same.
    """
    if problem.times is not None:
        parts = np.array_split(np.argsort(problem.times, kind="stable"), n_folds + 1)
        return [
            (np.sort(np.concatenate(parts[:k])), np.sort(parts[k])) for k in range(1, len(parts))
        ]
    units = problem.qid if problem.qid is not None else problem.groups
    unit_of = (
        np.arange(len(problem.y)) if units is None else np.unique(units, return_inverse=True)[1]
    )
    n = int(unit_of.max()) + 1
    n_folds = min(n_folds, n)
    if problem.binary and units is None:
        n_folds = min(n_folds, max(2, int(min(np.sum(problem.y == 1), np.sum(problem.y == 2)))))
    if n_folds < 2:
        what = "query" if problem.qid is not None else "group"
        raise ValueError(f"all rows have the same {what}: name another column, or leave it out")
    random = np.random.default_rng(seed)
    mean = np.bincount(unit_of, problem.y) / np.bincount(unit_of)
    folds = []
    for _ in range(n_repeats):
        deals = [random.permutation(n_folds) for _ in range(-(-n // n_folds))]
        order = random.permutation(n)
        if problem.qid is None:
            order = order[np.argsort(mean[order], kind="stable")]
        if problem.binary:
            deals = deals[:1] * len(deals)
        part = np.empty(n, np.int64)
        part[order] = np.concatenate(deals)[:n]
        part = part[unit_of]
        folds += [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_folds)]
    return folds
