r"""Losses over the pairs of rows of a query: their weights, gradients and Hessians.

`PairWeights` has the weights of all pairs in the exponential loss, without forming the pairs. Rows
are sorted by query and target; a *group* is a run of rows with the same of both. The pair of a row
i of group g and a row j of a later group g' of the query weighs

.. math:: D_{ij} \propto w_{gg'}\, a_i e^{s_i}\, a_j e^{-s_j} ,

a product, so that sums over pairs follow from the sums of its *factors* over groups, which are kept
as logarithms: scores of any size do no harm. A push of p makes the worse factors
:math:`a e^{p s}`, and a query's sum of the better ones counts to the power of p. Then the total is
that of the p-norm push, and D its gradient; queries have at most two groups.

For trees a loss sets the gradients and Hessians of all blocks and returns the sum of the sizes of
the gradients, that of the Hessians, and its value. Those of pair losses are scaled query by query:
with S the sum of the sizes of a query's pair gradients, counted for both rows, its rows are
multiplied by :math:`\log_2(1 + S) / S`, so that a query counts by the logarithm of what is wrong
in it.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from rankwise._core.pairs import Pairs, sorted_rows
from rankwise._core.threads import Pool
from rankwise.boosting._loops.losses import (
    MAGNITUDE,
    NDCG,
    UNIFORM,
    Lists,
    fill_discounts,
    fill_gradients,
    fill_log_sums,
    sum_before,
)
from rankwise.boosting.histogram import Block, Blocks, Floats, Indices, State

# Rows of a query beyond which its scores go on a grid, the points of it, and the most grades.
LONG, POINTS, MOST_GRADES = 4096, 512, 32
# Sum of the sizes of the gradients, sum of the Hessians, and value of a loss.
Sums = tuple[float, float, float]


class Groups:
    """All groups of rows of equal query and target, sorted by both.

    Parameters
    ----------
    query : ndarray of shape (n_groups,)
        The query of each, rising from 0.
    y : ndarray of shape (n_groups,)
        Their targets.
    copies : ndarray of shape (n_groups,)
        How many rows each has, repetitions counted.

    Attributes
    ----------
    n_queries : int
    is_lowest, is_highest : ndarrays of shape (n_groups,)
        The worst and the best group of a query. The first is never the better one of a pair, the
        last never the worse.
    starts : ndarray of shape (n_queries + 1,)
        The groups of each query.
    heights : ndarray of shape (n_groups,)
        How far each target is above the lowest of its query.
    n_pairs : float
        The pairs of rows of a query with different targets.
    """

    def __init__(self, query: Indices, y: Floats, copies: Floats) -> None:
        self.query, self.y, self.copies = query, y, copies
        self.n_queries = int(query[-1]) + 1
        self.is_lowest = np.append(True, query[1:] != query[:-1])
        self.is_highest = np.append(self.is_lowest[1:], True)
        self.starts = np.append(np.flatnonzero(self.is_lowest), len(y))
        self.heights = y - y[self.starts[query]]
        before = np.cumsum(copies) - copies
        self.n_pairs = float((copies * (before - before[self.starts[query]])).sum())

    def kurtosis(self) -> float:
        """Return the kurtosis of the targets around the means of their queries, 0 if all are 0."""
        mass = np.bincount(self.query, self.copies)
        scaled = self.heights / self.unit()
        means = np.bincount(self.query, self.copies * scaled) / np.maximum(mass, 1.0)
        squares = (scaled - means[self.query]) ** 2
        total = float((self.copies * squares).sum())
        fourth = float((self.copies * squares**2).sum())
        return fourth / total * float(mass.sum()) / total if total > 0 else 0.0

    def unit(self) -> float:
        """Return the largest difference of two targets of a query."""
        return max(float(self.heights.max()), 1e-300)

    def keys(self, groups: Indices) -> tuple[Indices, Indices, Floats, Floats]:
        """Return what `Block.of` takes for the groups with these numbers."""
        return groups, self.query[groups], self.y[groups], self.heights[groups]

    def check_comparable(self) -> None:
        """Raise if no pair of rows has an order."""
        if self.is_lowest.all():
            Pairs(self.y, qid=self.query if self.n_queries > 1 else None).check_comparable()

    @classmethod
    def of_rows(
        cls, query: Indices, y: Floats, copies: Indices
    ) -> tuple["Groups", Indices, Indices]:
        """Return the groups of rows, the order that sorts the rows, and where groups begin.

        Queries are any integers; they are numbered again, in the same order.
        """
        order = np.lexsort((y, query)) if query.any() else np.argsort(y, kind="stable")
        query, y = query[order], y[order]
        query = np.append(0, np.cumsum(query[1:] != query[:-1]))
        first = np.flatnonzero(np.append(True, np.diff(query) + (y[1:] != y[:-1]) > 0))
        groups = cls(query[first], y[first], np.add.reduceat(copies[order].astype(float), first))
        return groups, order, np.append(first, len(y))


class PairWeights:
    """The weights D of all pairs of rows in the exponential loss, or in the p-norm push.

    Parameters
    ----------
    groups : Groups
    magnitude : bool, default=False
        Whether a pair also weighs by the difference of its targets.
    push : float, default=1.0
        The power of the p-norm push. Unless it is 1, a query has at most two targets.

    Attributes
    ----------
    logs : ndarray of shape (2, n_groups)
        The logarithms of the sums of the factors of each group, as worse rows and as better ones.
    log_total : float
        The logarithm of the total weight of the pairs.
    """

    def __init__(self, groups: Groups, *, magnitude: bool = False, push: float = 1.0) -> None:
        self.groups, self.magnitude, self.push = groups, magnitude, float(push)
        # Targets of at most 1 in size: differences can't overflow.
        scaled = groups.y / max(float(np.abs(groups.y).max()), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.log_steps = np.log(np.diff(scaled, prepend=scaled[:1]))

    def sum_lower(self, logs: Floats) -> Floats:
        """Return logarithms of the sums over the lower groups of the query of each, given logs.

        They have the shape (2, n_groups): plain, and times the differences of the targets.
        """
        out = np.empty((2, len(logs)))
        sum_before(logs, self.log_steps, self.groups.is_lowest, out)
        return out

    def sum_higher(self, logs: Floats) -> Floats:
        """Return the same over the higher groups, weighted as pairs are."""
        out, steps = np.empty((2, len(logs))), np.append(0.0, self.log_steps[:0:-1])
        opens = np.ascontiguousarray(self.groups.is_highest[::-1])
        sum_before(np.ascontiguousarray(logs[::-1]), steps, opens, out)
        return out[int(self.magnitude), ::-1]

    def update(self, logs: Floats) -> None:
        """Set the logarithms of the sums of the factors, and what follows from them."""
        self.logs, self.lower = logs, self.sum_lower(logs[0])
        terms = self.push * logs[1] + self.lower[int(self.magnitude)]
        self.log_total = log_sum(terms)
        self.weight = np.exp(terms - self.log_total)

    def compute(self, blocks: Blocks) -> None:
        """Compute all weights from the scores."""
        arguments = self.push, len(self.groups.y)
        self.update(blocks.run(log_sums, *arguments, merge=np.logaddexp)[0])

    def links(self) -> Floats:
        """Return how shares lead from group to group (4, n_groups), see `choose_slot_cuts`.

        ``rise`` is the share of a group in the worse rows up to it, ``ratio`` that of the groups
        below; ``blend`` is what the groups below make, as they are, of the sum of the worse rows
        times differences of targets, 1 if pairs don't weigh by these; ``weight`` is the share in D
        of the pairs whose better row is in the group.
        """
        (plain, gaps), worse = self.lower, self.logs[0]
        upto = np.logaddexp(plain, worse)
        blend = np.ones(len(worse))
        if self.magnitude:
            inner = ~self.groups.is_lowest
            blend[inner] = np.exp((self.log_steps + plain)[inner] - gaps[inner])
        return np.stack([np.exp(plain - upto), np.exp(worse - upto), blend, self.weight])

    def split(self, logs: Floats) -> tuple[float, float]:
        """Return the weight of the pairs that a base ranker orders rightly, and wrongly.

        ``logs`` (2, 2, n_groups) are those of the sums of the factors above and below its cut.
        """
        kind = int(self.magnitude)
        # a push counts the sum of a query's better rows to its power: the rest of it is as it is
        rest = (self.push - 1.0) * self.logs[1] - self.log_total
        return tuple(  # type: ignore[return-value]
            float(np.exp(log_sum(logs[1, side] + rest + self.sum_lower(logs[0, 1 - side])[kind])))
            for side in (0, 1)
        )

    def log_shares(self) -> Floats:
        """Return the logarithms (2, n_groups) of the shares in D that one unit of a factor has."""
        better = self.lower[int(self.magnitude)] + (self.push - 1.0) * self.logs[1]
        return np.stack([self.sum_higher(self.push * self.logs[1]), better]) - self.log_total


def log_sum(logs: Floats) -> float:
    """Return log(sum(e^logs))."""
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum())) if top > -np.inf else top


def log_sums(
    block: Block,
    state: State,
    pool: Pool,
    push: float,
    n_groups: int,
) -> tuple[State, tuple[Floats]]:
    """Return the logarithms (2, n_groups) of the sums of the factors of each group."""
    out = np.empty((2, len(block.groups)))
    fill_log_sums(state.scores, block.log_weight, block.starts, push, out)
    return state, (block.collect(out, n_groups, -np.inf),)


class Loss(Protocol):
    """Sets the gradients and Hessians of blocks; scores of blocks are in units of ``unit``."""

    unit: float

    def __call__(self, blocks: Blocks) -> Sums:
        """Set them at the scores; return their sums, and the value of the loss."""


class ExponentialLoss:
    """The exponential loss of all pairs, from sums over groups; O(m). Parameters: `PairWeights`."""

    unit = 1.0

    def __init__(self, groups: Groups, *, magnitude: bool = False) -> None:
        self.weights = PairWeights(groups, magnitude=magnitude)
        self.first_log: float | None = None

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `Loss`."""
        weights = self.weights
        weights.compute(blocks)
        if self.first_log is None:
            self.first_log = weights.log_total
        logs, starts = weights.log_shares(), weights.groups.starts
        share = np.add.reduceat(np.exp(logs + weights.logs).sum(axis=0), starts[:-1])
        # Shares are of all queries: log S is larger than their logarithm by that of the total.
        with np.errstate(divide="ignore", over="ignore"):
            size = np.exp(np.log(share) + weights.log_total)
            loss = float(np.exp(weights.log_total - self.first_log))
        scale = np.repeat(find_scale(size, share), np.diff(starts))
        return (*blocks.run(exponential_gradients, logs, scale), loss)


def exponential_gradients(
    block: Block,
    state: State,
    pool: Pool,
    logs: Floats,
    scale: Floats,
) -> tuple[State, tuple[float, float]]:
    """Set gradients from the logarithms of shares of a unit of factors, times a scale of groups."""
    signs = np.array([[1.0], [-1.0]])
    worse, better = np.exp(signs * state.scores + block.log_weight + block.spread(logs))
    factor = block.spread(scale)
    return set_gradients(state, factor * (worse - better), factor * (worse + better))


def set_gradients(state: State, g: Floats, h: Floats) -> tuple[State, tuple[float, float]]:
    """Return the state with gradients and Hessians, and their sums."""
    answer = float(np.abs(g).sum()), float(h.sum())
    return state._replace(gradients=g, hessians=h), answer


class MagnitudeLoss:
    r"""The magnitude-preserving loss, power 2, over all pairs of a query; O(m).

    With residuals :math:`r = s - y` and :math:`A_q` the weight of query q it is

    .. math:: \sum_q \frac{1}{2 A_q} \sum_{ij \in q} a_i a_j
              \bigl((s_j - s_i) - (y_j - y_i)\bigr)^2 = \sum_i a_i (r_i - \bar r_{q(i)})^2 ,

    whose gradient is :math:`a_i (r_i - \bar r_q)` and whose Hessian is :math:`a_i`, but for a
    factor of 2. Rows count alike here, and pairs in `rankwise.magnitude.MPRank`: that weighs a
    query by :math:`A_q` more, which is the same for lists of one length.

    Scores and targets are in units of the largest difference of two targets of a query, so that
    squares of targets of any size can be summed.

    Parameters
    ----------
    groups : Groups
    """

    def __init__(self, groups: Groups) -> None:
        self.n_queries, self.unit = groups.n_queries, groups.unit()
        self.first: float | None = None

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `Loss`."""
        sums, mass = blocks.run(residual_sums, self.n_queries, self.unit)
        means = sums / np.maximum(mass, 1e-300)
        size, bend, loss = blocks.run(magnitude_gradients, means, self.unit)
        if self.first is None:
            self.first = loss
        return size, bend, loss / self.first


def residual_sums(
    block: Block, state: State, pool: Pool, n_queries: int, unit: float
) -> tuple[State, tuple[Any, ...]]:
    """Return the weighted sum of the residuals of each query, and the weight of the query."""
    query = block.by_row(block.query)
    residuals = block.weight * (state.scores - block.by_row(block.heights / unit))
    sums = [np.bincount(query, values, n_queries) for values in (residuals, block.weight)]
    return state, tuple(sums)


def magnitude_gradients(
    block: Block, state: State, pool: Pool, means: Floats, unit: float
) -> tuple[State, tuple[float, float, float]]:
    """Set gradients from the mean residual of each query; return their sums, and the loss."""
    residuals = state.scores - block.by_row(block.heights / unit + means[block.query])
    g = block.weight * residuals
    state, (size, bend) = set_gradients(state, g, block.weight)
    return state, (size, bend, float((g * residuals).sum()))


class GivenPairs(NamedTuple):
    """Given pairs of rows, in any relation.

    - ``worse``, ``better`` (n_pairs,): the rows of each pair;
    - ``logs`` (n_pairs,): the logarithms of their weights.
    """

    worse: Indices
    better: Indices
    logs: Floats

    def weigh(self, s: Floats) -> tuple[Floats, float]:
        """Return the shares of the pairs in the exponential loss, and its logarithm."""
        terms = self.logs + s[self.worse] - s[self.better]
        total = log_sum(terms)
        return np.exp(terms - total), total

    def sum_rows(self, values: Floats, m: int) -> Floats:
        """Return sums (2, m) of values of the pairs over rows as the worse ones, and as better."""
        return np.stack([np.bincount(self.worse, values, m), np.bincount(self.better, values, m)])


class GivenPairsLoss:
    """The exponential or the logistic loss of given pairs, of rows in one block."""

    unit = 1.0

    def __init__(self, pairs: GivenPairs, loss: str) -> None:
        self.pairs, self.logistic = pairs, loss == "logistic"
        self.first_log: float | None = None

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `Loss`."""
        size, bend, loss = blocks.run(self._set_gradients)
        return size, bend, loss

    def _set_gradients(self, block: Block, state: State, pool: Pool) -> Any:  # noqa: ARG002
        pairs, s = self.pairs, state.scores
        if self.logistic:
            with np.errstate(over="ignore"):
                wrong = 1.0 / (1.0 + np.exp(s[pairs.better] - s[pairs.worse]))
            weight = np.exp(pairs.logs)
            slopes = weight * wrong
            loss, bends, scale = slopes.sum() / weight.sum(), slopes * (1.0 - wrong), np.ones(1)
        else:
            slopes, log_total = pairs.weigh(s)
            if self.first_log is None:
                self.first_log = log_total
            with np.errstate(over="ignore"):
                loss, bends = np.exp(log_total - self.first_log), slopes
                scale = find_scale(2.0 * np.exp(np.array([log_total])), np.array([2.0]))
        worse, better = pairs.sum_rows(slopes, len(s))
        g, h = worse - better, pairs.sum_rows(bends, len(s)).sum(axis=0)
        state, sums = set_gradients(state, scale * g, scale * h)
        return state, (*sums, float(loss))


def find_scale(size: Floats, unit: Floats) -> Floats:
    """Return log2(1 + size) / unit of each query, 0 if there is none."""
    factor = np.log1p(np.minimum(size, 1e300)) / np.log(2) / np.where(unit > 0, unit, 1.0)
    return np.where(unit > 0, factor, 0.0)


def best_gains(gains: Floats, reached: Indices, starts: Indices, worth: Floats) -> Floats:
    """Return the largest discounted gain of each query, nan if all its gains are alike.

    ``gains`` (m,) rise in a query, and row i has ``reached[i + 1] - reached[i]`` places.
    """
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    total = np.append(0.0, np.cumsum(worth))
    last = reached[starts[1:]][query]
    parts = gains * (total[last - reached[:-1]] - total[last - reached[1:]])
    best = np.bincount(query, parts, minlength=len(starts) - 1)
    ends = np.minimum(starts, len(gains) - 1)
    alike = gains[ends[:-1]] == gains[np.maximum(starts[1:] - 1, 0)]
    return np.where(alike | (np.diff(starts) == 0), np.nan, best)


class ListLoss:
    """A loss that is summed pair by pair, of queries that each lie in one block.

    Parameters
    ----------
    largest : float
        The largest target, by its size.
    loss : {"exponential", "logistic"}
    pair_weight : {"uniform", "magnitude", "ndcg"}
    """

    unit = 1.0

    def __init__(self, largest: float, loss: str, pair_weight: str) -> None:
        self.options = largest, loss, pair_weight

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `Loss`. The value is the mean slope of the pairs."""
        size, bend, slope, weight = blocks.run(list_gradients, *self.options)
        return size, bend, float(slope / max(weight, 1e-300))


def list_gradients(
    block: Block, state: State, pool: Pool, largest: float, loss: str, pair_weight: str
) -> tuple[State, tuple[float, ...]]:
    """Set gradients pair by pair; return their sums, and those of slopes and weights of pairs."""
    if not len(state.scores):
        return state._replace(gradients=np.empty(0), hessians=np.empty(0)), (0.0,) * 4
    g, h, slope, weight = PairSlopes(block, largest, loss, pair_weight, pool)(state.scores)
    state, sums = set_gradients(state, g, h)
    return state, (*sums, slope, weight)


class PairSlopes:
    """Gradients pair by pair, O(n^2) for a query of n rows; past `LONG` rows on a grid of scores.

    There scores are spread linearly over `POINTS` points between the lowest and the highest, by
    grade, and the pairs of points are summed up. More than `MOST_GRADES` grades are merged, evenly
    by rows. `tests/boosting/test_trees.py` measures the error.

    Parameters
    ----------
    block : Block
        Rows of whole queries.
    largest, loss, pair_weight
        As for `ListLoss`.
    pool : Pool
        Threads that share the queries.
    """

    def __init__(
        self, block: Block, largest: float, loss: str, pair_weight: str, pool: Pool
    ) -> None:
        self.logistic, self.pool = loss == "logistic", pool
        self.kind = {"uniform": UNIFORM, "magnitude": MAGNITUDE, "ndcg": NDCG}[pair_weight]
        query, y, m = block.query, block.y, len(block.weight)
        first = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
        self.starts = starts = np.append(block.starts[first], m)
        ends = np.repeat(block.starts[1:], np.diff(block.starts))
        if self.kind == NDCG:
            gains = block.by_row(np.exp2(y) - 1.0)
        else:  # from the lowest of the query on, at most 2 in size
            scaled = y / max(largest, 1.0)
            gains = block.by_row(
                scaled - np.repeat(scaled[first], np.diff(np.append(first, len(y))))
            )
        counts = block.counts.astype(np.int64)
        reached = np.append(0, np.cumsum(counts))
        self.worth = 1.0 / np.log2(np.arange(2, int(np.diff(reached[starts]).max()) + 2))
        best = np.ones(len(starts) - 1)
        if self.kind == NDCG:
            best = best_gains(gains, reached, starts, self.worth)
        self.lists = Lists(
            starts=starts,
            higher=ends,
            a=block.weight,
            gains=gains,
            counts=counts,
            best=best,
            discounts=np.zeros(m),
            spreads=np.zeros(m),
        )

    def __call__(self, s: Floats) -> tuple[Floats, Floats, float, float]:
        """Return gradient, Hessian, and the sums of the slopes and weights of the pairs."""
        starts, lists = self.starts, self.lists
        if self.kind == NDCG:
            rows, ordered = sorted_rows(s, starts)
            fill_discounts(rows, ordered, starts, self.worth, lists)
        g, h = out = np.empty((2, len(s)))
        sums = np.zeros((len(starts) - 1, 2))
        sizes = np.diff(starts)
        long = sizes > LONG

        def fill(first: int, last: int) -> None:
            for q in (np.flatnonzero(long[first:last]) + first).tolist():
                self._fill_long(q, s, (g, h), sums)
            edges = np.flatnonzero(np.diff(np.append(True, np.append(long[first:last], True))))
            room = np.empty((3, min(int(sizes.max()), LONG)))
            for begin, end in edges.reshape(-1, 2) + first:
                fill_gradients(lists, begin, end, s, self.kind, self.logistic, out, sums, room)

        self.pool.run_ranges(fill, len(sums), work=float(np.sum(sizes.astype(np.float64) ** 2)))
        scale = np.repeat(find_scale(2.0 * sums[:, 0], 2.0 * sums[:, 0]), sizes)
        return scale * g, scale * h, float(sums[:, 0].sum()), float(sums[:, 1].sum())

    def _fill_long(self, q: int, scores: Floats, out: tuple[Floats, Floats], sums: Floats) -> None:
        """Fill the gradient of a long query from a grid of its scores."""
        lists, rows, (g, h) = self.lists, slice(*self.starts[q : q + 2]), out
        s, a, gains = scores[rows], lists.a[rows], lists.gains[rows]
        n = len(s)
        grade = np.cumsum(np.append(0, np.diff(lists.higher[rows]) > 0))
        if grade[-1] >= MOST_GRADES:
            # the grade of a row is that of its first equal, so equals stay together
            first = np.searchsorted(grade, grade)
            grade = np.unique(first * MOST_GRADES // n, return_inverse=True)[1]
        k = int(grade[-1]) + 1
        width = max((s.max() - s.min()) / (POINTS - 1), 1e-300)
        place = np.minimum((s - s.min()) / width, POINTS - 1.0)
        cell = np.minimum(place.astype(np.int64), POINTS - 2)
        part = place - cell
        low = grade * POINTS + cell

        def spread(values: Floats) -> Floats:
            grid = np.zeros(k * POINTS)
            grid += np.bincount(low, values * (1 - part), k * POINTS)
            grid += np.bincount(low + 1, values * part, k * POINTS)
            return grid.reshape(k, POINTS)

        mass = spread(a)
        ahead = width * (np.arange(POINTS)[None, :] - np.arange(POINTS)[:, None])
        with np.errstate(over="ignore"):
            wrong = 1.0 / (1.0 + np.exp(ahead)) if self.logistic else np.exp(-ahead)
        bent = wrong * (1.0 - wrong) if self.logistic else wrong
        if self.kind == NDCG:
            there = np.maximum(mass.sum(axis=0), 1e-300)
            discount = spread(a * lists.discounts[rows]).sum(axis=0) / there
            far = np.abs(discount[:, None] - discount[None, :]) / lists.best[q]
            np.fill_diagonal(
                far, spread(a * lists.spreads[rows]).sum(axis=0) / there / lists.best[q]
            )
            wrong, bent = wrong * far, bent * far
        better = np.triu(np.ones((k, k)), 1)
        if self.kind != UNIFORM:
            worth = np.bincount(grade, gains) / np.bincount(grade)
            better *= worth[None, :] - worth[:, None]
        down, up = better @ (mass @ wrong.T), better.T @ (mass @ wrong)
        curve = better @ (mass @ bent.T) + better.T @ (mass @ bent)

        def read(grid: Floats) -> Floats:
            flat = grid.ravel()
            return a * (flat[low] * (1 - part) + flat[low + 1] * part)

        falls = read(down)
        g[rows], h[rows] = falls - read(up), read(curve)
        weights = np.full_like(wrong, 1.0) if self.kind != NDCG else far
        sums[q] = falls.sum(), np.sum(mass * (better @ (mass @ weights.T)))
