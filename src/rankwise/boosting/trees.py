r"""Boosted trees on pairs: second-order steps on a pair loss.

A round computes the gradient :math:`g_i` and the diagonal :math:`h_i` of the Hessian of each row,
grows a tree, best split first, by the gain

.. math:: \frac{G_l^2}{H_l + \lambda} + \frac{G_r^2}{H_r + \lambda} - \frac{G^2}{H + \lambda},

and adds :math:`-\nu G / (H + \lambda)` to the scores of each leaf. :math:`\lambda` is ``l2`` times
the mean of :math:`h_i` over the rows. A tree of L leaves costs O(m d log L) at best and O(m d L) at
worst, for of two children only the smaller one is summed up.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.boosting._loops import trees as loops
from rankwise.boosting._loops.bins import WIDTH, Dense
from rankwise.boosting._loops.trees import CURVED, LOW_BITS, TIE, WIDE, Node, Rule
from rankwise.boosting.pair_weights import Bins, Floats, Tree

# Rows of a node: where they start and stop, the depth, and what they sum up to.
Span = tuple[int, int, int, NDArray[np.int64]]
Gradient = Callable[[], tuple[Floats, Floats, float]]


class Limits(NamedTuple):
    """How large trees may be, and how far they go.

    ``max_leaf_nodes``, ``max_depth`` (None: any), ``min_samples_leaf``, ``l2`` and
    ``learning_rate`` are as in `rankwise.boosting.RankBoost`.
    """

    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    l2: float
    learning_rate: float


class Leaf(NamedTuple):
    """A leaf that may yet be split: its rows ``start`` to ``stop``, and its best split."""

    start: int
    stop: int
    depth: int
    total: NDArray[np.int64]
    hist: NDArray[np.int64]
    gain: float
    feature: int
    cut: int
    missing_above: int


class Trees:
    """Rounds of boosting that add a tree each.

    Parameters
    ----------
    s : ndarray of shape (m,)
        The scores, which are moved.
    gradient : callable
        Returns gradient and Hessian (m,) at the scores, and the loss.
    bins : Dense or Sparse
        The features.
    limits : Limits
    counts : ndarray of shape (m,)
        How many rows each row stands for.
    pool : Pool
        Threads that share the features.
    """

    def __init__(
        self,
        s: Floats,
        gradient: Gradient,
        bins: Bins,
        limits: Limits,
        counts: NDArray[np.int64],
        pool: Pool,
    ) -> None:
        self.m = m = len(s)
        d = len(bins.n_bins)
        self.s, self.gradient, self.bins, self.limits = s, gradient, bins, limits
        self.counts, self.n_rows, self.pool = counts, int(counts.sum()), pool
        if self.n_rows >= 1 << LOW_BITS:
            raise ValueError(f"trees are made for fewer than 2^{LOW_BITS} rows, not {self.n_rows}")
        self.dense = isinstance(bins, Dense)
        self.rows, self.room = np.empty((2, m), dtype=np.uint32)
        self.h, self.values = np.empty(m, dtype=np.uint8), np.empty((m, 2), dtype=np.int64)
        self.gathered = np.empty((m, 2), dtype=np.int64)
        self.found = np.empty((2, d, 3))
        self.shape = -(-d // WIDTH), WIDTH, int(bins.n_bins.max()) + 1, 2
        self.spare: list[NDArray[np.int64]] = []
        self.slope, self.curve, self.loss = gradient()

    def grow(self) -> Tree | None:
        """Take a round, and return its tree; None if nothing is gained."""
        size, bend = self._sizes()
        if not (size > 0 and bend > 0):
            return None
        m, limits = self.m, self.limits
        l2 = limits.l2 * bend / self.n_rows
        rule = Rule((WIDE - m) / size, (CURVED - m) / bend, l2, limits.min_samples_leaf)
        leaves = [self._plant(rule)]
        nodes: list[tuple[int, int, bool, float]] = []
        # where each leaf hangs: the node above it, and its side
        hangs, children = [(-1, 0)], list[list[int]]()
        while len(leaves) < limits.max_leaf_nodes:
            k = _first_best(np.array([leaf.gain for leaf in leaves]))
            leaf = leaves[k]
            if not leaf.gain > 0:
                break
            pair = self._divide(k, leaf, rule)
            below, n = pair[0].stop - pair[0].start, leaf.stop - leaf.start
            if hangs[k][0] >= 0:
                children[hangs[k][0]][hangs[k][1]] = len(nodes)
            above = leaf.missing_above if self.bins.missing[leaf.feature] else 2 * below < n
            children.append([~k, ~len(leaves)])
            hangs[k] = len(nodes), 0
            hangs.append((len(nodes), 1))
            nodes.append((leaf.feature, leaf.cut, bool(above), leaf.gain))
            leaves[k] = pair[0]
            leaves.append(pair[1])
        self.spare = [leaf.hist for leaf in leaves]
        if not nodes:
            return None
        values = self._settle(leaves, l2)
        features, cuts, missing_above, gains = zip(*nodes, strict=True)
        return Tree(
            np.array(features), np.array(cuts), np.array(missing_above), np.array(gains),
            np.array(children), values, self.loss,
        )  # fmt: skip

    def _sizes(self) -> tuple[float, float]:
        """Return the sum of the sizes of the gradients, and that of the Hessians."""
        return float(np.abs(self.slope).sum()), float(self.curve.sum())

    def _plant(self, rule: Rule) -> Leaf:
        """Return the first leaf of a tree, which has all rows."""
        loops.fill_values(self.slope, self.curve, self.counts, rule, self.values)
        self.rows[:] = np.arange(self.m)
        return self._search((0, self.m, 0, self.values.sum(axis=0)), None, rule)[0]

    def _divide(self, k: int, leaf: Leaf, rule: Rule) -> tuple[Leaf, Leaf]:  # noqa: ARG002
        """Split leaf k; return the one below the cut, and the one above, with their best splits."""
        rows = self.rows[leaf.start : leaf.stop]
        below, g, hn = loops.split_node(
            self.bins, leaf.feature, leaf.cut, leaf.missing_above, rows, self.values, self.h,
            self.room,
        )  # fmt: skip
        total, middle = np.array([g, hn]), leaf.start + below
        parts = [
            (leaf.start, middle, leaf.depth + 1, total),
            (middle, leaf.stop, leaf.depth + 1, leaf.total - total),
        ]
        smaller = int(2 * below > len(rows))
        small, large = self._search(parts[smaller], (parts[1 - smaller], leaf.hist), rule)
        return (large, small) if smaller else (small, large)

    def _settle(self, leaves: list[Leaf], l2: float) -> Floats:
        """Add to the scores what the leaves add; return it."""
        values, bounds = np.empty(len(leaves)), np.array([leaf[:2] for leaf in leaves])
        rate = self.limits.learning_rate
        loops.fill_leaves(self.rows, bounds, self.slope, self.curve, l2, rate, self.s, values)
        self.slope, self.curve, self.loss = self.gradient()
        return values

    def _search(
        self, small: Span, large: tuple[Span, NDArray[np.int64]] | None, rule: Rule
    ) -> list[Leaf]:
        """Return the leaves of one or two spans of rows with their best splits.

        The histogram of the second is that of both, of which the first is taken.
        """
        start, stop, depth, total = small
        rows = self.rows[start:stop]
        hist = self.spare.pop() if self.spare else np.empty(self.shape, dtype=np.int64)
        values = self.gathered[: stop - start] if self.dense else self.gathered
        loops.gather(rows, self.values, self.dense, values)
        node = Node(rows, values, total, hist)
        none = Node(rows[:0], values, total, hist)
        other = none
        if large is not None:
            (begin, end, _, rest), whole = large
            other = Node(self.rows[begin:end], values, rest, whole)
        found = self.found
        deepest = self.limits.max_depth is not None and depth >= self.limits.max_depth
        if deepest:
            found[:, :, 0] = 0.0
        else:

            def search(first: int, last: int) -> None:
                loops.search_children(self.bins, first, last, node, other, rule, found)

            cells = self.shape[0] * self.shape[1] * self.shape[2]
            entries = len(rows) * len(self.bins.n_bins) if self.dense else self.bins.codes.size
            self.pool.run_ranges(search, self.shape[0], work=entries + 2 * cells)
        leaves = [leaf_of(small, hist, found[0])]
        if large is not None:
            leaves.append(leaf_of(*large, found[1]))
        return leaves


def _first_best(gains: Floats) -> int:
    """Return the first that is as good as the best."""
    return int(np.argmax(gains >= (1 - TIE) * gains.max()))


def leaf_of(span: Span, hist: NDArray[np.int64], found: Floats) -> Leaf:
    """Return a leaf whose features have the best splits ``found`` (d, 3)."""
    feature = _first_best(found[:, 0])
    gain, cut, missing_above = found[feature].tolist()
    return Leaf(*span, hist, gain, feature, int(cut), int(missing_above))
