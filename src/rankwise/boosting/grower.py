r"""Boosted trees on a loss over pairs: second-order steps.

A round computes the gradient :math:`g_i` and the diagonal :math:`h_i` of the Hessian of each row,
grows a tree, best split first, by the gain

.. math:: \frac{G_l^2}{H_l + \lambda} + \frac{G_r^2}{H_r + \lambda} - \frac{G^2}{H + \lambda},

and adds :math:`-\nu G / (H + \lambda)` to the scores of each leaf. :math:`\lambda` is ``l2`` times
the mean of :math:`h_i` over the rows. A tree of L leaves costs O(m d log L) at best and O(m d L) at
worst, for of two children only the smaller one is summed up: the larger one is the parent less it.
"""

from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.boosting._loops.histogram import (
    COUNT,
    SPLIT_TIE,
    Bins,
    fill_histograms,
    find_splits,
)
from rankwise.boosting.binning import Block, Blocks, Floats, Indices, State

# Sum of the sizes of the gradients, sum of the Hessians, and value of a loss.
Sums = tuple[float, float, float]


class Tree(NamedTuple):
    """A tree of n nodes and n + 1 leaves, which a round adds to the score.

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
    """Limits on the size and the steps of trees; see `rankwise.boosting.RankBoost`."""

    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    l2: float
    learning_rate: float


class Loss(Protocol):
    """Sets the gradients and Hessians of blocks; scores of blocks are in units of ``unit``."""

    unit: float

    def __call__(self, blocks: Blocks) -> Sums:
        """Set them at the scores; return their sums, and the value of the loss."""


@dataclass
class TreeRounds:
    """Rounds of boosting that add a tree each.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    loss : Loss
        Sets their gradients.
    sums : tuple of float
        The sums of the gradients that it has set at the scores before the first round.
    bins : Bins
        The number of bins of each feature.
    limits : Limits
    n_rows : float
        The number of rows, repetitions counted.
    """

    blocks: Blocks
    loss: Loss
    sums: Sums
    bins: Bins
    limits: Limits
    n_rows: float

    def grow(self) -> Tree | None:
        """Take a round, and return its tree; None if nothing is gained."""
        size, bend, _ = self.sums
        if not (size > 0 and bend > 0):
            return None
        l2 = self.limits.l2 * bend / self.n_rows
        leaves, nodes, children = grow_tree(self.blocks, self.bins, self.limits, l2 + 1e-300)
        if not nodes:
            return None
        (sums,) = self.blocks.run(sum_leaves)
        values = -self.limits.learning_rate * sums[:, 0] / np.maximum(sums[:, 1] + l2, 1e-300)
        self.blocks.run(add_leaf_values, values)
        self.sums = self.loss(self.blocks)
        features, cuts, missing_above, gains = zip(*nodes, strict=True)
        return Tree(
            features=np.array(features),
            cuts=np.array(cuts),
            missing_above=np.array(missing_above, dtype=np.bool_),
            gains=np.array(gains),
            children=np.array(children),
            values=self.loss.unit * values,
            counts=np.array([leaf.total[COUNT] for leaf in leaves]),
            loss=self.sums[2],
        )


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
    histogram : ndarray of shape (d, stride, 3)
    total : ndarray of shape (3,)
        Sums of gradients, of Hessians and of rows.
    gain, cut
        Of its best split; the cut is the feature, the first bin above, and the side of the missing.
    """

    leaf: int
    depth: int
    parent: tuple[int, int]
    histogram: Floats
    total: Floats
    gain: float = 0.0
    cut: tuple[int, int, int] = (0, 0, 0)

    def __lt__(self, other: "TreeNode") -> bool:
        return self.gain > other.gain  # the best split is first in the heap


def grow_tree(
    blocks: Blocks, bins: Bins, limits: Limits, l2: float
) -> tuple[list[TreeNode], list[tuple[int, int, bool, float]], list[list[int]]]:
    """Split leaves, the best split first, until none is left or the tree is large enough.

    Parameters
    ----------
    blocks, bins, limits
        As for `TreeRounds`.
    l2 : float
        What is added to the sum of the Hessians of a leaf.

    Returns
    -------
    leaves : list of TreeNode
    nodes : list of tuple
        The feature, the first bin above, the side of the missing, and the gain of each.
    children : list of list
        As in `Tree`.
    """
    best = np.empty((len(bins.n_bins), 3))
    histogram, total = blocks.run(init_root)
    leaves = [TreeNode(0, 0, (-1, 0), histogram, total)]
    new, heap = leaves[:], list[TreeNode]()
    nodes, children = list[tuple[int, int, bool, float]](), list[list[int]]()
    while True:
        # 1. the best split of each new leaf
        for node in new:
            if node.total[COUNT] < 2 * limits.min_samples_leaf:
                continue
            find = partial(
                find_splits, node.histogram, bins.n_bins, bins.missing, node.total, l2,
                limits.min_samples_leaf, best,
            )  # fmt: skip
            blocks.pool.run_ranges(find, len(best), work=node.histogram.size // 3)
            # the first feature that is as good as the best
            feature = int(np.argmax(best[:, 0] >= (1 - SPLIT_TIE) * best[:, 0].max()))
            node.gain, cut, missing_above = best[feature].tolist()
            node.cut = feature, int(cut), int(missing_above)
            if node.gain > 0:
                heappush(heap, node)
        if not heap or len(leaves) == limits.max_leaf_nodes:
            return leaves, nodes, children
        # 2. the leaf with the largest gain becomes a node
        node = heappop(heap)
        feature, cut, missing_above = node.cut
        above = node.histogram[feature, cut : bins.n_bins[feature] + missing_above].sum(axis=0)
        below = node.total - above
        takes_above = bool(above[COUNT] <= below[COUNT])
        # children of a last split need no histograms
        is_last = (
            len(leaves) + 1 == limits.max_leaf_nodes
            or node.depth + 1 == limits.max_depth
            or max(above[COUNT], below[COUNT]) < 2 * limits.min_samples_leaf
        )
        summed = None if is_last else -1 if takes_above else node.leaf
        (smaller,) = blocks.run(split_leaf, node.leaf, node.cut, summed)
        larger = smaller if is_last else np.subtract(node.histogram, smaller, out=node.histogram)
        number, (parent, side) = len(nodes), node.parent
        if parent >= 0:
            children[parent][side] = number
        children.append([~node.leaf, ~len(leaves)])
        missing = missing_above if bins.missing[feature] else above[COUNT] > below[COUNT]
        nodes.append((feature, cut, bool(missing), node.gain))
        low, high = (larger, smaller) if takes_above else (smaller, larger)
        new = [
            TreeNode(node.leaf, node.depth + 1, (number, 0), low, below),
            TreeNode(len(leaves), node.depth + 1, (number, 1), high, above),
        ]
        leaves[node.leaf] = new[0]
        leaves.append(new[1])
        if is_last:
            new = []


# ---------------------------------------------------------------------- what blocks do


def init_root(block: Block, state: State, pool: Pool) -> tuple[State, tuple[Floats, Floats]]:
    """Begin a tree: all rows are one leaf; return its histogram, and what it sums up to (3,)."""
    state = state._replace(leaves=(block.numbers,))
    sums = [each.sum() for each in (state.gradients, state.hessians, block.counts)]
    return state, (node_histogram(block, state, pool, 0), np.array(sums))


def split_leaf(
    block: Block, state: State, pool: Pool, leaf: int, cut: tuple[int, int, int], summed: int | None
) -> tuple[State, tuple[Floats]]:
    """Split a leaf, the rows above becoming the last leaf; return the histogram of leaf ``summed``.

    It is empty if that is None.
    """
    bins, rows, (f, first, missing_above) = block.bins, state.leaves[leaf], cut
    column = bins.codes[bins.starts[f] : bins.starts[f + 1]]
    codes = (bins.spread(f, len(block.numbers)) if bins.sparse else column)[rows]
    above = (first <= codes) & (codes <= int(bins.n_bins[f]) - 1 + missing_above)
    leaves = (*state.leaves[:leaf], rows[~above], *state.leaves[leaf + 1 :], rows[above])
    state = state._replace(leaves=leaves)
    if summed is None:
        return state, (np.empty((0, 0, 3)),)
    return state, (node_histogram(block, state, pool, summed),)


def node_histogram(block: Block, state: State, pool: Pool, leaf: int) -> Floats:
    """Return the histogram (d, stride, 3) of a leaf of the tree that is being grown."""
    bins, rows, values = block.bins, state.leaves[leaf], (state.gradients, state.hessians)
    hist = np.zeros((len(bins.n_bins), int(bins.n_bins.max()) + 1, 3))
    # those of one bin split nothing
    features = np.flatnonzero(bins.n_bins + bins.missing > 1)
    fill = partial(fill_histograms, bins, features, rows, *values, block.counts, hist)
    pool.run_ranges(fill, len(features), work=len(rows) * len(features))
    return hist


def sum_leaves(block: Block, state: State, pool: Pool) -> tuple[State, tuple[Floats]]:
    """Return the sums of gradients and Hessians (n_leaves, 2) over the rows of each leaf.

    Those of histograms that were subtracted have lost digits where weights differ much.
    """
    pairs = state.gradients, state.hessians
    return state, (np.array([[each[rows].sum() for each in pairs] for rows in state.leaves]),)


def add_leaf_values(
    block: Block, state: State, pool: Pool, values: Floats
) -> tuple[State, tuple[()]]:
    """Add the value of each leaf to the scores of its rows, and end the tree."""
    scores = state.scores.copy()
    for value, rows in zip(values.tolist(), state.leaves, strict=True):
        scores[rows] += value
    return state._replace(scores=scores, leaves=()), ()
