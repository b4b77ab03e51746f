"""RankSVM and SVRank over parts: the rows stay, scores and slopes travel.

The solver is that of one machine, `rankwise._core.newton.minimise`, with its certificate.
It asks for the scores of a direction, 8 bytes a row back, and for a gradient, 8 bytes a row out and
8 a feature back, and sorts the scores itself. Targets, queries and weights come once. Queries may
be cut over parts in any way.
"""

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.kernels import Anchored, anchor_rows, shift_rows
from rankwise._core.queries import encode_queries
from rankwise._core.support_vectors import SupportVectorRanker
from rankwise.distributed._block import Block
from rankwise.distributed._parts import Parts, logger
from rankwise.distributed._shared import checked_ratings, fetch, set_features

Vector = NDArray[np.float64]
Anchor = Vector | None

_ROWS = 8192
# What the driver holds of each row: targets, scores, slopes, and what sorts them.
_ROW_BYTES = 100


def learn(estimator: SupportVectorRanker, parts: Parts) -> None:
    """Learn from all pairs of the rows of all parts.

    Raises
    ------
    ValueError
        If the kernel is not linear.
    """
    estimator._validate_params()
    name = type(estimator).__name__
    if not estimator._is_linear():
        raise ValueError(
            f"{name}(kernel={estimator.kernel!r}) can't be fitted in parts: put a map of the rows "
            "such as sklearn.kernel_approximation.Nystroem before a linear one, in a Pipeline"
        )
    parts.persist()
    told = [each for each in parts.map(_targets) if each is not None]
    if parts.limit is not None and parts.n_rows * _ROW_BYTES > parts.limit:
        raise ValueError(
            f"{name} sorts the scores of all {parts.n_rows} rows, for which it holds some "
            f"{_ROW_BYTES} bytes of each: memory_limit must be at least "
            f"{parts.n_rows * _ROW_BYTES / 1e9:.3g} GB, or fit some of the rows"
        )
    y = np.concatenate([each[0] for each in told])
    codes, n_queries, weight = None, 1, None
    if "qid" in parts.kinds:
        qid = np.concatenate([each[1] for each in told])
        codes, n_queries = encode_queries(qid, len(y))
        logger.info("%d queries, brought together by the scores of their rows", n_queries)
        del qid
    if "sample_weight" in parts.kinds:
        weight = np.concatenate([each[2] for each in told])
        weight = weight / weight.max()
    del told
    costs = estimator._loss(y, codes, weight).costs()
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        some = fetch(parts, anchor_rows(len(y)))
        anchor = Anchored.of(estimator._kernel(), some).anchor
        rows, draw = PartRows(parts, anchor), partial(estimator._draw, y, codes, weight)
        solution = estimator._minimise(rows, costs, getattr(estimator, "coef_", None), draw)
        del costs
        coef = solution.w
        shift = 0.0
        if estimator._keeps_scale and anchor is not None:
            shift = float(anchor @ coef)
        estimator._take_over(solution, {"coef_": coef, "_moved": shift})
        set_features(estimator, parts)
        if estimator._keeps_scale:
            missed = y - rows @ coef
            estimator._shift(float(np.average(missed, weights=weight)))
    estimator.n_queries_ = n_queries


def _targets(block: Block) -> tuple[Vector, Any, Any] | None:
    """Return targets, queries and weights of a part."""
    if not block.X.shape[0]:
        return None
    return checked_ratings(block), block.qid, block.weight


class PartRows:
    """The rows of all parts as a matrix: its products with vectors, and some of its rows.

    Parameters
    ----------
    parts : Parts
        Where they are.
    anchor : ndarray of shape (d,) or None
        What is taken off each row.
    squared : bool, default=False
        Whether the entries are squared, for sums over rows.
    """

    __array_ufunc__ = None  # so that NumPy leaves v @ rows to this class

    def __init__(self, parts: Parts, anchor: Anchor, *, squared: bool = False) -> None:
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
        return shift_rows(fetch(self._parts, chosen), self._anchor)


def _shifted(block: Block, anchor: Anchor, start: int) -> Any:
    """Return some rows in double precision, less the anchor."""
    rows = block.X[start : start + _ROWS].astype(np.float64, copy=False)
    return shift_rows(rows, anchor)


def _scores(block: Block, w: Vector, anchor: Anchor) -> Vector:
    found = np.empty(block.X.shape[0])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, len(found), _ROWS):
            found[start : start + _ROWS] = _shifted(block, anchor, start) @ w
    return found


def _weighted_sum(block: Block, weights: Vector, anchor: Anchor, squared: bool) -> Vector | None:
    """Return the sum of the rows of a part, or of their squared entries, each times its weight."""
    if not len(weights):
        return None
    total = np.zeros(block.X.shape[1])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, len(weights), _ROWS):
            rows = _shifted(block, anchor, start)
            if squared:
                rows = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
            total += rows.T @ weights[start : start + _ROWS]
    return total
