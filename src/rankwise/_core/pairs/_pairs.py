r"""Pairs of rows, explicit ones, and losses over them.

With residuals :math:`r = s - y`, a loss is the mean over the counted pairs of

===========================  ==========================================  ========================
`MagnitudeLoss`              :math:`|r_j - r_i|^n`                       all ordered pairs
`EpsilonInsensitiveLoss`     :math:`\max(0, |r_j - r_i| - \epsilon)^n`   all ordered pairs
`HingeLoss`                  :math:`\max(0, 1 - (s_j - s_i))^n`          :math:`y_j > y_i`
`MagnitudeHingeLoss`         :math:`\max(0, (y_j-y_i) - (s_j-s_i))^n`    :math:`y_j > y_i`
===========================  ==========================================  ========================

for n = 1, 2; a weighted mean if pairs have weights. All are convex in s. A value takes O(m log m)
time and O(m) memory, that of `MagnitudeLoss` with n = 2 O(m) time.
"""

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core._loops.dominance import comparable_weights
from rankwise._core._loops.grades import MOST, find_grades
from rankwise._core._loops.residuals import centred_residuals, squared_spread, window_sums
from rankwise._core.pairs._implicit import (
    Curve,
    DominanceCosts,
    Evaluation,
    PairCosts,
    ResidualCosts,
    WindowCosts,
    sorted_by,
)
from rankwise._core.pairs._order import Floats, Rows, equal_runs, sorted_rows
from rankwise._core.queries import encode_queries, group_rows

_NONE = np.empty(0)
# Rows with too many targets are found at a look at this number.
_SOME = 1000
_SMALLEST = 1e-100
LISTED = 100_000
"""Pairs that are listed at most: below it a list is quicker than a sweep, and exact."""


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
        if len(y) >= 2**30:
            raise ValueError(f"y has {len(y)} rows, more than the 2^30 that pairs are made for")
        self.y = np.asarray(y, dtype=np.float64)
        self._weight, self.weighted = sample_weight, sample_weight is not None
        if sample_weight is not None:
            top = float(sample_weight.max(initial=0.0))
            if top > 0 and not _SMALLEST < top < 1 / _SMALLEST:
                self._weight = sample_weight / top  # products would be 0 or infinite
        self.magnitude = pair_weight == "magnitude"
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
        """Start of each query when rows come query by query, and the number of rows."""
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
            order, starts = group_rows(codes, len(levels))
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
        """Start and end of the run of equal targets of each row of `by_target`."""
        runs = equal_runs(self.by_target.y, self.starts).astype(np.int32)
        return np.repeat(runs[:-1], np.diff(runs)), np.repeat(runs[1:], np.diff(runs))

    @cached_property
    def grades(self) -> tuple[NDArray[np.uint8], Floats] | None:
        """The code of each row's target, and the targets by code; None if they are many."""
        if len(np.unique(self.y[:_SOME])) > MOST:
            return None
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
        targets, starts = self.targets, self.starts
        if not self.weighted and not self.magnitude:
            # all pairs less those of equal targets
            runs = equal_runs(targets, starts)
            query = np.searchsorted(starts, runs[:-1], side="right") - 1
            alike = np.bincount(query, np.diff(runs) ** 2, self.n_queries)
            return 0.5 * (np.diff(starts).astype(np.float64) ** 2 - alike)
        out, a = np.empty(self.n_queries), self.by_target.a if self.weighted else _NONE
        comparable_weights(_NONE, targets, a, starts, self.magnitude, out)
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
        """Raise if no pair of rows has an order."""
        if not self.one_sided_weight > 0:
            inside = "" if self.codes is None else " inside a query"
            raise ValueError(
                f"y has no comparable pair: no two rows{inside} have different targets and "
                "positive weights, so there is no order to measure"
            )


def list_pairs(pairs: Pairs, *, one_sided: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows i and j of all pairs of one query: those with y_j > y_i, or all."""
    rows, starts, y, _ = pairs.by_query
    worse, better = [], []
    for start, stop in pairwise(starts.tolist()):
        mine, target = rows[start:stop], y[start:stop]
        if one_sided:
            i, j = np.nonzero(target[:, None] < target)
        else:
            i, j = np.divmod(np.arange((stop - start) ** 2), stop - start)
        worse.append(mine[i])
        better.append(mine[j])
    return np.concatenate(worse), np.concatenate(better)


class ListedCosts:
    r"""Pairs that are listed: the mean of :math:`\max(0, g - (s_j - s_i))^n`.

    Parameters
    ----------
    worse, better : ndarrays of shape (n_pairs,)
        The rows i and j of each pair.
    gap : ndarray of shape (n_pairs,) or float
        The difference g that costs nothing.
    weight : ndarray of shape (n_pairs,)
        The weight of each pair in the mean; they need not add to 1.
    m, power : int
        The number of rows, and n.
    """

    def __init__(
        self,
        worse: NDArray[np.int64],
        better: NDArray[np.int64],
        gap: Floats | float,
        weight: Floats,
        m: int,
        power: int,
    ) -> None:
        self.worse, self.better, self.gap, self.weight = worse, better, gap, weight
        self.m, self.power = m, power
        # The root of the mean square, of shares of the largest: squares might overflow.
        largest = float(np.abs(gap).max(initial=0.0)) or 1.0
        mean = float(np.sum(weight * np.square(gap / largest)) / np.sum(weight))
        self.scale = largest * float(np.sqrt(mean)) or 1.0

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        c = self.gap - (s[self.better] - s[self.worse])
        cost = np.maximum(c, 0.0)
        if self.power == 2:
            value, p, slack = float(self.weight @ (cost * cost)), 2 * cost, 0.0
        else:
            p = np.clip((c + h) / (2 * h), 0.0, 1.0)
            value, slack = float(self.weight @ cost), float(self.weight @ (cost - p * c))
        p = p * self.weight
        slopes: Floats = np.bincount(self.worse, p, self.m).astype(np.float64, copy=False)
        slopes -= np.bincount(self.better, p, self.m)
        return Evaluation(value, slopes, slack)

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        c = self.gap - (s[self.better] - s[self.worse])
        active = np.flatnonzero(c > 0 if self.power == 2 else np.abs(c) < h)
        weight = self.weight[active] * (2.0 if self.power == 2 else 0.5 / h)
        edges = self.worse[active], self.better[active]
        one_way = sparse.coo_array((weight, edges), shape=(self.m, self.m)).tocsr()
        graph = (one_way + one_way.T).tocsr()
        return _Graph(graph, np.asarray(graph.sum(axis=1)).ravel())


class _Graph(NamedTuple):
    """The Laplacian of a graph, by the weights of its edges and their sums at each row."""

    edges: Any
    diagonal: Floats

    def product(self, v: Floats) -> Floats:
        return self.diagonal * v - self.edges @ v

    def gram(self, X: Floats) -> Floats:
        return X.T @ (self.diagonal[:, None] * X - self.edges @ X)


class PairLoss:
    """A loss over pairs.

    A subclass sets ``pairs`` and ``power``, the power of the cost of a pair, and says what its
    pairs cost in two ways: ``listed``, as explicit pairs, and ``swept``, as implicit ones.
    """

    pairs: Pairs
    power: int

    def value(self, s: Floats) -> float:
        """Return the mean cost of the scores."""
        swept = self.swept()
        return swept.evaluate(s, swept.scale).cost

    def costs(self) -> PairCosts:
        """Return what a solver works with: pairs that are listed if they are few, else swept.

        A list is exact however narrow the kinks; swept sums lose digits where h is tiny.
        """
        sizes = np.diff(self.pairs.starts)
        return self.listed() if int(sizes @ sizes) <= LISTED else self.swept()

    def listed(self) -> PairCosts:
        """Return the costs of pairs that are listed."""
        raise NotImplementedError

    def swept(self) -> PairCosts:
        """Return the costs of pairs that are never formed."""
        raise NotImplementedError


class EpsilonInsensitiveLoss(PairLoss):
    r"""Mean of :math:`\max(0, |r_j - r_i| - \epsilon)^n` over all ordered pairs.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    epsilon : float
        What a difference may be off without a cost, not negative.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, epsilon: float, power: int = 1) -> None:
        if not 0 <= epsilon < np.inf:
            raise ValueError(f"epsilon={epsilon!r} must be a number from 0")
        self.pairs, self.epsilon, self.power = pairs, epsilon, power

    def value(self, s: Floats) -> float:
        pairs, a = self.pairs, _NONE
        r = pairs.residuals(s)
        if pairs.weighted or pairs.codes is not None:
            _, r, a = sorted_by(pairs, r)
        else:
            r.sort()
        sums = window_sums(r, a, pairs.starts, self.epsilon, self.power, _NONE)
        return sums[self.power - 1] * 2 / pairs.two_sided_weight

    def listed(self) -> PairCosts:
        y, a = self.pairs.y, self.pairs.weight
        i, j = list_pairs(self.pairs, one_sided=False)
        weight = a[i] * a[j] * (2 / self.pairs.two_sided_weight)
        return ListedCosts(i, j, y[j] - y[i] - self.epsilon, weight, len(y), self.power)

    def swept(self) -> PairCosts:
        return WindowCosts(self.pairs, -self.epsilon, self.power, 2.0 / self.pairs.two_sided_weight)


class MagnitudeLoss(EpsilonInsensitiveLoss):
    r"""Mean of :math:`|r_j - r_i|^n` over all ordered pairs.

    For n = 2 it is twice the variance of the residuals, query by query.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, power: int = 2) -> None:
        super().__init__(pairs, epsilon=0.0, power=power)

    def value(self, s: Floats) -> float:
        if self.power == 1:
            return super().value(s)
        pairs = self.pairs
        a = pairs.group(pairs.weight) if pairs.weighted else _NONE
        total = squared_spread(pairs.group(pairs.residuals(s)), a, pairs.starts)
        return float(total) * 2 / pairs.two_sided_weight


class HingeLoss(PairLoss):
    r"""Mean of :math:`\max(0, 1 - (s_j - s_i))^n` over the pairs with :math:`y_j > y_i`.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    residuals = False

    def __init__(self, pairs: Pairs, *, power: int = 1) -> None:
        self.pairs, self.power = pairs, power
        pairs.check_comparable()

    def listed(self) -> PairCosts:
        y, a = self.pairs.y, self.pairs.weight
        i, j = list_pairs(self.pairs, one_sided=True)
        weight = a[i] * a[j] / self.pairs.one_sided_weight
        if self.pairs.magnitude:
            weight *= y[j] - y[i]
        gap = y[j] - y[i] if self.residuals else 1.0
        return ListedCosts(i, j, gap, weight, len(y), self.power)

    def swept(self) -> PairCosts:
        weight = 1.0 / self.pairs.one_sided_weight
        if self.residuals:
            return ResidualCosts(self.pairs, 0.0, self.power, weight)
        return DominanceCosts(self.pairs, 1.0, self.power, weight, scale=1.0)


class MagnitudeHingeLoss(HingeLoss):
    r"""Mean of :math:`\max(0, (y_j - y_i) - (s_j - s_i))^n` over the pairs with :math:`y_j > y_i`.

    It is the hinge of margin 0 on the residuals.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    residuals = True
