r"""Boosted trees on a loss over pairs: second-order steps.

A round computes the gradient :math:`g_i` and the diagonal :math:`h_i` of the Hessian of each row,
grows a tree, best split first, by the gain

.. math:: \frac{G_l^2}{H_l + \lambda} + \frac{G_r^2}{H_r + \lambda} - \frac{G^2}{H + \lambda},

and adds :math:`-\nu G / (H + \lambda)` to the scores of each leaf. :math:`\lambda` is ``l2`` times
the mean of :math:`h_i` over the rows. A tree of L leaves costs O(m d log L) at best and O(m d L) at
worst, for of two children only the smaller one is summed up: the larger one is the parent less it.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.boosting._loops.histogram import HISTOGRAM, SPLIT_TIE, Bins, find_splits
from rankwise.boosting.histogram import (
    Blocks,
    Floats,
    Indices,
    add_leaf_values,
    init_root,
    split_leaf,
    sum_leaves,
)
from rankwise.boosting.losses import Loss


class Tree(NamedTuple):
    """What a round adds to the score: a tree of n nodes and n + 1 leaves.

    - ``features``, ``cuts``, ``missing_above`` (n,): a row is above node k if its bin of the
      feature is ``cuts[k]`` or more, or if it is missing and ``missing_above[k]``;
    - ``gains`` (n,): how much a node lowers the objective;
    - ``children`` (n, 2): the next node below and above, or ~leaf; node 0 is the first;
    - ``values``, ``counts`` (n + 1,): what each leaf adds, and the rows that it has;
    - ``loss``: the training loss after it.
    """

    features: Indices
    cuts: Indices
    missing_above: NDArray[np.bool_]
    gains: Floats
    children: Indices
    values: Floats
    counts: Floats
    loss: float


class Limits(NamedTuple):
    """How large trees may be, and how far they go; see `rankwise.boosting.RankBoost`."""

    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    l2: float
    learning_rate: float


@dataclass
class TreeNode:
    """A leaf that may yet be split.

    Attributes
    ----------
    leaf : int
        Its number among the leaves.
    depth : int
    parent : tuple of int
        The node above it, -1 for none, and its side: 0 below, 1 above.
    histogram : ndarray of shape (d, stride)
    total : ndarray of shape (3,)
        Sums of gradients, of Hessians and of rows.
    gain, cut
        Of its best split; the cut is the feature, the first bin above, and the side of the missing.
    """

    leaf: int
    depth: int
    parent: tuple[int, int]
    histogram: NDArray[Any]
    total: Floats
    gain: float = 0.0
    cut: tuple[int, int, int] = (0, 0, 0)

    def __lt__(self, other: "TreeNode") -> bool:
        return self.gain > other.gain  # the best split is first in the heap


class TreeGrower:
    """Grows one tree on the gradients of the blocks.

    Parameters
    ----------
    blocks : Blocks
    bins : Bins
        The number of bins of each feature.
    limits : Limits
    l2 : float
        What is added to the sum of the Hessians of a leaf.
    """

    def __init__(self, blocks: Blocks, bins: Bins, limits: Limits, l2: float) -> None:
        self.blocks, self.bins, self.limits, self.l2 = blocks, bins, limits, l2
        self.best = np.empty((len(bins.n_bins), 3))
        self.nodes: list[tuple[int, int, bool, float]] = []
        self.children: list[list[int]] = []
        self.heap: list[TreeNode] = []
        (histogram,) = blocks.run(init_root)
        self.leaves = [TreeNode(0, 0, (-1, 0), histogram, _total(histogram[0]))]
        self._find_split(self.leaves[0])

    def grow(self) -> None:
        """Split leaves, the best split first, until none is left or the tree is large enough."""
        while self.heap and len(self.leaves) < self.limits.max_leaf_nodes:
            self.split_next()

    def split_next(self) -> None:
        """Split the leaf with the largest gain."""
        node = heappop(self.heap)
        feature, cut, missing_above = node.cut
        column, n_bins = node.histogram[feature], int(self.bins.n_bins[feature])
        above = _total(column[cut : n_bins + missing_above])
        below = node.total - above
        takes_above = bool(above[2] <= below[2])
        (smaller,) = self.blocks.run(split_leaf, node.leaf, node.cut, takes_above)
        larger = (node.histogram.view(np.float64) - smaller.view(np.float64)).view(HISTOGRAM)
        number, parent = len(self.nodes), node.parent
        if parent[0] >= 0:
            self.children[parent[0]][parent[1]] = number
        self.children.append([~node.leaf, ~len(self.leaves)])
        missing = missing_above if self.bins.missing[feature] else above[2] > below[2]
        self.nodes.append((feature, cut, bool(missing), node.gain))
        low, high = (larger, smaller) if takes_above else (smaller, larger)
        depth = node.depth + 1
        low_node = TreeNode(node.leaf, depth, (number, 0), low, below)
        high_node = TreeNode(len(self.leaves), depth, (number, 1), high, above)
        self.leaves[node.leaf] = low_node
        self.leaves.append(high_node)
        for child in (low_node, high_node):
            self._find_split(child)

    def _find_split(self, node: TreeNode) -> None:
        """Find the best split of a leaf, and push the leaf on the heap if there is one."""
        limits, bins, best = self.limits, self.bins, self.best
        deep = limits.max_depth is not None and node.depth >= limits.max_depth
        full = len(self.leaves) == limits.max_leaf_nodes
        if deep or full or node.total[2] < 2 * limits.min_samples_leaf:
            return
        hist, l2, min_rows = node.histogram, self.l2 + 1e-300, limits.min_samples_leaf

        def find(first: int, last: int) -> None:
            find_splits(
                hist, first, last, bins.n_bins, bins.missing, node.total, l2, min_rows, best
            )

        self.blocks.pool.run_ranges(find, len(best), work=hist.size)
        # the first feature that is as good as the best
        feature = int(np.argmax(best[:, 0] >= (1 - SPLIT_TIE) * best[:, 0].max()))
        node.gain, cut, missing_above = best[feature].tolist()
        node.cut = feature, int(cut), int(missing_above)
        if node.gain > 0:
            heappush(self.heap, node)

    def values(self) -> Floats:
        """Return what each leaf adds to the scores."""
        (sums,) = self.blocks.run(sum_leaves)
        curve = np.maximum(sums[:, 1] + self.l2, 1e-300)
        return np.asarray(-self.limits.learning_rate * sums[:, 0] / curve)


def _total(bins: NDArray[Any]) -> Floats:
    """Return the sums of some bins of a histogram."""
    sums: Floats = bins.view(np.float64).reshape(-1, 3).sum(axis=0)
    return sums


class TreeRounds:
    """Rounds of boosting that add a tree each.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    loss : Loss
        Sets their gradients.
    bins : Bins
        The number of bins of each feature.
    limits : Limits
    n_rows : float
        The number of rows, repetitions counted.
    """

    def __init__(
        self, blocks: Blocks, loss: Loss, bins: Bins, limits: Limits, n_rows: float
    ) -> None:
        self.blocks, self.loss, self.bins, self.limits = blocks, loss, bins, limits
        self.n_rows, self.sums = n_rows, loss(blocks)

    def grow(self) -> Tree | None:
        """Take a round, and return its tree; None if nothing is gained."""
        size, bend, _ = self.sums
        if not (size > 0 and bend > 0):
            return None
        grower = TreeGrower(
            self.blocks, self.bins, self.limits, self.limits.l2 * bend / self.n_rows
        )
        grower.grow()
        if not grower.nodes:
            return None
        values = grower.values()
        self.blocks.run(add_leaf_values, values)
        self.sums = self.loss(self.blocks)
        features, cuts, missing_above, gains = zip(*grower.nodes, strict=True)
        return Tree(
            features=np.array(features),
            cuts=np.array(cuts),
            missing_above=np.array(missing_above),
            gains=np.array(gains),
            children=np.array(grower.children),
            values=self.loss.unit * values,
            counts=np.array([leaf.total[2] for leaf in grower.leaves]),
            loss=self.sums[2],
        )
