r"""MPRank, RankSVM and SVRank of rows in partitions: no row moves, however queries are cut.

MPRank without queries: each partition gives its weight, mean and covariance, 8 (d + 1)^2 bytes,
which are merged in a tree. With queries the model needs

.. math:: S = \sum_q A_q \sum_{i \in q} a_i (z_i - m_q)(z_i - m_q)',

where a query has the weight :math:`A_q` and the mean :math:`m_q` of its rows z = (x, y). The rows
of a query may be in several partitions, in any order. With
:math:`m_{qp}` the mean of the rows of q in partition p, and :math:`a_{qp}` their weight, S is

.. math:: \sum_q A_q \Big(\sum_p \sum_{i \in q, p} a_i (z_i - m_{qp})(z_i - m_{qp})'
    + \sum_p a_{qp} (m_{qp} - m_q)(m_{qp} - m_q)'\Big).

So

1. each partition returns the names and weights of its queries, 16 bytes a query;
2. it gets the weights of its cut queries, and returns its share of the first term, summed in a
   tree, and the means of its cut queries, 8 (d + 1) bytes each, which give the second one.

RankSVM and SVRank have the solver of one machine, `rankwise._core.newton.minimise`, with its
certificate. It needs the scores of a direction, 8 bytes a row back, and gradients, 8 bytes a row
out and 8 a feature back, and sorts the scores itself. Targets, queries and weights come once.
"""

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.inputs import dense
from rankwise._core.kernels import Anchored, anchor_rows, shift_rows
from rankwise._core.queries import encode_queries, group_rows
from rankwise._core.ranker import check_rows_of_queries
from rankwise._core.support_vectors import SupportVectorRanker
from rankwise.distributed._partition import ROWS, Block, checked_ratings
from rankwise.distributed._partitions import Partitions
from rankwise.distributed.connection import logger
from rankwise.magnitude import MPRank
from rankwise.magnitude.statistics import Scatter, Statistics

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Anchor = Vector | None

# More names than these are not kept by MPRank, which then can't go on by partial_fit.
_NAMES = 1_000_000
# Bytes of memory that the driver needs for each row of RankSVM: targets, scores, slopes, sorting.
_ROW_BYTES = 100


def learn(estimator: MPRank | SupportVectorRanker, parts: Partitions) -> None:
    """Learn the model of all partitions.

    Raises
    ------
    ValueError
        If the kernel is not linear, or the solver not exact in the features.
    """
    estimator._validate_params()
    solver = getattr(estimator, "solver", "auto")
    if not estimator._is_linear() or solver not in ("auto", "primal"):
        raise ValueError(
            f"{type(estimator).__name__} with kernel={estimator.kernel!r} and solver={solver!r} "
            "can't be fitted in parts: use kernel='linear' and solver='auto', after a map of the "
            "rows such as sklearn.kernel_approximation.Nystroem in a Pipeline if they need a kernel"
        )
    if isinstance(estimator, MPRank):
        _learn_mprank(estimator, parts)
    else:
        _learn_support_vectors(estimator, parts)


# ---------------------------------------------------------------------- MPRank


def _learn_mprank(estimator: MPRank, parts: Partitions) -> None:
    if parts.has_queries:
        statistics = _statistics_of_queries(parts)
    else:
        statistics = parts.reduce(_statistics, Statistics.merged)
        check_rows_of_queries(parts.n_rows, 1)
    parts.set_features(estimator)
    estimator.__dict__.pop("_statistics", None)
    estimator._learned(statistics)
    if statistics.n_queries > _NAMES:
        estimator._statistics = None


def _statistics(block: Block) -> Statistics:
    """Return the statistics of a partition, all of it one query."""
    y = checked_ratings(block)
    return Statistics.of(block.X, y, block.weights(), np.zeros(len(y), dtype=np.int64))


def _statistics_of_queries(parts: Partitions) -> Statistics:
    found = parts.map(_queries)
    names = np.concatenate([each[0] for each in found])
    codes, n_queries = encode_queries(names, len(names))
    total = np.bincount(codes, np.concatenate([each[1] for each in found])).astype(np.float64)
    check_rows_of_queries(parts.n_rows, n_queries)
    cut = np.bincount(codes) > 1
    logger.info("%d of %d queries are cut over parts", int(cut.sum()), n_queries)
    codes_of = np.split(codes, np.cumsum([len(each[0]) for each in found])[:-1])
    inside = [np.flatnonzero(cut[each]) for each in codes_of]
    totals, unit = [total[each] for each in codes_of], float(total.max())
    scatter, weight, mean, means = parts.reduce(_scatter, _plus, unit, each=[inside, totals])
    local = [each[1][some] for each, some in zip(found, inside, strict=True)]
    where = [each[some] for each, some in zip(codes_of, inside, strict=True)]
    scatter += _between(np.concatenate(local), np.concatenate(where), np.vstack(means), total)
    squares = float(np.sum((total / unit) ** 2))
    closed = Scatter(unit * float(np.sqrt(squares)), scatter / squares)
    firsts = np.unique(codes, return_index=True)[1]
    listed = names[firsts].tolist() if n_queries <= _NAMES else range(n_queries)
    return Statistics.of_closed(listed, closed, weight, mean)


def _between(weights: Vector, codes: NDArray[np.int64], means: Matrix, total: Vector) -> Matrix:
    """Return the scatter of the local means of queries around the means of all their rows.

    It is in squares of the largest total; ``weights`` and ``codes`` are those of the local means.
    """
    cut, number = np.unique(codes, return_inverse=True)
    centres = np.zeros((len(cut), means.shape[1]))
    np.add.at(centres, number, (weights / total[codes])[:, None] * means)
    gaps = means - centres[number]
    gaps *= np.sqrt(weights / total.max() * (total[codes] / total.max()))[:, None]
    return gaps.T @ gaps


def _queries(block: Block) -> tuple[NDArray[Any], Vector]:
    """Return the queries of a partition, sorted, and their weights."""
    names, codes = np.unique(np.asarray(block.qid), return_inverse=True)
    return names, np.bincount(codes, block.weights(), len(names)).astype(np.float64)


def _scatter(
    block: Block, inside: NDArray[np.int64], totals: Vector, unit: float
) -> tuple[Matrix, float, Vector, list[Matrix]]:
    """Return the scatter of rows around the means of their queries in a partition.

    It is in squares of the unit; also weight and mean of the rows, and the means of some queries.
    """
    names, codes = np.unique(np.asarray(block.qid), return_inverse=True)
    y, a = checked_ratings(block), block.weights()
    local = np.bincount(codes, a, len(names)).astype(np.float64)
    order, starts = group_rows(codes.astype(np.int64), len(names))
    share = (a / local[codes])[order]
    average = sparse.csr_array((share, order, starts), shape=(len(names), len(y)))
    means = np.column_stack([dense(average @ block.doubles()), average @ y])
    weight = float(local.sum())
    factor = np.sqrt(a / unit) * np.sqrt(totals[codes] / unit)
    scatter = np.zeros((means.shape[1], means.shape[1]))
    for start in range(0, len(y), ROWS):
        some = slice(start, start + ROWS)
        z = np.column_stack([dense(block.X[some]), y[some]]).astype(np.float64)
        z -= means[codes[some]]
        z *= factor[some, None]
        scatter += z.T @ z
    return scatter, weight, (local / weight) @ means, [means[inside]]


def _plus(
    one: tuple[Matrix, float, Vector, list[Matrix]],
    other: tuple[Matrix, float, Vector, list[Matrix]],
) -> tuple[Matrix, float, Vector, list[Matrix]]:
    weight = one[1] + other[1]
    mean = one[2] + other[1] / weight * (other[2] - one[2])
    return one[0] + other[0], weight, mean, one[3] + other[3]


# ---------------------------------------------------------------------- RankSVM and SVRank


def _learn_support_vectors(estimator: SupportVectorRanker, parts: Partitions) -> None:
    parts.persist()
    found = parts.map(_targets)
    if parts.limit is not None and parts.n_rows * _ROW_BYTES > parts.limit:
        raise ValueError(
            f"{type(estimator).__name__} sorts the scores of all {parts.n_rows} rows, which takes "
            f"some {_ROW_BYTES} bytes of each: memory_limit must be at least "
            f"{parts.n_rows * _ROW_BYTES / 1e9:.3g} GB, or fit some of the rows"
        )
    y = np.concatenate([each[0] for each in found])
    codes, n_queries, weight = None, 1, None
    if "qid" in parts.types:
        qid = np.concatenate([each[1] for each in found])
        codes, n_queries = encode_queries(qid, len(y))
        logger.info("%d queries, brought together by the scores of their rows", n_queries)
        del qid
    if "sample_weight" in parts.types:
        weight = np.concatenate([each[2] for each in found])
        weight = weight / weight.max()
    del found
    costs = estimator._loss(y, codes, weight).costs()
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        some = parts.fetch(anchor_rows(len(y)))
        anchor = Anchored.of(estimator._kernel(), some).anchor
        rows, draw = PartRows(parts, anchor), partial(estimator._draw, y, codes, weight)
        solution = estimator._minimise(rows, costs, getattr(estimator, "coef_", None), draw)
        del costs
        coef = solution.w
        shift = 0.0 if anchor is None else estimator._keeps_scale * float(anchor @ coef)
        estimator._take_over(solution, {"coef_": coef, "_moved": shift})
        parts.set_features(estimator)
        if estimator._keeps_scale:
            missed = y - rows @ coef
            estimator._shift(float(np.average(missed, weights=weight)))
    estimator.n_queries_ = n_queries


def _targets(block: Block) -> tuple[Vector, Any, Any]:
    """Return targets, queries and weights of a partition."""
    return checked_ratings(block), block.qid, block.weight


class PartRows:
    """The rows of all partitions as a matrix: its products with vectors, and some of its rows.

    Parameters
    ----------
    parts : Partitions
        Where they are.
    anchor : ndarray of shape (d,) or None
        What is taken off each row.
    squared : bool, default=False
        Whether the entries are squared, for sums over rows.
    """

    __array_ufunc__ = None  # so that NumPy leaves v @ rows to this class

    def __init__(self, parts: Partitions, anchor: Anchor, *, squared: bool = False) -> None:
        self._parts, self._anchor, self._squared = parts, anchor, squared
        self.shape = parts.n_rows, parts.n_features

    def __matmul__(self, w: Vector) -> Vector:
        return np.concatenate(self._parts.map(_scores, w, self._anchor))

    def __rmatmul__(self, weights: Vector) -> Vector:
        each = [self._parts.split(weights)]
        return self._parts.reduce(
            _weighted_sum, operator.add, self._anchor, self._squared, each=each
        )

    def multiply(self, _: "PartRows") -> "PartRows":
        """Return the rows with squared entries."""
        return PartRows(self._parts, self._anchor, squared=True)

    def __getitem__(self, rows: Any) -> Any:
        chosen = np.arange(self.shape[0])[rows]
        return shift_rows(self._parts.fetch(chosen), self._anchor)


def _shifted(block: Block, anchor: Anchor, start: int) -> Any:
    """Return some rows in double precision, less the anchor."""
    rows = block.X[start : start + ROWS].astype(np.float64, copy=False)
    return shift_rows(rows, anchor)


def _scores(block: Block, w: Vector, anchor: Anchor) -> Vector:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        starts = range(0, block.X.shape[0], ROWS)
        return np.concatenate([_shifted(block, anchor, start) @ w for start in starts])


def _weighted_sum(block: Block, weights: Vector, anchor: Anchor, squared: bool) -> Vector:
    """Return the weighted sum of the rows of a partition, or of their squared entries."""
    total = np.zeros(block.X.shape[1])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, len(weights), ROWS):
            rows = _shifted(block, anchor, start)
            if squared:
                rows = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
            total += rows.T @ weights[start : start + ROWS]
    return total
