"""The rows of a fit: sorted into groups, with their features in bins, block by block.

A *group* is all rows of equal query and target. Features are cut into bins at quantiles of a sample
of the rows, or between all distinct values.

A fit is a loop over blocks of rows. In memory there is one; on disk and on a cluster there are
many (`rankwise.distributed`). What is known of the rows of a block does not change: a `Block`. What
changes from round to round is a `State`. Functions that take block, state and the threads that
share the features are pure: they return the next state and an answer, arrays that add up over
the blocks. So a block that is lost with its worker is computed again from the beginning.
"""

import fractions
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.boosting._loops.histogram import CELLS, TILE, Bins, bin_rows

__all__ = ["Bins"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Rows that the quantiles are taken from.
SAMPLE = 20_000
LARGEST = 255
# Steps that it takes to put a value into a bin.
BIN_STEPS = 4
# Integers up to this are tried as proportions of weights.
MOST_COPIES = 1000


def proportions(weight: Floats) -> tuple[Floats, Indices]:
    """Return the smallest integers in the proportions of positive weights, twice.

    Integers above `MOST_COPIES`, or of more values, are not found. Without any, the weights
    are brought to a mean of 1, and the second answer is 1 for all: how many rows a row stands for.
    """
    with np.errstate(over="ignore"):
        values, of_row = np.unique(weight / weight.min(), return_inverse=True)
    if len(values) <= MOST_COPIES >= values[-1]:
        near = [fractions.Fraction(v).limit_denominator(MOST_COPIES) for v in values.tolist()]
        exact = min(math.lcm(*(each.denominator for each in near)), MOST_COPIES + 1) * values
        copies = np.rint(exact)
        if copies[-1] <= MOST_COPIES and np.allclose(copies, exact, rtol=1e-9, atol=0):
            return copies[of_row], copies.astype(np.int64)[of_row]
    return weight / weight.mean(), np.ones(len(weight), dtype=np.int64)


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
    unit : float
        The largest difference of two targets of a query.
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
        self.unit = max(float(self.heights.max()), 1e-300)
        before = np.cumsum(copies) - copies
        self.n_pairs = float((copies * (before - before[self.starts[query]])).sum())

    def keys(self, groups: Indices) -> tuple[Indices, Indices, Floats, Floats]:
        """Return what `Block.of` takes for the groups with these numbers."""
        return groups, self.query[groups], self.y[groups], self.heights[groups]

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


# ---------------------------------------------------------------------- features in bins


def bin_features(
    X: Any,
    order: Indices,
    weight: Floats | None,
    max_bins: int | None,
    random: np.random.RandomState,
    pool: Pool,
) -> tuple[Bins, list[Floats]]:
    """Return the bins of some rows, and the edges of each feature, which are those of these rows.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, d)
        The rows; NaN is a missing value.
    order : ndarray of shape (n,)
        Row i of the bins is row ``order[i]`` of X.
    weight : ndarray of shape (m,) or None
        Row weights.
    max_bins : int or None
        At most 255; None: a bin for each distinct value.
    random : RandomState
        Draws the sample.
    pool : Pool
        Threads that share the rows, if X is dense.
    """
    sampled = np.sort(order)[sample_rows(len(order), max_bins, random)]
    mass = None if weight is None else weight[sampled]
    if not isinstance(X, np.ndarray):
        return _bin_sparse(X[order].tocsc(), X[sampled].tocsc(), mass, max_bins)
    edges = edges_of_columns(np.ascontiguousarray(X[sampled].T), mass, max_bins)
    return BinMapper.of(edges).transform(X, order, pool), edges


def sample_rows(m: int, max_bins: int | None, random: np.random.RandomState) -> Indices:
    """Return the rows, of m, that the edges are taken from, rising."""
    if max_bins is not None and m > SAMPLE:
        return np.sort(random.permutation(m)[:SAMPLE])
    return np.arange(m)


def edges_of_columns(columns: Floats, weight: Floats | None, max_bins: int | None) -> list[Floats]:
    """Return the edges of features, from the columns (d, n) of a sample."""
    if weight is None:
        return [find_edges(ordered, None, max_bins) for ordered in np.sort(columns, axis=1)]
    orders = np.argsort(columns, axis=1, kind="stable")
    return [
        find_edges(values[order], weight[order], max_bins)
        for values, order in zip(columns, orders, strict=True)
    ]


def find_edges(ordered: Floats, weight: Floats | None, max_bins: int | None) -> Floats:
    """Return the edges between bins of about equal weight, halfway between two sorted values.

    A value that is heavier than a bin should be counts as one, so that the others still share the
    rest. With at most ``max_bins`` distinct values, or if it is None, each has its own bin.
    Missing values are left out.
    """
    n = int(np.searchsorted(ordered, np.nan))
    if n == 0:
        return np.empty(0)
    last = np.flatnonzero(np.append(ordered[1:n] > ordered[: n - 1], True))
    distinct = ordered[last]
    splits = np.arange(len(distinct) - 1)
    if max_bins is None or len(distinct) <= max_bins:
        pass
    elif weight is None and len(distinct) == n:
        splits = np.arange(1, max_bins) * n // max_bins - 1
    else:
        reached = last + 1.0 if weight is None else np.cumsum(weight[:n])[last]
        mass = np.diff(reached, prepend=0.0)
        heavy = mass >= reached[-1] / max_bins
        light = mass[~heavy].sum()
        # values whose weight is lost beside the heavy ones need no bins
        n_light = (max_bins - heavy.sum()) / light if light > 1e-300 else 0.0
        size = np.where(heavy, 1.0, mass * n_light)
        place = np.minimum(np.floor(np.cumsum(size) - size / 2), max_bins - 1)
        splits = np.flatnonzero(np.diff(place))
    low, high = distinct[splits], distinct[splits + 1]
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)


class BinMapper(NamedTuple):
    """Edges of d features, and tables that say where to look for a value.

    The range of a feature's edges is divided into CELLS equal parts. The cell of x is
    ``(x / 2 - low[f]) * scale[f]``, and ``cells[f, c]`` is the number of edges in the cells below
    c. The cell of a value rises with the value, so these edges are below all values of the cell.
    Halves can't overflow when they are subtracted.
    """

    edges: Floats
    starts: Indices
    cells: NDArray[np.int32]
    low: Floats
    scale: Floats

    @classmethod
    def of(cls, edges: list[Floats]) -> "BinMapper":
        """Return the mapper of the edges of each feature."""
        d = len(edges)
        cells, low, scale = np.empty((d, CELLS + 1), np.int32), np.zeros(d), np.zeros(d)
        for f, each in enumerate(edges):
            if len(each) > 1:
                low[f] = 0.5 * each[0]
                scale[f] = CELLS / max(0.5 * each[-1] - low[f], 1e-290)
            cell = np.minimum((0.5 * each - low[f]) * scale[f], CELLS - 1.0)
            cells[f] = np.searchsorted(cell, np.arange(CELLS + 1))
        joined = np.concatenate([np.append(each, np.inf) for each in edges])
        starts = np.append(0, np.cumsum([len(each) + 1 for each in edges]))
        return cls(joined, starts, cells, low, scale)

    def transform(self, X: NDArray[Any], order: Indices, pool: Pool) -> Bins:
        """Return the bins of an array, whose row i is row ``order[i]`` of X."""
        n_bins, m, d = np.diff(self.starts), len(order), len(self.low)
        kind = np.uint8 if n_bins.max() <= LARGEST else np.uint32
        codes, missing = np.empty((d, m), dtype=kind), np.zeros(d, dtype=np.bool_)
        bins = dense_bins(codes.ravel(), n_bins, missing)
        rows = np.ascontiguousarray(X).view()
        rows.flags.writeable = False
        tables = rows, order, *self, codes, missing
        pool.run_ranges(
            lambda *tile: bin_rows(*tables, np.empty(TILE), np.empty(TILE, np.int32), *tile),
            m,
            work=BIN_STEPS * m * d,
        )
        return bins


def dense_bins(codes: NDArray[Any], n_bins: Indices, missing: NDArray[np.bool_]) -> Bins:
    """Return the bins of features whose codes (d m,) are those of the rows, one after the other."""
    codes = codes.view(np.ndarray)
    codes.flags.writeable = False
    none, d = np.empty(0, dtype=np.int64), len(n_bins)
    starts = np.arange(d + 1) * (len(codes) // d)
    return Bins(codes, starts, none, none, n_bins, missing, sparse=False)


def _bin_sparse(
    entries: Any, sample: Any, weight: Floats | None, max_bins: int | None
) -> tuple[Bins, list[Floats]]:
    """Return bins and edges of CSC rows; the edges are those of a sample with these weights."""
    n, d = sample.shape
    full = np.ones(n) if weight is None else weight
    total = full.sum()
    codes = np.empty(len(entries.data), dtype=np.uint32)
    zero, missing, edges = np.empty(d, dtype=np.int64), np.zeros(d, dtype=np.bool_), []
    for f in range(d):
        some = slice(sample.indptr[f], sample.indptr[f + 1])
        values, mass = sample.data[some], full[sample.indices[some]]
        if len(values) < n:
            values, mass = np.append(values, 0.0), np.append(mass, total - mass.sum())
        edges += edges_of_columns(values[None, :], mass, max_bins)
        some = slice(entries.indptr[f], entries.indptr[f + 1])
        absent = np.isnan(entries.data[some])
        codes[some] = np.searchsorted(edges[f], entries.data[some]) + absent
        zero[f], missing[f] = np.searchsorted(edges[f], 0.0), absent.any()
    codes.flags.writeable = False
    n_bins = np.array([len(each) + 1 for each in edges])
    rows, starts = entries.indices.astype(np.int64), entries.indptr.astype(np.int64)
    return Bins(codes, starts, rows, zero, n_bins, missing, sparse=True), edges


# ---------------------------------------------------------------------- rows in blocks


class Block(NamedTuple):
    """Some rows, sorted by query and target, so that they come group by group.

    - ``bins``: their features;
    - ``groups``, ``query``, ``y``, ``heights`` (n,): the numbers of the groups that have rows here,
      rising, their queries and targets, and how far these are above the lowest of the query;
    - ``starts`` (n + 1,), ``sizes`` (n,): where the rows of each begin, and how many they are;
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
    sizes: Indices
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
        numbers, counted = np.arange(len(weight), dtype=np.uint32), counts.astype(np.float64)
        return cls(bins, *keys, starts, np.diff(starts), weight, log_weight, counted, numbers)


class State(NamedTuple):
    """The state of boosting that changes in each round.

    - ``scores`` (m,);
    - ``factors`` (2, m): of a row as the worse one of its pairs, and as the better one;
    - ``above`` (m,): whether a row is above the last cut;
    - ``gradients``, ``hessians`` (m,), and ``leaves``: the rows of each leaf of a tree.
    """

    scores: Floats
    factors: Floats = np.empty((2, 0))
    above: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
    gradients: Floats = np.empty(0)
    hessians: Floats = np.empty(0)
    leaves: tuple[NDArray[np.uint32], ...] = ()

    @classmethod
    def of(cls, m: int) -> "State":
        """Return the state of m rows before the first round."""
        return cls(np.zeros(m))


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
        self.states = [State(np.zeros(len(block.weight))) for block in blocks]

    def run(
        self,
        function: Callable[..., tuple[State, tuple[Any, ...]]],
        *arguments: Any,
        merge: Callable[..., Any] = np.add,
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
    return tuple(merge(a, b) for a, b in zip(one, other, strict=True))
