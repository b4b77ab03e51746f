"""The statistics of a linear ridge with query intercepts: exact in any chunks, on any machines.

An open query has a weight A, a mean and a scatter of z = (x, y); what it adds to the objective
is A times its scatter, and A changes while rows arrive. So every open query keeps a scatter of
8 (d + 1)^2 bytes. Closed, it is added to one sum and forgotten but for its name.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.engine.queries import group_rows
from rankwise.engine.solvers.ridge import Matrix, Moments, Vector

_ROWS = 4096


@dataclass
class Query:
    """Weight, mean and scatter about the mean of the rows z = (x, y) of one query."""

    weight: float
    mean: Vector
    scatter: Matrix

    def merged(self, other: "Query") -> "Query":
        """Return the statistics of both together."""
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += (self.weight * other.weight / weight) * np.outer(gap, gap)
        return Query(weight, self.mean + (other.weight / weight) * gap, scatter)


@dataclass
class Statistics:
    """All queries of a stream.

    Attributes
    ----------
    n_features : int
        The number d of features.
    named : bool
        Whether the rows came with a qid.
    queries : dict of name to Query
        The open ones.
    closed : set of names
        Queries that get no more rows.
    """

    n_features: int
    named: bool
    queries: dict[Hashable, Query] = field(default_factory=dict)
    closed: set[Hashable] = field(default_factory=set)
    _sum: Matrix = field(init=False, repr=False)
    _squares: float = field(default=0.0, init=False, repr=False)
    _all: Query = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = self.n_features + 1
        self._sum = np.zeros((size, size))
        self._all = Query(0.0, np.zeros(size), np.zeros((0, 0)))

    @classmethod
    def of(
        cls,
        X: Any,
        y: Vector,
        weight: Vector,
        codes: NDArray[np.int64],
        names: list[Hashable],
        *,
        named: bool,
    ) -> "Statistics":
        """Return the statistics of rows, dense or CSR, with positive weights."""
        stats = cls(X.shape[1], named)
        order, starts = group_rows(codes, len(names))
        for name, (start, stop) in zip(names, pairwise(starts.tolist()), strict=True):
            parts = [order[a : min(a + _ROWS, stop)] for a in range(start, stop, _ROWS)]
            queries = (_describe(X[rows], y[rows], weight[rows]) for rows in parts)
            stats.queries[name] = reduce(Query.merged, queries)
        return stats

    def merged(self, other: "Statistics") -> "Statistics":
        """Return the statistics of both together; neither is changed."""
        if self.n_features != other.n_features:
            raise ValueError(
                f"the models have {self.n_features} and {other.n_features} features: they can't "
                "be merged"
            )
        if self.named != other.named:
            raise ValueError(
                "one part of the rows has a qid and the other has none: give qid to all or to none"
            )
        again = self.closed & (other.queries.keys() | other.closed)
        again |= other.closed & self.queries.keys()
        if again:
            raise ValueError(f"query {min(again, key=str)!r} is closed and can't get more rows")
        both = Statistics(self.n_features, self.named)
        both.queries = dict(self.queries)
        for name, query in other.queries.items():
            mine = both.queries.get(name)
            both.queries[name] = query if mine is None else mine.merged(query)
        both.closed = self.closed | other.closed
        both._sum = self._sum + other._sum
        both._squares = self._squares + other._squares
        both._all = _pooled([self._all, other._all])
        return both

    def without(self, names: Iterable[Hashable]) -> "Statistics":
        """Return the statistics with these queries closed."""
        rest = self.merged(Statistics(self.n_features, self.named))
        for name in names:
            if name not in rest.queries:
                raise ValueError(f"qid={name!r} is no open query")
            query = rest.queries.pop(name)
            rest.closed.add(name)
            rest._sum = rest._sum + query.weight * query.scatter
            rest._squares += query.weight**2
            rest._all = _pooled([rest._all, query])
        return rest

    @property
    def n_queries(self) -> int:
        """Queries seen, closed ones included."""
        return len(self.queries) + len(self.closed)

    def moments(self) -> tuple[Moments, Vector]:
        """Return the moments of the ridge, and the mean of all rows z."""
        total, squares = self._sum.copy(), self._squares
        for query in self.queries.values():
            total += query.weight * query.scatter
            squares += query.weight**2
        total *= 2.0 / squares
        mean = _pooled([self._all, *self.queries.values()]).mean
        return Moments(total[:-1, :-1], total[:-1, -1], float(total[-1, -1])), mean


def _describe(X: Any, y: Vector, weight: Vector) -> Query:
    z = np.column_stack([X.toarray() if sparse.issparse(X) else X, y])
    mean = weight @ z / weight.sum()
    z -= mean
    z *= np.sqrt(weight)[:, None]
    return Query(float(weight.sum()), mean, z.T @ z)


def _pooled(parts: list[Query]) -> Query:
    """Return weight and mean of several parts together, without a scatter."""
    weights = np.array([part.weight for part in parts])
    means = np.array([part.mean for part in parts])
    total = float(weights.sum())
    return Query(total, weights @ means / total if total else means[0], np.zeros((0, 0)))
