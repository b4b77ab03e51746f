r"""Losses over the pairs of rows of a query, for trees: their gradients and Hessians.

A loss sets the gradients and Hessians of all blocks and returns the sum of the sizes of the
gradients, that of the Hessians, and its value. Those of pair losses are scaled query by query: with
S the sum of the sizes of a query's pair gradients, counted for both rows, its rows are multiplied
by :math:`\log_2(1 + S) / S`, so that a query counts by the logarithm of what is wrong in it.
"""

from typing import Any

import numpy as np

from rankwise._core.pairs import sorted_rows
from rankwise._core.threads import Pool
from rankwise.boosting._loops.losses import (
    MAGNITUDE,
    NDCG,
    UNIFORM,
    Lists,
    fill_discounts,
    fill_gradients,
)
from rankwise.boosting.binning import Block, Blocks, Floats, Groups, State
from rankwise.boosting.grower import Sums
from rankwise.boosting.stumps import GivenPairs, PairWeights

# Rows of a query beyond which its scores go on a grid, the points of it, and the most grades.
LONG, POINTS, MOST_GRADES = 4096, 512, 32
KINDS = {"uniform": UNIFORM, "magnitude": MAGNITUDE, "ndcg": NDCG}


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
        self.n_queries, self.unit = groups.n_queries, groups.unit
        self.first: float | None = None

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `rankwise.boosting.grower.Loss`."""
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
    query = np.repeat(block.query, block.sizes)
    residuals = block.weight * (state.scores - np.repeat(block.heights / unit, block.sizes))
    sums = [np.bincount(query, values, n_queries) for values in (residuals, block.weight)]
    return state, tuple(sums)


def magnitude_gradients(
    block: Block, state: State, pool: Pool, means: Floats, unit: float
) -> tuple[State, tuple[float, float, float]]:
    """Set gradients from the mean residual of each query; return their sums, and the loss."""
    goals = block.heights / unit + means[block.query]
    residuals = state.scores - np.repeat(goals, block.sizes)
    g = block.weight * residuals
    state, (size, bend) = set_gradients(state, g, block.weight)
    return state, (size, bend, float((g * residuals).sum()))


def set_gradients(state: State, g: Floats, h: Floats) -> tuple[State, tuple[float, float]]:
    """Return the state with gradients and Hessians, and their sums."""
    answer = float(np.abs(g).sum()), float(h.sum())
    return state._replace(gradients=g, hessians=h), answer


class ExponentialLoss:
    """The exponential loss of all pairs, from sums over groups; O(m). Parameters: `PairWeights`."""

    unit = 1.0

    def __init__(self, groups: Groups, *, magnitude: bool = False) -> None:
        self.weights = PairWeights(groups, magnitude=magnitude)
        self.first_log: float | None = None

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `rankwise.boosting.grower.Loss`."""
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
    block: Block, state: State, pool: Pool, logs: Floats, scale: Floats
) -> tuple[State, tuple[float, float]]:
    """Set gradients from the logarithms of shares of a unit of factors, times a scale of groups."""
    terms = np.array([[1.0], [-1.0]]) * state.scores + block.log_weight
    worse, better = np.exp(terms + np.repeat(logs[:, block.groups], block.sizes, axis=1))
    factor = np.repeat(scale[block.groups], block.sizes)
    return set_gradients(state, factor * (worse - better), factor * (worse + better))


def find_scale(size: Floats, unit: Floats) -> Floats:
    """Return log2(1 + size) / unit of each query, 0 if there is none."""
    factor = np.log1p(np.minimum(size, 1e300)) / np.log(2) / np.where(unit > 0, unit, 1.0)
    return np.where(unit > 0, factor, 0.0)


class GivenPairsLoss:
    """The exponential or the logistic loss of given pairs, of rows in one block."""

    unit = 1.0

    def __init__(self, pairs: GivenPairs, loss: str) -> None:
        self.pairs, self.logistic = pairs, loss == "logistic"
        self.first_log: float | None = None

    def __call__(self, blocks: Blocks) -> Sums:
        """Set gradients; see `rankwise.boosting.grower.Loss`."""
        pairs, s = self.pairs, blocks.states[0].scores
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
        h = scale * pairs.sum_rows(bends, len(s)).sum(axis=0)
        blocks.states[0], sums = set_gradients(blocks.states[0], scale * (worse - better), h)
        return (*sums, float(loss))


# ---------------------------------------------------------------------- pair by pair


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
        """Set gradients; see `rankwise.boosting.grower.Loss`. The value is the mean slope."""
        size, bend, slope, weight = blocks.run(list_gradients, *self.options)
        return size, bend, float(slope / max(weight, 1e-300))


def list_gradients(
    block: Block, state: State, pool: Pool, largest: float, loss: str, pair_weight: str
) -> tuple[State, tuple[float, ...]]:
    """Set gradients pair by pair; return their sums, and those of slopes and weights of pairs.

    O(n^2) for a query of n rows; past `LONG` rows on a grid of scores. The block has the rows of
    whole queries; threads share the queries.
    """
    kind, logistic, s, m = KINDS[pair_weight], loss == "logistic", state.scores, len(state.scores)
    if not m:
        return state._replace(gradients=np.empty(0), hessians=np.empty(0)), (0.0,) * 4
    lists = make_lists(block, kind, largest, s)
    sizes = np.diff(lists.starts)
    is_long, out, sums = sizes > LONG, np.zeros((2, m)), np.zeros((len(sizes), 2))

    def fill(first: int, last: int) -> None:
        for q in (np.flatnonzero(is_long[first:last]) + first).tolist():
            fill_long(lists, q, s, kind, logistic, out, sums)
        room = np.empty((3, min(int(sizes.max()), LONG)))
        fill_gradients(lists, s, kind, logistic, out, sums, room, first, last)

    pool.run_ranges(fill, len(sizes), work=float(np.sum(sizes.astype(np.float64) ** 2)))
    scale = np.repeat(find_scale(2.0 * sums[:, 0], 2.0 * sums[:, 0]), sizes)
    state, answer = set_gradients(state, *(scale * out))
    return state, (*answer, float(sums[:, 0].sum()), float(sums[:, 1].sum()))


def make_lists(block: Block, kind: int, largest: float, s: Floats) -> Lists:
    """Return the queries of a block as `fill_gradients` takes them, at scores s."""
    query, y, m = block.query, block.y, len(s)
    first = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    starts = np.append(block.starts[first], m)
    if kind == NDCG:
        gains = np.exp2(y) - 1.0
    else:  # from the lowest of the query on, at most 2 in size
        scaled = y / max(largest, 1.0)
        gains = scaled - np.repeat(scaled[first], np.diff(np.append(first, len(y))))
    lists = Lists(
        starts=starts,
        higher=np.repeat(block.starts[1:], block.sizes),
        a=block.weight,
        gains=np.repeat(gains, block.sizes),
        counts=block.counts.astype(np.int64),
        best=np.ones(len(first)),
        discounts=np.zeros(m),
        spreads=np.zeros(m),
    )
    if kind == NDCG:
        reached = np.append(0, np.cumsum(lists.counts))
        worth = 1.0 / np.log2(np.arange(2, int(np.diff(reached[starts]).max()) + 2))
        # the largest discounted gain: the last rows of a query have the first places
        total, last = (
            np.append(0.0, np.cumsum(worth)),
            np.repeat(reached[starts[1:]], np.diff(starts)),
        )
        parts = lists.gains * (total[last - reached[:-1]] - total[last - reached[1:]])
        alike = lists.gains[starts[:-1]] == lists.gains[starts[1:] - 1]
        lists = lists._replace(best=np.where(alike, np.nan, np.add.reduceat(parts, starts[:-1])))
        fill_discounts(*sorted_rows(s, starts), starts, worth, lists)
    return lists


def fill_long(
    lists: Lists, q: int, scores: Floats, kind: int, logistic: bool, out: Floats, sums: Floats
) -> None:
    """Fill the gradients ``out`` (2, m) of a long query from a grid of its scores.

    Scores are spread linearly over `POINTS` points between the lowest and the highest, by grade,
    and the pairs of points are summed up. More than `MOST_GRADES` grades are merged, evenly by
    rows. `tests/boosting/test_trees.py` measures the error.
    """
    rows, (g, h) = slice(*lists.starts[q : q + 2]), out
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
        wrong = 1.0 / (1.0 + np.exp(ahead)) if logistic else np.exp(-ahead)
    bent = wrong * (1.0 - wrong) if logistic else wrong
    if kind == NDCG:
        there = np.maximum(mass.sum(axis=0), 1e-300)
        discount = spread(a * lists.discounts[rows]).sum(axis=0) / there
        far = np.abs(discount[:, None] - discount[None, :]) / lists.best[q]
        np.fill_diagonal(far, spread(a * lists.spreads[rows]).sum(axis=0) / there / lists.best[q])
        wrong, bent = wrong * far, bent * far
    better = np.triu(np.ones((k, k)), 1)
    if kind != UNIFORM:
        worth = np.bincount(grade, gains) / np.bincount(grade)
        better *= worth[None, :] - worth[:, None]
    down, up = better @ (mass @ wrong.T), better.T @ (mass @ wrong)
    curve = better @ (mass @ bent.T) + better.T @ (mass @ bent)

    def read(grid: Floats) -> Floats:
        flat = grid.ravel()
        return a * (flat[low] * (1 - part) + flat[low + 1] * part)

    falls = read(down)
    g[rows], h[rows] = falls - read(up), read(curve)
    weights = np.full_like(wrong, 1.0) if kind != NDCG else far
    sums[q] = falls.sum(), np.sum(mass * (better @ (mass @ weights.T)))
