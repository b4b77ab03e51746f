"""MPRank in chunks: statistics that add up, so that the model is that of all rows at once.

An open query has a weight A, a mean and a covariance of z = (x, y); it adds A squared times its
covariance to the objective, and A changes while rows arrive. So every open query keeps
8 (d + 1)^2 bytes. A closed query is added to one sum, and only its name is kept.

Covariances are means: weights count as shares of their sum, so that no weight is too small.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.metaestimators import available_if

from rankwise._core.inputs import dense
from rankwise._core.queries import group_rows
from rankwise._core.ranker import (
    KernelRanker,
    check_learned,
    check_trusted,
)
from rankwise._core.validation import unchanged_on_error
from rankwise.magnitude.ridge import Matrix, Moments, Vector, moments_objective, solve_primal

_ROWS = 4096


@dataclass
class Query:
    """Weight, mean and covariance of the rows z = (x, y) of one query."""

    weight: float
    mean: Vector
    covariance: Matrix

    def merged(self, other: "Query") -> "Query":
        """Return the statistics of both together."""
        weight = self.weight + other.weight
        share, gap = other.weight / weight, other.mean - self.mean
        covariance = (1.0 - share) * self.covariance + share * other.covariance
        covariance += (share * (1.0 - share)) * np.outer(gap, gap)
        return Query(weight, self.mean + share * gap, covariance)


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
    _sum: "Scatter" = field(init=False, repr=False)
    _all: Query = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = self.n_features + 1
        self._sum = Scatter(0.0, np.zeros((size, size)))
        self._all = Query(0.0, np.zeros(size), np.zeros((0, 0)))

    @classmethod
    def of(
        cls,
        X: Any,
        y: Vector,
        weight: Vector,
        codes: NDArray[np.int64],
        qid: NDArray[Any] | None = None,
    ) -> "Statistics":
        """Return the statistics of rows, dense or CSR, with positive weights.

        ``codes`` are those of `encode_queries`, and ``qid`` the names; None: one query without.
        """
        stats, names = cls(X.shape[1], qid is not None), [None]
        if qid is not None:
            names = qid[np.unique(codes, return_index=True)[1]].tolist()
        order, starts = group_rows(codes, len(names))
        for name, (start, stop) in zip(names, pairwise(starts.tolist()), strict=True):
            parts = [order[a : min(a + _ROWS, stop)] for a in range(start, stop, _ROWS)]
            queries = (_describe(X[rows], y[rows], weight[rows]) for rows in parts)
            stats.queries[name] = reduce(Query.merged, queries)
        return stats

    @classmethod
    def of_closed(
        cls, names: Iterable[Hashable], scatter: "Scatter", weight: float, mean: Vector
    ) -> "Statistics":
        """Return the statistics of closed queries, given their sum and the mean of all rows z."""
        stats = cls(len(mean) - 1, named=True)
        stats.closed, stats._sum = set(names), scatter
        stats._all = Query(weight, mean, np.zeros((0, 0)))
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
        kinds = self._kinds() | other._kinds()
        if len(kinds) > 1:
            raise ValueError(
                "qid has numbers in one part of the rows and strings in another, so that a query "
                "may have two names: use one kind"
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
        both._sum = self._sum.plus(other._sum)
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
            rest._sum = rest._sum.plus(Scatter(query.weight, query.covariance))
            rest._all = _pooled([rest._all, query])
        return rest

    @property
    def n_queries(self) -> int:
        """Queries seen, closed ones included."""
        return len(self.queries) + len(self.closed)

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return _pooled([self._all, *self.queries.values()]).weight

    def _kinds(self) -> set[str]:
        """Return what the names of the queries are."""
        names = (*self.queries, *self.closed) if self.named else ()
        return {"strings" if isinstance(name, str | bytes) else "numbers" for name in names}

    def moments(self) -> tuple[Moments, Vector]:
        """Return the moments of the ridge, and the mean of all rows z."""
        top = max([self._sum.weight, *(query.weight for query in self.queries.values())])
        total = (self._sum.weight / top) ** 2 * self._sum.covariance
        squares = (self._sum.weight / top) ** 2
        for query in self.queries.values():
            share = (query.weight / top) ** 2
            total += share * query.covariance
            squares += share
        total *= 2.0 / squares
        mean = _pooled([self._all, *self.queries.values()]).mean
        return Moments(total[:-1, :-1], total[:-1, -1], float(total[-1, -1])), mean


@dataclass
class Scatter:
    """The sum over queries of squared weight times covariance, as a mean, and the root of it."""

    weight: float
    covariance: Matrix

    def plus(self, other: "Scatter") -> "Scatter":
        """Return the sum of both."""
        weight = float(np.hypot(self.weight, other.weight))
        if weight == 0:
            return self
        mine, theirs = (self.weight / weight) ** 2, (other.weight / weight) ** 2
        return Scatter(weight, mine * self.covariance + theirs * other.covariance)


def _describe(X: Any, y: Vector, weight: Vector) -> Query:
    z = np.column_stack([dense(X), y])
    share = weight / weight.max()
    share /= share.sum()
    mean = share @ z
    z -= mean
    z *= np.sqrt(share)[:, None]
    return Query(float(weight.sum()), mean, z.T @ z)


def _pooled(parts: list[Query]) -> Query:
    """Return weight and mean of several parts together, without a covariance."""
    weights = np.array([part.weight for part in parts])
    means = np.array([part.mean for part in parts])
    total = float(weights.sum())
    shares = weights / total if total else np.zeros(len(parts))
    return Query(total, shares @ means, np.zeros((0, 0)))


class ChunkLearner(KernelRanker):
    """A ridge over pairs that learns chunk by chunk if its kernel is linear."""

    C: float
    _statistics: Statistics | None

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows: the model of all rows so far at once, whatever the chunks.

        Every open query keeps its weight, mean and scatter, 8 (n_features + 1)^2 bytes; see
        `close_queries`. Only for linear kernels. ``fit`` keeps the same statistics to go on from if
        they take no more room than its rows; otherwise start by ``partial_fit``.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``. A query may go on in later chunks, so that one row of it is enough here:
            until two rows of a query are there, all scores are the mean rating. Names must all be
            numbers, or all strings.

        Returns
        -------
        self
        """
        self._validate_params()
        before = getattr(self, "_statistics", None)
        if before is None and hasattr(self, "coef_"):
            raise ValueError(
                "this model was fitted by fit, and statistics to go on from would have been larger "
                "than the rows: learn all chunks by partial_fit, the first one too, which gives "
                "the same model"
            )
        data = self._check_rated(X, y, qid, sample_weight, reset=before is None)
        names = None if qid is None else np.asarray(qid)[data.kept]
        with np.errstate(over="ignore", under="ignore"):
            weight = data.weight * data.weight_unit
            chunk = Statistics.of(data.X, data.y, weight, data.codes, names)
        return self._learned(chunk if before is None else before.merged(chunk))

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def close_queries(self, qid: Iterable[Any] | None = None) -> Self:
        """Forget the scatter of queries that get no more rows; the model stays the same.

        Parameters
        ----------
        qid : iterable of names, default=None
            The queries. None: all that are open.

        Returns
        -------
        self
        """
        statistics = self._known_statistics()
        if issparse(qid):
            raise TypeError(f"qid={type(qid).__name__} must be a list of the names of queries")
        names = list(statistics.queries) if qid is None else list(qid)
        self._statistics = statistics.without(names)
        return self

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def merge(self, other: "ChunkLearner") -> Self:
        """Learn what another model has learned: the model of the rows of both, exactly.

        Both must have learned by ``partial_fit``, for example on two machines. A query may have
        rows in both. C and the rest are this model's.

        Parameters
        ----------
        other : MPRank
            It is left as it is.

        Returns
        -------
        self
        """
        if not isinstance(other, ChunkLearner):
            raise TypeError(f"other={other!r} must be an MPRank that has learned by partial_fit")
        return self._learned(self._known_statistics().merged(other._known_statistics()))

    def _known_statistics(self) -> Statistics:
        statistics = getattr(self, "_statistics", None)
        if statistics is None:
            raise ValueError(
                "there are no statistics: only a model that has learned by partial_fit has some"
            )
        return statistics

    def _learned(self, statistics: Statistics) -> Self:
        """Solve for the statistics, and take them over."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            if not np.isfinite(statistics.weight):
                raise ValueError(
                    "sample_weight adds to more than a float can hold: divide it by a constant"
                )
            stats, mean = statistics.moments()
            coef, error = solve_primal(stats, self.C)
            check_trusted(error, "the scores")
            learned = {
                "coef_": coef,
                "intercept_": float(mean[-1] - mean[:-1] @ coef),
                "objective_": moments_objective(stats, coef, self.C),
            }
        check_learned(learned, self.C)
        self.__dict__.update(learned)
        self.n_iter_, self.solver_ = 0, "primal"
        self.n_queries_ = statistics.n_queries
        self._statistics = statistics
        return self
