"""Features cut into bins: at quantiles of a sample of the rows, or between all distinct values."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.rows import as_rows
from rankwise._core.threads import Pool
from rankwise.boosting._loops.histogram import CELLS, Bins, bin_rows, find_tables

__all__ = ["Bins"]

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
    last = np.flatnonzero(np.append(ordered[1:n] > ordered[: n - 1], True))
    distinct = ordered[last]
    splits = np.arange(len(distinct) - 1)
    if max_bins is not None and len(distinct) > max_bins:
        if weight is None and len(distinct) == n:
            splits = np.arange(1, max_bins) * n // max_bins - 1
            return _between(distinct, splits)
        reached = last + 1.0 if weight is None else np.cumsum(weight[:n])[last]
        mass = np.diff(reached, prepend=0.0)
        heavy = mass >= reached[-1] / max_bins
        light = mass[~heavy].sum()
        # values whose weight is lost beside the heavy ones need no bins
        n_light = (max_bins - heavy.sum()) / light if light > 1e-300 else 0.0
        size = np.where(heavy, 1.0, mass * n_light)
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


def sample_rows(m: int, max_bins: int | None, random: np.random.RandomState) -> NDArray[np.int64]:
    """Return the rows, of m, that the edges are taken from, rising."""
    if max_bins is not None and m > SAMPLE:
        return np.sort(random.permutation(m)[:SAMPLE])
    return np.arange(m)


def edges_of_columns(columns: Floats, weight: Floats | None, max_bins: int | None) -> list[Floats]:
    """Return the edges of features, from the columns (d, n) of a sample."""
    if weight is None:
        return [find_edges(ordered, None, max_bins) for ordered in np.sort(columns, axis=1)]
    return [_weighted_edges(values, weight, max_bins) for values in columns]


class BinMapper(NamedTuple):
    """Edges of d features, and tables that say where to look for a value, see `find_tables`."""

    edges: Floats
    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    low: Floats
    scale: Floats

    @classmethod
    def of(cls, edges: list[Floats]) -> "BinMapper":
        """Return the mapper of the edges of each feature."""
        joined = np.concatenate([np.append(each, np.inf) for each in edges])
        starts = np.append(0, np.cumsum([len(each) + 1 for each in edges]))
        d = len(edges)
        mapper = cls(joined, starts, np.empty((d, CELLS + 1), np.int32), np.empty(d), np.empty(d))
        find_tables(*mapper)
        return mapper

    def transform(self, X: NDArray[Any], order: NDArray[np.int64], pool: Pool) -> Bins:
        """Return the bins of an array, whose row i is row ``order[i]`` of X."""
        n_bins = np.diff(self.starts)
        kind = np.uint8 if n_bins.max() <= LARGEST else np.uint32
        m, d = len(order), len(n_bins)
        codes, missing = np.empty((d, m), dtype=kind), np.zeros(d, dtype=np.bool_)
        rows = as_rows(X)

        def fill(first: int, last: int) -> None:
            bin_rows(rows, order, first, last, *self, codes, missing)

        pool.run_ranges(fill, m, work=BIN_STEPS * m * d)
        return dense_bins(codes.ravel(), n_bins, missing)


def dense_bins(codes: NDArray[Any], n_bins: NDArray[np.int64], missing: NDArray[np.bool_]) -> Bins:
    """Return the bins of features whose codes (d m,) are those of the rows, one after the other."""
    codes = codes.view(np.ndarray)
    codes.flags.writeable = False
    none, d = np.empty(0, dtype=np.int64), len(n_bins)
    starts = np.arange(d + 1) * (len(codes) // d)
    return Bins(codes, starts, none, none, n_bins, missing, sparse=False)


def bin_features(
    X: Any,
    order: NDArray[np.int64],
    weight: Floats | None,
    max_bins: int | None,
    random: np.random.RandomState,
    pool: Pool,
) -> tuple[Bins, list[Floats]]:
    """Return the bins of all rows, and the edges of each feature.

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
    sampled = sample_rows(X.shape[0], max_bins, random)
    mass = None if weight is None else weight[sampled]
    if not isinstance(X, np.ndarray):
        return _bin_sparse(X, order, sampled, mass, max_bins)
    columns = np.ascontiguousarray(X[sampled].T)

    def edges_of(first: int, last: int) -> list[Floats]:
        return edges_of_columns(columns[first:last], mass, max_bins)

    found = pool.run_ranges(edges_of, len(columns), work=SORT_STEPS * columns.size)
    edges = [each for some in found for each in some]
    return BinMapper.of(edges).transform(X, order, pool), edges


def _bin_sparse(
    X: Any,
    order: NDArray[np.int64],
    sampled: NDArray[np.int64],
    weight: Floats | None,
    max_bins: int | None,
) -> tuple[Bins, list[Floats]]:
    """Return bins and edges of a CSR matrix; ``weight`` is that of the sampled rows."""
    d, columns, entries = X.shape[1], X[sampled].tocsc(), X[order].tocsc()
    full = np.ones(len(sampled)) if weight is None else weight
    total = full.sum()
    codes = np.empty(len(entries.data), dtype=np.uint32)
    zero, missing, edges = np.empty(d, dtype=np.int64), np.zeros(d, dtype=np.bool_), []
    for f in range(d):
        some = slice(columns.indptr[f], columns.indptr[f + 1])
        values, mass = columns.data[some], full[columns.indices[some]]
        if len(values) < len(sampled):
            values, mass = np.append(values, 0.0), np.append(mass, total - mass.sum())
        edges.append(_weighted_edges(values, mass, max_bins))
        some = slice(entries.indptr[f], entries.indptr[f + 1])
        absent = np.isnan(entries.data[some])
        codes[some] = np.searchsorted(edges[f], entries.data[some]) + absent
        zero[f], missing[f] = np.searchsorted(edges[f], 0.0), absent.any()
    codes.flags.writeable = False
    n_bins = np.array([len(each) + 1 for each in edges])
    rows, starts = entries.indices.astype(np.int64), entries.indptr.astype(np.int64)
    return Bins(codes, starts, rows, zero, n_bins, missing, sparse=True), edges
