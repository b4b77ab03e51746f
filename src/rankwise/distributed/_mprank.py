r"""MPRank over parts: sums that add up, so that the model is that of all rows at once.

Without queries each part gives its weight, mean and covariance, 8 (d + 1)^2 bytes, which are merged
in a tree.

With queries the model needs

.. math:: S = \sum_q A_q \sum_{i \in q} a_i (z_i - m_q)(z_i - m_q)',

where a query has the weight :math:`A_q` and the mean :math:`m_q` of its rows z = (x, y). A query
may be cut: its rows lie in several parts, in any order. So

1. each part tells the names and weights of its queries, 16 bytes a query;
2. if a query is cut, each part tells the means of its cut ones, 8 (d + 1) bytes each;
3. each part is told weight and mean of its cut queries, and returns its part of S.

No row moves, however the queries are cut.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core._loops.keys import counting_sort
from rankwise._core.queries import encode_queries
from rankwise.distributed._block import Block
from rankwise.distributed._parts import Parts, logger
from rankwise.distributed._shared import checked_ratings, set_features, to_ratings
from rankwise.magnitude import MPRank
from rankwise.magnitude.statistics import Scatter, Statistics

Vector = NDArray[np.float64]

_ROWS = 4096
# More names than these are not kept by the model, which then can't go on by partial_fit.
_NAMES = 1_000_000


def learn(estimator: MPRank, parts: Parts) -> None:
    """Learn the model of all parts.

    Raises
    ------
    ValueError
        If the kernel is not linear, or the solver not exact in the features.
    """
    estimator._validate_params()
    if not estimator._is_linear() or estimator.solver not in ("auto", "primal"):
        raise ValueError(
            f"MPRank with kernel={estimator.kernel!r} and solver={estimator.solver!r} can't be "
            "fitted in parts: use kernel='linear' and solver='auto', after a map of the rows such "
            "as sklearn.kernel_approximation.Nystroem if they need a kernel"
        )
    queries = _by_query(parts)
    if queries is None:
        statistics = parts.reduce(_statistics, Statistics.merged)
        if parts.n_rows < 2:
            raise ValueError(
                f"y has one sample (n_samples = {parts.n_rows}): ranking compares two or more rows"
            )
    else:
        statistics = queries
    set_features(estimator, parts)
    estimator.__dict__.pop("_statistics", None)
    estimator._learned(statistics)
    if statistics.n_queries > _NAMES:
        estimator._statistics = None


def _statistics(block: Block) -> Statistics | None:
    """Return the statistics of a part, all of it one query."""
    n = block.X.shape[0]
    if not n:
        return None
    y = checked_ratings(block)
    return Statistics.of(block.X, y, block.weights(), np.zeros(n, dtype=np.int64))


class _Names(NamedTuple):
    """The queries of a part, sorted, their weights and rows; without a qid there are none."""

    names: NDArray[Any]
    weights: Vector
    n_rows: NDArray[np.int64]


def _names(block: Block) -> _Names | None:
    """Return the queries of a part."""
    if block.qid is None or not len(block.qid):
        return None
    names, codes = np.unique(block.qid, return_inverse=True)
    weights = np.bincount(codes, block.weights(), len(names)).astype(np.float64)
    return _Names(names, weights, np.bincount(codes))


def _by_query(parts: Parts) -> Statistics | None:
    """Return the statistics of all queries, or None if there are none."""
    if not parts.has_queries:
        return None
    told = [_Names(*each) if each else None for each in parts.map(_names)]
    full = [each for each in told if each is not None]
    names = np.concatenate([each.names for each in full])
    codes, n_queries = encode_queries(names, len(names))
    weights_of = np.concatenate([each.weights for each in full])
    total = np.bincount(codes, weights_of, n_queries).astype(np.float64)
    if np.bincount(codes, np.concatenate([each.n_rows for each in full])).max() < 2:
        raise ValueError(
            f"qid gives each row its own query (n_samples = {parts.n_rows}): ranking compares "
            "two or more rows of a query"
        )
    cut = np.bincount(codes) > 1
    logger.info("%d of %d queries are cut over parts", int(cut.sum()), n_queries)
    places, at = [], 0
    for each in told:
        size = 0 if each is None else len(each.names)
        places.append(codes[at : at + size])
        at += size
    inside = [np.flatnonzero(cut[place]) for place in places]
    where = [place[some] for place, some in zip(places, inside, strict=True)]
    weights = [total[some] for some in where]
    means: list[Vector] = [np.empty((0, parts.n_features + 1))] * parts.n_parts
    if cut.any():
        means = _merged_means(parts, inside, where, total, n_queries)
    unit = float(total.max())
    scatter, weight, mean = parts.reduce(_scatter, _plus, unit, each=[inside, weights, means])
    squares = float(np.sum((total / unit) ** 2))
    closed = Scatter(unit * float(np.sqrt(squares)), scatter / squares)
    values, firsts = np.unique(codes, return_index=True)
    listed = names[firsts].tolist() if len(values) <= _NAMES else range(n_queries)
    return Statistics.of_closed(listed, closed, weight, mean)


def _merged_means(
    parts: Parts,
    inside: list[NDArray[np.int64]],
    where: list[NDArray[np.int64]],
    total: Vector,
    n_queries: int,
) -> list[Vector]:
    """Return for each part the means of its cut queries, over all parts."""
    of_parts = parts.map(_means, each=[inside])
    every = np.unique(np.concatenate(where))
    row_of = np.zeros(n_queries, dtype=np.int64)
    row_of[every] = np.arange(len(every))
    means = np.zeros((len(every), parts.n_features + 1))
    for place, told in zip(where, of_parts, strict=True):
        if len(place):
            weights, some = told
            means[row_of[place]] += (weights / total[place])[:, None] * some
    return [means[row_of[place]] for place in where]


def _local_means(block: Block) -> tuple[NDArray[np.int64], Vector, Vector]:
    """Return the query of each row of a part, and weights and means of the queries in it."""
    names, codes = np.unique(np.asarray(block.qid), return_inverse=True)
    a, n = block.weights(), block.X.shape[0]
    totals = np.bincount(codes, a, len(names)).astype(np.float64)
    order, starts = counting_sort(codes.astype(np.int64), len(names))
    share = (a / totals[codes])[order]
    average = sparse.csr_array((share, order, starts), shape=(len(names), n))
    y = checked_ratings(block)
    rows = average @ block.doubles()
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return codes, totals, np.column_stack([rows, average @ y])


def _means(block: Block, inside: NDArray[np.int64]) -> tuple[Vector, Vector] | None:
    """Return weights and means of some queries of a part."""
    if not len(inside):
        return None
    _, totals, means = _local_means(block)
    return totals[inside], means[inside]


def _scatter(
    block: Block, inside: NDArray[np.int64], weights: Vector, means: Vector, unit: float
) -> tuple[Vector, float, Vector] | None:
    """Return the part of S that a part adds, in squares of the unit, its weight and its mean."""
    if not block.X.shape[0]:
        return None
    codes, totals, centres = _local_means(block)
    weight = float(totals.sum())
    mean = (totals / weight) @ centres
    totals[inside], centres[inside] = weights, means
    factor = np.sqrt(block.weights() / unit) * np.sqrt(totals[codes] / unit)
    y = to_ratings(block)
    size = centres.shape[1]
    scatter = np.zeros((size, size))
    for start in range(0, len(y), _ROWS):
        some = slice(start, start + _ROWS)
        X = block.X[some]
        z = np.column_stack([X.toarray() if sparse.issparse(X) else X, y[some]]).astype(np.float64)
        z -= centres[codes[some]]
        z *= factor[some, None]
        scatter += z.T @ z
    return scatter, weight, mean


def _plus(
    one: tuple[Vector, float, Vector], other: tuple[Vector, float, Vector]
) -> tuple[Vector, float, Vector]:
    weight = one[1] + other[1]
    share = other[1] / weight
    return one[0] + other[0], weight, one[2] + share * (other[2] - one[2])
