"""What is known of all pairs before any score: queries, order of the targets, total weights."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.dominance import comparable_weights, group_bounds
from rankwise._core._loops.grades import MOST, find_grades
from rankwise._core._loops.keys import counting_sort
from rankwise._core._loops.residuals import centred_residuals
from rankwise._core.arguments import check_word
from rankwise._core.pairs._order import Floats, Rows, sorted_rows
from rankwise._core.queries import encode_queries, group_rows

_SMALLEST = 1e-100


class Layout(NamedTuple):
    """Rows brought into an order, query by query.

    ``rows`` are their numbers in the input, ``starts`` where each query begins, ``y`` and ``a``
    the targets and weights.
    """

    rows: NDArray[Any]
    starts: NDArray[np.int64]
    y: Floats
    a: Floats


class Pairs:
    r"""All pairs of rows of a sample, prepared once for many evaluations of a loss.

    The pair (i, j) counts if both rows are in one query. Its weight is :math:`a_i a_j`, and with
    ``pair_weight="magnitude"`` that times :math:`y_j - y_i`. The latter is for one-sided losses,
    those over the pairs with :math:`y_j > y_i`.

    Parameters
    ----------
    y : ndarray of shape (m,)
        Finite targets.
    qid : array-like of shape (m,), default=None
        The query of each row; see `rankwise._core.queries.encode_queries`.
    sample_weight : ndarray of shape (m,), default=None
        Row weights, finite and not negative.
    pair_weight : {"uniform", "magnitude"}, default="uniform"
        Whether a pair also weighs by the difference of its targets.
    """

    def __init__(
        self,
        y: Floats,
        *,
        qid: Any = None,
        sample_weight: Floats | None = None,
        pair_weight: str = "uniform",
    ) -> None:
        check_word(pair_weight, "pair_weight", ("uniform", "magnitude"))
        if len(y) >= 2**30:
            raise ValueError(f"y has {len(y)} rows, more than the 2^30 that pairs are made for")
        self.y = np.asarray(y, dtype=np.float64)
        if self.y.ndim != 1:
            raise ValueError(f"y must be 1-D, one target a row, but its shape is {self.y.shape}")
        if sample_weight is not None and np.shape(sample_weight) != self.y.shape:
            raise ValueError(
                f"sample_weight has shape {np.shape(sample_weight)} for {len(y)} rows: give each "
                "row its weight"
            )
        self._weight = sample_weight
        top = 1.0 if sample_weight is None else float(sample_weight.max(initial=0.0))
        if sample_weight is not None and top > 0 and not _SMALLEST < top < 1 / _SMALLEST:
            self._weight = sample_weight / top  # products would be 0 or infinite
        self.magnitude = pair_weight == "magnitude"
        self.weighted = sample_weight is not None
        self.codes: NDArray[np.int64] | None = None
        self.n_queries = 1
        if qid is not None:
            self.codes, self.n_queries = encode_queries(qid, len(y))

    @cached_property
    def weight(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.y)) if self._weight is None else self._weight

    @cached_property
    def grouped(self) -> bool:
        """Whether the rows come query by query."""
        return self.codes is None or bool((self.codes[1:] >= self.codes[:-1]).all())

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each query begins when rows come query by query, and their number."""
        sizes = [len(self.y)] if self.codes is None else np.bincount(self.codes)
        return np.append(0, np.cumsum(sizes))

    @cached_property
    def by_query(self) -> Layout:
        """Rows query by query, otherwise as they come."""
        if self.codes is None or self.grouped:
            return Layout(np.arange(len(self.y)), self.starts, self.y, self.weight)
        rows, starts = group_rows(self.codes, self.n_queries)
        return Layout(rows, starts, self.y[rows], self.weight[rows])

    def group(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the rows in the order of `by_query`."""
        return values if self.grouped else values[self.by_query.rows]

    def residuals(self, s: Floats) -> Floats:
        """Return s - y less a constant of each query, so that their differences are exact."""
        return centred_residuals(s, self.y, np.empty(0, int) if self.codes is None else self.codes)

    @cached_property
    def by_target(self) -> Layout:
        """Rows query by query, in each sorted by target."""
        if self.codes is None and self.grades is not None:
            codes, levels = self.grades
            order, starts = counting_sort(codes, len(levels))
            rows, y = order.astype(np.int32), np.repeat(levels, np.diff(starts))
        else:
            rows, y = sorted_rows(self.group(self.y), self.starts)
        if not self.grouped:
            rows = self.by_query.rows[rows]
        a = self.weight[rows] if self.weighted else self.weight
        return Layout(rows, self.starts, y, a)

    @cached_property
    def targets(self) -> Floats:
        """The targets query by query, in each sorted."""
        known = "by_target" in self.__dict__
        return self.by_target.y if known or self.codes is not None else np.sort(self.y)

    @cached_property
    def ties(self) -> tuple[Rows, Rows]:
        """Where the run of equal targets of each row of `by_target` starts and ends."""
        layout = self.by_target
        first, last = np.empty(len(layout.y), np.int32), np.empty(len(layout.y), np.int32)
        group_bounds(layout.y, layout.starts, first, last)
        return first, last

    @cached_property
    def grades(self) -> tuple[NDArray[np.uint8], Floats] | None:
        """The code of each row's target, and the targets by code; None if they are many."""
        levels, codes = np.empty(MOST), np.empty(len(self.y), dtype=np.uint8)
        n = find_grades(self.y, levels, codes)
        return (codes, levels[:n]) if n else None

    @cached_property
    def two_sided_weight(self) -> float:
        """The weight of all ordered pairs, a row with itself included: sum of A_q squared."""
        if self.codes is None:
            return float(len(self.y) if self._weight is None else self._weight.sum()) ** 2
        return float(np.sum(np.bincount(self.codes, self._weight).astype(np.float64) ** 2))

    @cached_property
    def query_weights(self) -> Floats:
        """The weight of the pairs y_j > y_i of each query, 0 for one without such a pair."""
        out, none = np.empty(self.n_queries), np.empty(0)
        a = self.by_target.a if self.weighted else none
        comparable_weights(none, self.targets, a, self.starts, self.magnitude, out)
        return out

    @cached_property
    def one_sided_weight(self) -> float:
        """The weight of all pairs y_j > y_i."""
        if self.codes is None and self.grades is not None:
            codes, levels = self.grades
            if self._weight is not None:
                mass = np.bincount(codes, self._weight, len(levels)).astype(np.float64)
            else:  # quicker than to make each code eight bytes long, as bincount does
                mass = np.array([np.count_nonzero(codes == g) for g in range(len(levels))], float)
            lower = np.append(0.0, np.cumsum(mass)[:-1])
            if self.magnitude:
                # each step between two targets counts for the pairs on both sides of it
                higher = np.cumsum(mass[::-1])[::-1]
                return float(np.diff(levels) @ (lower[1:] * higher[1:]))
            return float(mass @ lower)
        return float(self.query_weights.sum())

    def check_comparable(self) -> None:
        """Refuse a sample in which no pair of rows has an order."""
        if not self.one_sided_weight > 0:
            inside = "" if self.codes is None else " inside a query"
            raise ValueError(
                f"y has no comparable pair: no two rows{inside} have different targets and "
                "positive weights, so there is no order to measure"
            )
