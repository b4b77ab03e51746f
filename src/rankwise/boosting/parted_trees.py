"""Boosted trees whose rows lie in parts: as `rankwise.boosting.trees`, but for rounding.

A round asks all parts for the gradients, then once for each split: rows are split where they lie,
and the histogram of the smaller side comes back, d histograms of 256 pairs of whole numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.boosting._loops.bins import WIDTH, Dense
from rankwise.boosting._loops.parted import choose_splits
from rankwise.boosting._loops.trees import LOW_BITS, Rule
from rankwise.boosting.gradients import find_scale
from rankwise.boosting.parted import Ask, Floats, Ints
from rankwise.boosting.parted_stumps import Weights
from rankwise.boosting.trees import Leaf, Limits, Span, Trees, leaf_of

# Returns the sum of the sizes of the gradients, that of the Hessians, and the loss.
Sizes = Callable[[], tuple[float, float, float]]


class ExponentialSlopes:
    """Gradients of the exponential loss in parts, from sums over groups.

    Parameters
    ----------
    weights : Weights
    query : ndarray of shape (n_groups,)
        The query of each group.
    """

    def __init__(self, weights: Weights, query: Ints) -> None:
        self.weights, self.query = weights, query
        self.first_log: float | None = None

    def __call__(self) -> tuple[float, float, float]:
        """Compute the gradients at the scores; return their sums, and the loss."""
        weights = self.weights
        weights.compute()
        share = weights.ask("slopes", weights.shares(), self.query)["share"]
        log_total = weights.log_total
        if self.first_log is None:
            self.first_log = log_total
        with np.errstate(divide="ignore", over="ignore"):
            size = np.exp(np.log(share) + log_total)
            loss = float(np.exp(log_total - self.first_log))
        sums = weights.ask("scale", find_scale(size, share))
        return float(sums["size"]), float(sums["bend"]), loss


class PartedPairSlopes:
    """Gradients pair by pair of queries that each lie in one part.

    Parameters
    ----------
    ask : callable
        As in `Weights`.
    y, query : ndarrays of shape (n_groups,)
        Target and query of each group.
    loss : {"exponential", "logistic"}
    pair_weight : {"uniform", "magnitude", "ndcg"}
    """

    def __init__(self, ask: Ask, y: Floats, query: Ints, loss: str, pair_weight: str) -> None:
        if pair_weight == "magnitude":
            y = y / max(np.abs(y).max(), 1.0)  # the unit of the gaps is that of all parts
        self.ask, self.question = ask, (y, query, loss, pair_weight)

    def __call__(self) -> tuple[float, float, float]:
        """Compute the gradients at the scores; return their sums, and the mean slope."""
        sums = self.ask("pair_slopes", *self.question)
        return float(sums["size"]), float(sums["bend"]), float(sums["slope"] / sums["weight"])


class PartedTrees(Trees):
    """Rounds of boosting that add a tree each, whose rows lie in parts.

    Parameters
    ----------
    ask : callable
        As in `Weights`.
    slopes : callable
        Computes the gradients.
    bins : Dense
        The number of bins of each feature, of no rows.
    limits : Limits
    n_rows : int
        The number of rows in all parts.
    n_copies : int
        The number of rows that they stand for.
    """

    def __init__(
        self, ask: Ask, slopes: Sizes, bins: Dense, limits: Limits, n_rows: int, n_copies: int
    ) -> None:
        self.ask, self.slopes, self.bins, self.limits = ask, slopes, bins, limits
        self.m, self.n_rows = n_rows, n_copies
        if self.n_rows >= 1 << LOW_BITS:
            raise ValueError(f"trees are made for fewer than 2^{LOW_BITS} rows, not {self.n_rows}")
        d = len(bins.n_bins)
        self.found = np.empty((2, d, 3))
        self.shape = -(-d // WIDTH), WIDTH, int(bins.n_bins.max()) + 1, 2
        self.size, self.bend, self.loss = slopes()

    def _sizes(self) -> tuple[float, float]:
        return self.size, self.bend

    def _plant(self, rule: Rule) -> Leaf:
        answer = self.ask("plant", rule)
        return self._leaf((0, self.m, 0, answer["total"]), answer["hist"], rule)

    def _divide(self, k: int, leaf: Leaf, rule: Rule) -> tuple[Leaf, Leaf]:
        f, cut, side = leaf.feature, leaf.cut, leaf.missing_above
        cells = leaf.hist[f // WIDTH, f % WIDTH, :, 1] & ((1 << LOW_BITS) - 1)
        n_bins = int(self.bins.n_bins[f])
        n_above = cells[cut:n_bins].sum() + (cells[n_bins] if side else 0)
        takes_above = bool(2 * n_above <= cells[: n_bins + 1].sum())
        answer = self.ask("divide", k, f, cut, side, takes_above)
        below, total, taken = int(answer["below"]), answer["total"], answer["hist"]
        other = leaf.hist - taken
        hists = (other, taken) if takes_above else (taken, other)
        depth = leaf.depth + 1
        middle = leaf.start + below
        return (
            self._leaf((leaf.start, middle, depth, total), hists[0], rule),
            self._leaf((middle, leaf.stop, depth, leaf.total - total), hists[1], rule),
        )

    def _settle(self, leaves: list[Leaf], l2: float) -> Floats:  # noqa: ARG002
        sums = self.ask("sums")["sums"]
        curve = np.maximum(sums[:, 1] + l2, 1e-300)
        values: Floats = -self.limits.learning_rate * sums[:, 0] / curve
        self.ask("add", values)
        self.size, self.bend, self.loss = self.slopes()
        return values

    def _leaf(self, span: Span, hist: Any, rule: Rule) -> Leaf:
        """Return a leaf with its best split."""
        found = self.found[0]
        if self.limits.max_depth is not None and span[2] >= self.limits.max_depth:
            found[:, 0] = 0.0
        else:
            choose_splits(hist, self.bins.n_bins, self.bins.missing, span[3], rule, found)
        return leaf_of(span, hist, found)
