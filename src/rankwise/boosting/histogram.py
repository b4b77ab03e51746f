r"""Rows in blocks, and what boosting asks of a block: histograms, sums, and steps of the scores.

A fit is a loop over blocks of rows. In memory there is one; on disk and on a cluster there are
many (`rankwise.distributed`). What is known of the rows of a block does not change: a `Block`. What
changes from round to round is a `State`. Each function here is pure: it takes block, state and the
threads that share the features, and returns the next state and an answer, arrays that add up over
the blocks. So a block that is lost with its worker is computed again from the beginning.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.boosting._loops.histogram import (
    HISTOGRAM,
    Bins,
    fill_histograms,
    fill_slots,
    find_above,
    scale_factors,
    sum_sides,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Block(NamedTuple):
    """Some rows, sorted by query and target, so that they come group by group.

    - ``bins``: their features;
    - ``groups``, ``query``, ``y``, ``heights`` (n,): the numbers of the groups that have rows here,
      rising, their queries and targets, and how far these are above the lowest of the query;
    - ``starts`` (n + 1,): where the rows of each begin;
    - ``weight``, ``log_weight`` (m,): row weights and their logarithms;
    - ``counts`` (m,): how many rows each stands for;
    - ``numbers`` (m,): 0, 1, ..., m - 1.
    """

    bins: Bins
    groups: Indices
    query: Indices
    y: Floats
    heights: Floats
    starts: Indices
    weight: Floats
    log_weight: Floats
    counts: Floats
    numbers: NDArray[np.uint32]

    @classmethod
    def of(
        cls,
        bins: Bins,
        keys: tuple[Indices, Indices, Floats, Floats],
        starts: Indices,
        weight: Floats,
        counts: Indices,
    ) -> "Block":
        """Return a block of rows; ``keys`` are groups, query, y and heights.

        A weight that was rounded to 0 counts as the smallest number.
        """
        log_weight = np.log(np.maximum(weight, 5e-324))
        numbers = np.arange(len(weight), dtype=np.uint32)
        return cls(bins, *keys, starts, weight, log_weight, counts.astype(np.float64), numbers)

    def by_row(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each row, the value of its group, of those here; ``values`` (..., n)."""
        return np.repeat(values, np.diff(self.starts), axis=-1)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each row, the value of its group, of all; ``values`` (..., n_groups)."""
        return self.by_row(values[..., self.groups])

    def collect(self, sums: Floats, n_groups: int, fill: float = 0.0) -> Floats:
        """Return sums (..., n) of the groups here as those of all groups of the fit."""
        out = np.full((*sums.shape[:-1], n_groups), fill)
        out[..., self.groups] = sums
        return out


class State(NamedTuple):
    """What changes with the rounds.

    - ``scores`` (m,);
    - ``factors`` (2, m): of a row as the worse one of its pairs, and as the better one;
    - ``above`` (m,): whether a row is above the last cut;
    - ``gradients``, ``hessians`` (m,), and ``leaves``: the rows of each leaf of a tree.
    """

    scores: Floats
    factors: Floats
    above: NDArray[np.bool_]
    gradients: Floats
    hessians: Floats
    leaves: tuple[NDArray[np.uint32], ...] = ()

    @classmethod
    def of(cls, m: int) -> "State":
        """Return the state of m rows before the first round."""
        none = np.empty(0)
        return cls(np.zeros(m), none.reshape(2, 0), none.astype(np.bool_), none, none)


Function = Callable[..., tuple[State, tuple[Any, ...]]]


class Blocks:
    """Blocks in this process.

    Parameters
    ----------
    blocks : sequence of Block
    pool : Pool
        Threads that share the features.
    """

    def __init__(self, blocks: Sequence[Block], pool: Pool) -> None:
        self.blocks, self.pool = blocks, pool
        self.states = [State.of(len(block.weight)) for block in blocks]

    def run(
        self, function: Function, *arguments: Any, merge: Callable[..., Any] = np.add
    ) -> tuple[Any, ...]:
        """Return the merged answers of all blocks to a function; states follow."""
        answer: tuple[Any, ...] = ()
        for b, block in enumerate(self.blocks):
            self.states[b], mine = function(block, self.states[b], self.pool, *arguments)
            answer = merge_answers(answer, mine, merge) if b else mine
        return answer


def merge_answers(
    one: tuple[Any, ...], other: tuple[Any, ...], merge: Callable[..., Any]
) -> tuple[Any, ...]:
    """Return the answer of two blocks, value by value."""
    return tuple(
        _add_histograms(a, b) if getattr(a, "dtype", None) == HISTOGRAM else merge(a, b)
        for a, b in zip(one, other, strict=True)
    )


def _add_histograms(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    return (one.view(np.float64) + other.view(np.float64)).view(HISTOGRAM)


class Slots(NamedTuple):
    """The factors that groups have: as better rows unless lowest, as worse ones unless highest.

    - ``kinds``, ``groups`` (n_slots,): 0 for worse and 1 for better rows of a group; by groups, of
      which the better slot is first;
    - ``n_groups``;
    - ``stride``: the bins of a feature at most, and one for missing values.
    """

    kinds: Indices
    groups: Indices
    n_groups: int
    stride: int

    def rows(self, block: Block) -> Indices:
        """Return where the rows of each slot begin and end in a block (n_slots, 2)."""
        place = np.searchsorted(block.groups, self.groups)
        here = np.append(block.groups, -1)[place] == self.groups
        place = np.where(here, place, 0)
        return np.where(
            here[:, None], np.stack([block.starts[place], block.starts[place + 1]], 1), 0
        )


def slot_histograms(
    block: Block, state: State, pool: Pool, slots: Slots, first: int, last: int
) -> tuple[State, tuple[Floats, ...]]:
    """Return the histograms of the factors of all slots, of features first to last."""
    hist = _fill_slots(block, pool, slots, (first, last), state.factors, block.numbers)
    return state, (hist,)


def potential_histograms(
    block: Block, state: State, pool: Pool, coefficients: Floats, stride: int
) -> tuple[State, tuple[Floats, ...]]:
    """Return the histograms of the potentials of the rows.

    That is the share of the pairs that a row is the better one of, less that of those that it is
    the worse one of: ``coefficients`` (2, n_groups) times its factors.
    """
    share = block.spread(coefficients) * state.factors
    potentials = (share[1] - share[0])[None, :]
    return state, (potential_histogram(block.bins, pool, potentials, block.numbers, stride),)


def potential_histogram(
    bins: Bins, pool: Pool, potentials: Floats, numbers: NDArray[np.uint32], stride: int
) -> Floats:
    """Return the histograms (d, 1, stride) of a potential (1, m) of the rows."""
    kinds, spans = np.zeros(1, dtype=np.int64), np.array([[0, len(numbers)]])
    d = len(bins.n_bins)
    hist = np.zeros((d, 1, stride))

    def fill(begin: int, end: int) -> None:
        fill_slots(bins, begin, end, potentials, kinds, spans, numbers, spans, hist[begin:end])

    pool.run_ranges(fill, d, work=len(numbers) * d)
    return hist


def _fill_slots(
    block: Block,
    pool: Pool,
    slots: Slots,
    features: tuple[int, int],
    values: Floats,
    picked: NDArray[np.uint32],
) -> Floats:
    """Return the histograms of the values of picked rows, slot by slot."""
    first, last = features
    hist = np.zeros((last - first, len(slots.kinds), slots.stride))
    rows = slots.rows(block)
    spans = np.searchsorted(picked, rows)

    def fill(begin: int, end: int) -> None:
        some = hist[begin:end]
        begin, end = first + begin, first + end
        fill_slots(block.bins, begin, end, values, slots.kinds, rows, picked, spans, some)

    pool.run_ranges(fill, last - first, work=len(picked) * (last - first))
    return hist


def fill_factors(
    block: Block,
    state: State,
    pool: Pool,
    logs: Floats,
    push: float,
) -> tuple[State, tuple[()]]:
    """Compute the factors of all rows as shares of their groups, whose sums are e^logs."""
    signs = np.array([[push], [-1.0]])
    exponents = signs * state.scores + block.log_weight
    return state._replace(factors=np.exp(exponents - block.spread(logs))), ()


def split_by_cut(
    block: Block,
    state: State,
    pool: Pool,
    cut: tuple[int, int, int],
    n_groups: int,
) -> tuple[State, tuple[Any, ...]]:
    """Split the rows by a cut; return counts and sums of factors.

    Counts are those of the rows above and of all, then with repetitions. ``cut`` is the feature,
    the first bin above, and the side of missing values. The sums have the shape (2, 2, n_groups):
    by kind, and above or below.
    """
    above = np.empty(len(block.numbers), dtype=np.bool_)
    find_above(block.bins, *cut, block.numbers, above)
    sums = np.empty((2, 2, len(block.groups)))
    sum_sides(state.factors, above, block.starts, sums)
    counts = np.array(
        [above.sum(), len(above), (block.counts * above).sum(), block.counts.sum()],
        dtype=np.float64,
    )
    return state._replace(above=above), (counts, block.collect(sums, n_groups))


def add_step(
    block: Block,
    state: State,
    pool: Pool,
    alpha: float,
    side: tuple[bool, Floats],
    slots: Slots | None,
) -> tuple[State, tuple[Floats, ...]]:
    """Add alpha above the cut; return how the histograms of the slots change, if they are kept.

    ``side`` says whether the rows above are those whose factors (2,) change.
    """
    above_changes, change = side
    picked = np.flatnonzero(state.above == above_changes).astype(np.uint32)
    factors, moves = state.factors.copy(), np.empty((2, len(picked)))
    scale_factors(factors, picked, change, moves)
    answer: tuple[Floats, ...] = ()
    if slots is not None:
        d = len(block.bins.n_bins)
        answer = (_fill_slots(block, pool, slots, (0, d), moves, picked),)
    scores = state.scores + alpha * state.above
    return state._replace(scores=scores, factors=factors), answer


def node_histogram(block: Block, state: State, pool: Pool, leaf: int) -> NDArray[Any]:
    """Return the histogram (d, stride) of a leaf of the tree that is being grown."""
    bins, rows, d = block.bins, state.leaves[leaf], len(block.bins.n_bins)
    hist = np.zeros((d, int(bins.n_bins.max()) + 1), dtype=HISTOGRAM)

    def fill(first: int, last: int) -> None:
        fill_histograms(
            bins, first, last, rows, state.gradients, state.hessians, block.counts, hist
        )

    pool.run_ranges(fill, d, work=len(rows) * d)
    return hist


def init_root(block: Block, state: State, pool: Pool) -> tuple[State, tuple[NDArray[Any], ...]]:
    """Begin a tree: all rows are one leaf; return its histogram."""
    state = state._replace(leaves=(block.numbers,))
    return state, (node_histogram(block, state, pool, 0),)


def split_leaf(
    block: Block, state: State, pool: Pool, leaf: int, cut: tuple[int, int, int], takes_above: bool
) -> tuple[State, tuple[NDArray[Any], ...]]:
    """Split a leaf, the rows above becoming the last leaf; return the histogram of one of them."""
    rows = state.leaves[leaf]
    above = np.empty(len(rows), dtype=np.bool_)
    find_above(block.bins, *cut, rows, above)
    leaves = (*state.leaves[:leaf], rows[~above], *state.leaves[leaf + 1 :], rows[above])
    state = state._replace(leaves=leaves)
    return state, (node_histogram(block, state, pool, -1 if takes_above else leaf),)


def sum_leaves(block: Block, state: State, pool: Pool) -> tuple[State, tuple[Floats]]:
    """Return the sums of gradients and Hessians (n_leaves, 2) over the rows of each leaf.

    Those of histograms that were subtracted have lost digits where weights differ much.
    """
    pairs = state.gradients, state.hessians
    return state, (np.array([[each[rows].sum() for each in pairs] for rows in state.leaves]),)


def add_leaf_values(
    block: Block,
    state: State,
    pool: Pool,
    values: Floats,
) -> tuple[State, tuple[()]]:
    """Add the value of each leaf to the scores of its rows, and end the tree."""
    scores = state.scores.copy()
    for value, rows in zip(values.tolist(), state.leaves, strict=True):
        scores[rows] += value
    return state._replace(scores=scores, leaves=()), ()
