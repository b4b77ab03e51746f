r"""Gradients of a pair loss for trees: exponential sums, pairs of each query, or a grid of scores.

All are scaled query by query: with S the sum of the sizes of a query's pair gradients, counted for
both rows, its rows are multiplied by :math:`\log_2(1 + S) / S`, so that a query counts by the
logarithm of what is wrong in it.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.pairs import sorted_rows
from rankwise._core.threads import Pool
from rankwise.boosting._loops.given_pairs import fill_logistic_pairs
from rankwise.boosting._loops.gradients import (
    MAGNITUDE,
    NDCG,
    UNIFORM,
    Lists,
    fill_discounts,
    fill_gradients,
)
from rankwise.boosting.pair_weights import AllPairs, Floats, GivenPairs, Indices
from rankwise.boosting.trees import Gradient

# Rows of a query beyond which its scores go on a grid, the points of it, and the most grades.
LONG, POINTS, MOST_GRADES = 4096, 512, 32


def gradient_of(
    relation: AllPairs | GivenPairs,
    loss: str,
    pair_weight: str,
    pool: Pool,
    counts: Indices | None = None,
) -> Gradient:
    """Return what computes gradient, Hessian and loss at the scores of the relation.

    ``counts`` (m,) says how many rows each row stands for, one by default.
    """
    if isinstance(relation, GivenPairs):
        if loss == "logistic":
            return partial(_given_logistic, relation)
        return partial(_exponential, relation, relation.log_total)
    if loss == "exponential" and pair_weight != "ndcg":
        return partial(_exponential, relation, relation.log_total)
    return PairSlopes(relation, loss == "logistic", pair_weight, pool, counts)


def _exponential(relation: AllPairs | GivenPairs, first_log: float) -> tuple[Floats, Floats, float]:
    """Sums over all pairs from factors of the rows, O(m)."""
    relation.compute_weights()
    up, down = relation.shares()
    g, h = down - up, down + up
    share = np.add.reduceat(h, relation.starts[:-1])
    # Shares are of all queries: log S is larger than their logarithm by that of the total.
    with np.errstate(divide="ignore", over="ignore"):
        size = np.exp(np.log(share) + relation.log_total)
        loss = float(np.exp(relation.log_total - first_log))
    _scale(g, h, relation.starts, size, share)
    return g, h, loss


def _given_logistic(relation: GivenPairs) -> tuple[Floats, Floats, float]:
    g, h = np.empty((2, len(relation.s)))
    loss = fill_logistic_pairs(relation.s, relation.pairs, g, h)
    return g, h, float(loss)


def find_scale(size: Floats, unit: Floats) -> Floats:
    """Return log2(1 + size) / unit of each query, 0 if there is none."""
    factor = np.log1p(np.minimum(size, 1e300)) / np.log(2) / np.where(unit > 0, unit, 1.0)
    return np.where(unit > 0, factor, 0.0)


def _scale(g: Floats, h: Floats, starts: NDArray[Any], size: Floats, unit: Floats) -> None:
    """Multiply the rows of each query by log2(1 + size) / unit, 0 if there is none."""
    rows = np.repeat(find_scale(size, unit), np.diff(starts))
    g *= rows
    h *= rows


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


class PairSlopes:
    """Gradients pair by pair, O(n^2) for a query of n rows; past `LONG` rows on a grid of scores.

    There scores are spread linearly over `POINTS` points between the lowest and the highest, by
    grade, and the pairs of points are summed up. More than `MOST_GRADES` grades are merged, evenly
    by rows. `tests/boosting/test_trees.py` measures the error.

    Parameters
    ----------
    relation : AllPairs
        The pairs and their scores.
    logistic : bool
        Whether the loss is logistic, or else exponential.
    pair_weight : {"uniform", "magnitude", "ndcg"}
    pool : Pool
        Threads that share the queries.
    counts : ndarray of shape (m,), default=None
        How many places each row has in its list; one by default.
    """

    def __init__(
        self,
        relation: AllPairs,
        logistic: bool,
        pair_weight: str,
        pool: Pool,
        counts: Indices | None = None,
    ) -> None:
        self.relation, self.logistic, self.pool = relation, logistic, pool
        self.kind = {"uniform": UNIFORM, "magnitude": MAGNITUDE, "ndcg": NDCG}[pair_weight]
        groups, starts, m = relation.groups, relation.starts, len(relation.s)
        sizes = np.diff(groups.starts)
        gains = np.repeat(relation.y if self.kind == NDCG else groups.y, sizes)
        if self.kind == NDCG:
            gains = np.exp2(gains) - 1.0
        counts = np.ones(m, dtype=np.int64) if counts is None else counts
        reached = np.append(0, np.cumsum(counts))
        longest = int(np.diff(reached[starts]).max())
        self.worth = 1.0 / np.log2(np.arange(2, longest + 2))
        best = np.ones(len(starts) - 1)
        if self.kind == NDCG:
            best = best_gains(gains, reached, starts, self.worth)
        self.lists = Lists(
            starts=starts,
            higher=np.repeat(groups.starts[1:], sizes),
            a=groups.a,
            gains=gains,
            counts=counts,
            best=best,
            discounts=np.zeros(m),
            spreads=np.zeros(m),
        )
        self.n_pairs = float(np.sum(np.diff(starts).astype(np.float64) ** 2))

    def __call__(self) -> tuple[Floats, Floats, float]:
        """Return gradient, Hessian and the mean slope of the pairs."""
        g, h, slope, weight = self.sums()
        return g, h, slope / weight

    def sums(self) -> tuple[Floats, Floats, float, float]:
        """Return gradient, Hessian, and the sums of the slopes and weights of the pairs."""
        s, starts, lists = self.relation.s, self.relation.starts, self.lists
        if self.kind == NDCG:
            rows, ordered = sorted_rows(s, starts)
            fill_discounts(rows, ordered, starts, self.worth, lists)
        g, h = out = np.empty((2, len(s)))
        sums = np.zeros((len(starts) - 1, 2))
        long = np.diff(starts) > LONG

        def fill(first: int, last: int) -> None:
            for q in (np.flatnonzero(long[first:last]) + first).tolist():
                self._fill_long(q, g, h, sums)
            edges = np.flatnonzero(np.diff(np.append(True, np.append(long[first:last], True))))
            room = np.empty((3, min(int(np.diff(starts).max()), LONG)))
            for begin, end in edges.reshape(-1, 2) + first:
                fill_gradients(lists, begin, end, s, self.kind, self.logistic, out, sums, room)

        self.pool.run_ranges(fill, len(sums), work=self.n_pairs)
        _scale(g, h, starts, 2.0 * sums[:, 0], 2.0 * sums[:, 0])
        return g, h, float(sums[:, 0].sum()), float(sums[:, 1].sum())

    def _fill_long(self, q: int, g: Floats, h: Floats, sums: Floats) -> None:
        """Fill the gradient of a long query from a grid of its scores."""
        lists, rows = self.lists, slice(*self.relation.starts[q : q + 2])
        s, a, gains = self.relation.s[rows], lists.a[rows], lists.gains[rows]
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
