"""Features cut into bins: quantiles of a sample of the rows, or every distinct value."""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.rows import as_rows
from rankwise._core.threads import Pool
from rankwise.boosting._loops.binning import (
    Edges,
    bin_columns,
    bin_rows,
    even_edges,
    find_tables,
    take_columns,
)
from rankwise.boosting._loops.bins import WIDTH, Dense, Sparse

__all__ = ["Dense", "bin_rows"]

Floats = NDArray[np.float64]

# Rows that the quantiles are taken from.
SAMPLE = 20_000
LARGEST = 255
# Steps that it takes to sort a value of the sample and to put one into a bin.
SORT_STEPS, BIN_STEPS = 20, 4


def find_edges(ordered: Floats, weight: Floats | None, max_bins: int | None) -> Floats:
    """Return the edges between bins of about equal weight, halfway between two sorted values.

    A value that is heavier than a bin should be counts as one, so that the others still share the
    rest. With at most ``max_bins`` distinct values, or if it is None, each has a bin of its own.
    Missing values are left out.
    """
    n = int(np.searchsorted(ordered, np.nan))
    if n == 0:
        return np.empty(0)
    if max_bins is not None and weight is None and n > max_bins:
        edges = np.empty(max_bins - 1)
        if even_edges(ordered[:n], edges):
            return edges
    last = np.flatnonzero(np.append(ordered[1:n] > ordered[: n - 1], True))
    distinct = ordered[last]
    splits = np.arange(len(distinct) - 1)
    if max_bins is not None and len(distinct) > max_bins:
        reached = last + 1.0 if weight is None else np.cumsum(weight[:n])[last]
        mass = np.diff(reached, prepend=0.0)
        heavy = mass >= reached[-1] / max_bins
        light = mass[~heavy].sum()
        # values whose weight is lost beside the heavy ones need no bins
        room = (max_bins - heavy.sum()) / light if light > 1e-300 else 0.0
        size = np.where(heavy, 1.0, mass * room)
        place = np.minimum(np.floor(np.cumsum(size) - size / 2), max_bins - 1)
        splits = np.flatnonzero(np.diff(place))
    return _between(distinct, splits)


def _weighted_edges(values: Floats, weight: Floats, max_bins: int | None) -> Floats:
    order = np.argsort(values, kind="stable")
    return find_edges(values[order], weight[order], max_bins)


def _between(values: Floats, splits: NDArray[Any]) -> Floats:
    """Return edges halfway between values and the next ones."""
    low, high = values[splits], values[splits + 1]
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)


def bin_features(
    X: Any,
    order: NDArray[Any],
    weight: Floats | None,
    max_bins: int | None,
    random: np.random.RandomState,
    pool: Pool,
) -> tuple[Dense | Sparse, list[Floats]]:
    """Return the bins of the rows in the given order, and the edges of each feature.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, d)
        The rows; NaN is a missing value.
    order : ndarray of shape (m,)
        Row i of the bins is row ``order[i]`` of X.
    weight : ndarray of shape (m,) or None
        Row weights.
    max_bins : int or None
        At most 255; None: a bin for each distinct value.
    random : RandomState
        Draws the sample.
    pool : Pool
        Threads that share rows and features, if X is dense.
    """
    rows = sample_rows(X.shape[0], max_bins, random)
    sampled_weight = None if weight is None else weight[rows]
    if isinstance(X, np.ndarray):
        return _bin_dense(X, order, rows, sampled_weight, max_bins, pool)
    return _bin_sparse(X, order, rows, sampled_weight, max_bins)


def sample_rows(m: int, max_bins: int | None, random: np.random.RandomState) -> NDArray[np.int64]:
    """Return which of m rows the edges are taken from, rising."""
    if max_bins is not None and m > SAMPLE:
        return np.sort(random.permutation(m)[:SAMPLE])
    return np.arange(m)


def edges_of_columns(columns: Floats, weight: Floats | None, max_bins: int | None) -> list[Floats]:
    """Return the edges of features, from the columns (d, n) of a sample."""
    if weight is None:
        return [find_edges(ordered, None, max_bins) for ordered in np.sort(columns, axis=1)]
    return [_weighted_edges(values, weight, max_bins) for values in columns]


class Table(NamedTuple):
    """Edges to put rows into bins by, and the bins of each feature; ``kind`` is that of a code."""

    edges: Edges
    n_bins: NDArray[np.int64]
    kind: Any

    @classmethod
    def of(cls, edges: list[Floats]) -> "Table":
        """Return a table of the edges of each feature."""
        joined, starts = _join(edges)
        n_bins, found = np.diff(starts), find_tables(joined, starts, 0, len(edges))
        kind = np.uint8 if n_bins.max() <= LARGEST else np.uint32
        return cls(Edges(joined, starts, *found), n_bins, kind)

    def shape(self, m: int) -> tuple[int, int, int]:
        """Return the shape of the codes of m rows."""
        return -(-len(self.n_bins) // WIDTH), m, WIDTH


def _bin_dense(
    X: NDArray[Any],
    order: NDArray[Any],
    sampled: NDArray[np.int64],
    weight: Floats | None,
    max_bins: int | None,
    pool: Pool,
) -> tuple[Dense, list[Floats]]:
    """Return bins and edges of an array; ``weight`` is that of the sampled rows."""
    (m, d), rows = X.shape, as_rows(X)
    columns = np.empty((d, len(sampled)))

    def take(first: int, last: int) -> None:
        take_columns(rows, sampled, first, last, columns)

    def edges_of(first: int, last: int) -> list[Floats]:
        return edges_of_columns(columns[first:last], weight, max_bins)

    pool.run_ranges(take, len(sampled), work=columns.size)
    edges = list(chain(*pool.run_ranges(edges_of, d, work=SORT_STEPS * columns.size)))
    table = Table.of(edges)
    codes = np.empty(table.shape(m), dtype=table.kind)
    missing, places = np.zeros(d, dtype=np.bool_), np.empty(m, dtype=np.int64)
    places[order] = np.arange(m)

    def fill(first: int, last: int) -> None:
        bin_rows(rows, places, first, last, table.edges, codes, missing)

    pool.run_ranges(fill, m, work=BIN_STEPS * X.size)
    return Dense(codes, table.n_bins, missing), edges


def _bin_sparse(
    X: Any,
    order: NDArray[Any],
    sampled: NDArray[np.int64],
    weight: Floats | None,
    max_bins: int | None,
) -> tuple[Sparse, list[Floats]]:
    """Return bins and edges of a CSR matrix; ``weight`` is that of the sampled rows."""
    d, by_column = X.shape[1], X[sampled].tocsc()
    full = np.ones(len(sampled)) if weight is None else weight
    total = full.sum()

    def edges_of(f: int) -> Floats:
        entries = slice(by_column.indptr[f], by_column.indptr[f + 1])
        values, mass = by_column.data[entries], full[by_column.indices[entries]]
        if len(values) < len(sampled):
            values, mass = np.append(values, 0.0), np.append(mass, total - mass.sum())
        return _weighted_edges(values, mass, max_bins)

    edges = [edges_of(f) for f in range(d)]
    joined, starts = _join(edges)
    n_bins = np.diff(starts)
    entries = X[order].tocsc()
    codes = np.empty(len(entries.data), dtype=np.uint32)
    zero = np.empty(d, dtype=np.int64)
    indptr = entries.indptr.astype(np.int64)
    missing = np.zeros(d, dtype=np.bool_)
    bin_columns(entries.data, indptr, joined, starts, codes, zero, missing)
    rows = entries.indices.astype(np.int64)
    return Sparse(codes, rows, indptr, zero, n_bins, missing), edges


def _join(edges: list[Floats]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the edges of all features, each ending with infinity, and where each starts."""
    joined = np.concatenate([np.append(e, np.inf) for e in edges])
    return joined, np.append(0, np.cumsum([len(e) + 1 for e in edges]))
