r"""Statistics of rows in queries that add up, and the ridge regression that they give.

With residuals r, row weights a and :math:`A_q` their total in query q,

.. math::

    \sum_{i,j \in q} a_i a_j (r_j - r_i)^2 = 2 A_q \sum_{i \in q} a_i (r_i - \bar r_q)^2,

so the mean over all pairs inside queries is :math:`\sum_i c_i (r_i - \bar r_q)^2` with
:math:`c_i = 2 a_i A_q / \sum_q A_q^2`, and :math:`\|w\|^2 + C \cdot` mean is a ridge over rows
that are centred within their queries. Below, a tilde means centred and multiplied by
:math:`\sqrt{c_i}`. The primal is :math:`(\tilde X' \tilde X + I/C)\, w = \tilde X' \tilde y`,
O(m d^2 + d^3).

Rows may come in chunks. An open query has a weight A, a mean and a covariance of z = (x, y); it
adds A squared times its covariance to the objective, and A changes while rows arrive. So every open
query keeps 8 (d + 1)^2 bytes. A closed query is added to one sum, and only its name is kept.

Covariances are means: weights count as shares of their sum, so that no weight is too small.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from rankwise._core.queries import group_rows
from rankwise._core.ranker import EPS, ERRORS

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Moments = tuple[Matrix, Vector, float]
"""Products of the rows and targets with a tilde: X'X, X'y and y'y."""

# Rows of a query that are described at once, and of a matrix that are centred at once.
_CHUNK, _ROWS = 4096, 512
TINY = 1e-300


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
            parts = [order[a : min(a + _CHUNK, stop)] for a in range(start, stop, _CHUNK)]
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
        check_names([*self.queries, *self.closed], [*other.queries, *other.closed])
        again = self.closed & (other.queries.keys() | other.closed)
        again |= other.closed & self.queries.keys()
        if again:
            raise ValueError(f"query {min(again, key=str)!r} is closed and can't get more rows")
        both = Statistics(self.n_features, self.named, dict(self.queries))
        for name, query in other.queries.items():
            known = both.queries.get(name)
            both.queries[name] = query if known is None else known.merged(query)
        both.closed = self.closed | other.closed
        both._sum = self._sum.plus(other._sum)
        both._all = _pooled(self._all, other._all)
        return both

    def without(self, names: Iterable[Hashable]) -> "Statistics":
        """Return the statistics with these queries closed."""
        rest = self.merged(Statistics(self.n_features, self.named))
        for name in names:
            if name not in rest.queries:
                raise ValueError(f"qid={name!r} is not an open query")
            query = rest.queries.pop(name)
            rest.closed.add(name)
            rest._sum = rest._sum.plus(Scatter(query.weight, query.covariance))
            rest._all = _pooled(rest._all, query)
        return rest

    @property
    def n_queries(self) -> int:
        """Queries seen, closed ones included."""
        return len(self.queries) + len(self.closed)

    def all_rows(self) -> Query:
        """Return weight and mean of all rows, without a covariance."""
        return _pooled(self._all, *self.queries.values())

    def moments(self) -> Moments:
        """Return the moments of the ridge."""
        parts: list[Query | Scatter] = [self._sum, *self.queries.values()]
        top, squares = max(part.weight for part in parts), 0.0
        total = np.zeros_like(self._sum.covariance)
        for part in parts:
            share = (part.weight / top) ** 2
            total += share * part.covariance
            squares += share
        total *= 2.0 / squares
        return total[:-1, :-1], total[:-1, -1], float(total[-1, -1])


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


def penalty(C: float) -> float:
    """Return 1 / C; past what a float can hold, scores are 0 anyway."""
    return min(1.0 / float(C), 1e290)


def check_names(known: Iterable[Hashable], others: Iterable[Hashable]) -> None:
    """Raise if only one part of the rows has queries, or their types differ; None: no queries."""
    kinds = {
        "none" if name is None else "strings" if isinstance(name, str | bytes) else "numbers"
        for name in (*known, *others)
    }
    if {"none"} < kinds:
        raise ValueError(
            "one part of the rows has a qid and the other has none: give qid to all or to none"
        )
    if len(kinds) > 1:
        raise ValueError(
            "qid has numbers in one part of the rows and strings in another, so that a query "
            "may have two names: use one kind"
        )


def _describe(X: Any, y: Vector, weight: Vector) -> Query:
    """Return weight, mean and covariance of some rows."""
    z = np.column_stack([X.toarray() if sparse.issparse(X) else X, y])
    share = weight / weight.max()
    share /= share.sum()
    mean = share @ z
    z -= mean
    z *= np.sqrt(share)[:, None]
    return Query(float(weight.sum()), mean, z.T @ z)


def _pooled(*parts: Query) -> Query:
    """Return weight and mean of several parts together, without a covariance."""
    weights = np.array([part.weight for part in parts])
    means = np.array([part.mean for part in parts])
    total = float(weights.sum())
    shares = weights / total if total else np.zeros(len(parts))
    return Query(total, shares @ means, np.zeros((0, 0)))


class Sample(NamedTuple):
    """Rows with positive weights in queries.

    Attributes
    ----------
    codes : ndarray of shape (m,)
        The query of each row, all of 0..n_queries-1.
    weight : ndarray of shape (m,)
        Row weights a.
    totals : ndarray of shape (n_queries,)
        Their sums by query, A.
    cost : ndarray of shape (m,)
        The c of the module's docstring.
    null : ndarray of shape (m,)
        Unit vectors along the queries' means: the root of a_i / A_q.
    """

    codes: NDArray[np.int64]
    weight: Vector
    totals: Vector
    cost: Vector
    null: Vector

    @classmethod
    def of(cls, codes: NDArray[np.int64], n_queries: int, weight: Vector) -> "Sample":
        """Describe a sample by the queries and weights of its rows."""
        weight = np.maximum(weight / weight.max(), TINY)
        totals = np.bincount(codes, weights=weight, minlength=n_queries).astype(np.float64)
        cost = np.maximum(2.0 * weight * totals[codes] / (totals @ totals), TINY)
        return cls(codes, weight, totals, cost, np.sqrt(weight / totals[codes]))

    def means(self, values: Any) -> Any:
        """Return weighted means, one row for each query, sparse if the values are."""
        share = self.weight / self.totals[self.codes]
        if len(self.totals) == 1 and not sparse.issparse(values):
            return (share @ values)[None]
        order, starts = group_rows(self.codes, len(self.totals))
        shape = len(self.totals), len(share)
        return sparse.csr_array((share[order], order, starts), shape=shape) @ values

    def overall(self, means: Any) -> Any:
        """Return the weighted mean over all rows, from those within queries."""
        return (self.totals / self.totals.sum()) @ means

    def centred(self, y: Vector) -> Vector:
        """Return y less the weighted mean of its query."""
        for _ in range(2):  # the first mean is rounded to the digits of y, which may be large
            sums = np.bincount(self.codes, weights=self.weight * y, minlength=len(self.totals))
            y = y - (sums / self.totals)[self.codes]
        return y

    def objective(self, square: float, residuals: Vector, C: float) -> float:
        """Return the objective for the squared norm of a model and its residuals."""
        missed = self.centred(residuals)
        return float(square + C * (self.cost @ (missed * missed)))

    def blocks(self, X: Any, means: Any) -> Iterator[tuple[slice, Matrix]]:
        """Yield dense blocks of centred rows times the root of their cost."""
        for start in range(0, X.shape[0], _ROWS):
            rows = slice(start, start + _ROWS)
            block, centres = X[rows], means[self.codes[rows]]
            if sparse.issparse(X):
                block, centres = block.toarray(), centres.toarray()
            yield rows, (block - centres) * np.sqrt(self.cost[rows])[:, None]


def moments(X: Any, y: Vector, sample: Sample) -> Moments:
    """Return the moments of centred rows, dense or CSR, in O(m d^2)."""
    target = np.sqrt(sample.cost) * sample.centred(y)
    means = sample.means(X)
    d = X.shape[1]
    if not sparse.issparse(X):
        xx, xy = np.zeros((d, d)), np.zeros(d)
        for rows, block in sample.blocks(X, means):
            xx += block.T @ block
            xy += target[rows] @ block
        return xx, xy, float(target @ target)
    # Rows are not centred, which would fill them; the means of small queries are sparse, too.
    weighed = X.multiply(sample.cost[:, None]).tocsr()
    share = np.sqrt(np.bincount(sample.codes, weights=sample.cost))
    shift = sparse.csr_array(means.multiply(share[:, None]))
    if 10 * shift.nnz > np.prod(shift.shape):
        shift = shift.toarray()
    xx = (X.T @ weighed).toarray() - shift.T @ shift
    return xx, weighed.T @ sample.centred(y), float(target @ target)


def solve_primal(xx: Matrix, xy: Vector, yy: float, C: float) -> tuple[Vector, float]:
    """Return w from the moments, and how far its scores may be off as a share of the spread of y.

    The diagonal of the system is made 1, so that features of any scale keep their digits.
    """
    ridge = penalty(C)
    unit = np.sqrt(np.diagonal(xx) + ridge)
    system = xx / unit / unit[:, None]
    system[np.diag_indices_from(system)] = 1.0
    norm = float(np.abs(system).sum(axis=0).max())
    factor, sound = cholesky(system)
    if not sound:
        return np.zeros_like(unit), np.inf
    w = np.zeros_like(unit)
    for _ in range(2):
        left = xy - xx @ w - ridge * w
        w += lapack.dpotrs(factor, left / unit, lower=0)[0] / unit
    inverse = 1.0 / (lapack.dpocon(factor, norm)[0] * norm)
    spread = max(np.sqrt(yy), TINY)
    length = float(np.linalg.norm(unit * w))
    return w, ERRORS * np.sqrt(len(w) * inverse) * length / spread


def cholesky(matrix: Matrix) -> tuple[Matrix, bool]:
    """Return the Cholesky factor of a matrix, which is overwritten, and whether to trust it."""
    factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
    pivots = np.diagonal(factor) ** 2
    return factor, info == 0 and bool(pivots.min() > len(pivots) * EPS * pivots.max())
