"""A table as a problem: rows, what they are worth, and the folds."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.comparison._columns import Columns, prepare
from rankwise.comparison._recognise import Task
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

Indices = NDArray[np.int64]
Fold = tuple[Indices, Indices]


@dataclass(frozen=True)
class Problem:
    """What methods are compared on.

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
    """

    kind: str
    rows: "DataFrame"
    y: NDArray[np.float64]
    qid: Indices | None
    columns: Columns
    labels: list[Any] | None
    names: NDArray[Any] | None = None

    @property
    def graded(self) -> bool:
        """Whether grades are predicted, and not just an order within lists."""
        return self.kind == "grades" and self.qid is None

    def take(self, index: Indices) -> Self:
        """Return the problem of some rows."""
        return replace(
            self,
            rows=self.rows.iloc[index],
            y=self.y[index],
            qid=None if self.qid is None else self.qid[index],
            names=None if self.names is None else self.names[index],
        )

    def sample(self, n: int, seed: int) -> Self:
        """Return at most so many rows; whole lists if there are lists."""
        if len(self.y) <= n:
            return self
        order = np.random.default_rng(seed).permutation(self._n_units())
        if self.qid is None:
            return self.take(np.sort(order[:n]))
        sizes = np.bincount(self.qid)
        kept = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), n, side="right")))]
        return self.take(np.flatnonzero(np.isin(self.qid, kept)))._renumbered()

    def _n_units(self) -> int:
        return len(self.y) if self.qid is None else int(self.qid.max()) + 1

    def _renumbered(self) -> Self:
        return replace(self, qid=np.unique(np.asarray(self.qid), return_inverse=True)[1])


def make_problem(frame: "DataFrame", task: Task, *, name: str | None = None) -> Problem:
    """Return the problem of a table; rows without a target, or without a list, are left out."""
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
    return Problem(
        kind=task.kind,
        rows=prepare(frame, task.columns).reset_index(drop=True),
        y=y,
        qid=None if query is None else np.asarray(pd.factorize(frame[query])[0], np.int64),
        columns=task.columns,
        labels=labels,
        names=None if name is None else frame[name].astype(str).to_numpy(),
    )


def make_folds(problem: Problem, n_folds: int, n_repeats: int, seed: int) -> list[Fold]:
    """Return splits: whole lists if there are lists, else about the same targets in each.

    Rows are sorted by their target and dealt out, each handful in a random order.
    """
    n = problem._n_units()
    n_folds = min(n_folds, n)
    if n_folds < 2:
        raise ValueError(
            "all rows are of one list: name another query, or leave that column out (ignore)"
        )
    random = np.random.default_rng(seed)
    folds = []
    for _ in range(n_repeats):
        deals = [random.permutation(n_folds) for _ in range(-(-n // n_folds))]
        order = random.permutation(n)
        if problem.qid is None:
            order = order[np.argsort(problem.y[order], kind="stable")]
        part = np.empty(n, np.int64)
        part[order] = np.concatenate(deals)[:n]
        if problem.qid is not None:
            part = part[problem.qid]
        folds += [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_folds)]
    return folds
