"""The rows that an online kernel model keeps, and the kernel values of other rows with them.

Every value is computed in the same way wherever its two rows stand, bit for bit, so that a stream
may be cut into any chunks. (What a callable kernel returns is its own affair.)
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core._loops.rows import as_rows
from rankwise._core.kernels import Kernel
from rankwise._core.learned_state import FIT_AGAIN, check_shape
from rankwise.ordinal._loops.kernel_rows import BudgetRows, KernelRows
from rankwise.ordinal._loops.kernel_values import (
    ACROSS,
    inner,
    minus_distances,
    pack,
    powers,
    squares,
)

# Rows that are compared together: at most a panel of `inner`.
TILE = ACROSS


def of_products(
    kernel: Kernel,
    values: NDArray[Any],
    X: Any,
    norms: NDArray[Any],
    others: Any,
    other_norms: NDArray[Any],
) -> None:
    """Turn inner products into values of "rbf" or "poly", in place; the norms are squared."""
    if kernel.kernel == "rbf":
        minus_distances(values, as_rows(X), norms, as_rows(others), other_norms, kernel.gamma)
        np.exp(values[:, : len(other_norms)], out=values[:, : len(other_norms)])
    else:
        powers(values, len(other_norms), kernel.gamma, kernel.coef0, kernel.degree)


class Supports:
    """Rows that were kept. The kinds differ in how rows are stored and compared.

    Parameters
    ----------
    kernel : Kernel
        The kernel, with a number for gamma.
    state : dict of arrays
        What `state` returned, or empty to begin with.
    n_features : int
        Columns of the rows.
    budget : int or None
        How many rows to keep at most.
    """

    sparse = False
    rows: Any
    norms: NDArray[np.float64]

    def __init__(
        self, kernel: Kernel, state: dict[str, NDArray[Any]], n_features: int, budget: int | None
    ) -> None:
        self.kernel, self.n_features, self.budget = kernel, n_features, budget
        self._restore(state)
        self.n = self.rows.shape[0]
        self.length = state.get("length", np.zeros(1)).copy()
        self.inverse = state.get("inverse", np.empty((0, 0)))
        self.recent = state.get("recent", np.empty((2, 0)))
        known = 0 if budget is None else self.n
        check_shape("length", self.length, 1)
        check_shape("inverse", self.inverse, known, known)
        check_shape("recent", self.recent, 2, known)
        self.most = sys.maxsize if budget is None else min(budget + 1, sys.maxsize)
        self.capacity = 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to go on, as arrays."""
        n = self.n if self.budget is not None else 0
        return self._kept() | {
            "length": self.length,
            "inverse": self.inverse[:n, :n].copy(),
            "recent": self.recent[:2, :n].copy(),
        }

    def compare(self, tile: Any, columns: Any = None, *, learning: bool) -> Any:
        """Return the kernel values of at most TILE rows with the kept ones.

        Parameters
        ----------
        tile : array or CSR matrix of shape (t, n_features)
            The rows.
        columns : ndarray of shape (t,), default=None
            The columns that belong to the rows in a precomputed kernel.
        learning : bool
            Whether rows of the tile may be kept: then their values with each other, too.
        """
        self.tile, self.columns = tile, columns
        t = tile.shape[0]
        if t > TILE or tile.shape[1] != self.n_features:
            raise ValueError(
                f"rows of shape {tile.shape} can't be compared: at most {TILE} at a time, of "
                f"{self.n_features} features"
            )
        wanted = self.n + t * learning
        if max(1, min(wanted, self.most)) > self.capacity:
            self.capacity = _whole(max(1, min(max(wanted, 2 * self.n * learning), self.most)))
            self.values = np.empty((TILE, self.capacity))
            if learning and self.budget is not None:
                self.inverse = larger(self.inverse, self.capacity, self.capacity)
                self.recent = larger(self.recent, 4, self.capacity)
            self._grow()
        self._fill()
        if not learning:
            return self.values[:t, : self.n]
        rows = KernelRows(
            self.values[:t],
            self._within(),
            np.full(t, -1),
            np.array([self.n, self.n, self.most]),
            np.full(self.capacity, -1),
            self.length,
        )
        return rows if self.budget is None else BudgetRows(*rows, self.inverse, self.recent)

    def keep(self, kernel_rows: KernelRows | BudgetRows) -> NDArray[np.int64]:
        """Keep of the tile what a loop has learned from, and return the slots that it took."""
        self.n = int(kernel_rows.kept[0])
        slots = np.flatnonzero(kernel_rows.source[: self.n] >= 0)
        if len(slots):
            self._store(slots, kernel_rows.source[slots])
        return slots

    def gram(self) -> NDArray[np.float64]:
        """Return the kernel values of the kept rows with each other, which must not be columns."""
        out = np.empty((self.n, self.n))
        for start in range(0, self.n, TILE):
            place = slice(start, min(start + TILE, self.n))
            out[place] = self.compare(self.rows[place], learning=False)
        return out

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.rows = state.get("supports", np.empty((0, self.n_features)))
        check_shape("supports", self.rows, None, self.n_features)

    def _kept(self) -> dict[str, NDArray[Any]]:
        return {"supports": self.rows[: self.n].copy()}

    def _grow(self) -> None:
        self.rows = larger(self.rows[: self.n], self.capacity, *self.rows.shape[1:])

    def _store(self, slots: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        """Put the rows ``taken`` of the tile into the slots."""
        self.rows[slots] = self.tile[taken]

    def _fill(self) -> None:
        """Fill ``values`` with the kernel values of the tile and the kept rows."""
        raise NotImplementedError

    def _within(self) -> NDArray[np.float64]:
        """Return the kernel values of the rows of the tile with each other."""
        raise NotImplementedError


class DenseSupports(Supports):
    """Dense rows and a kernel of inner products."""

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        super()._restore(state)
        self.norms = state.get("norms", np.empty(0))
        check_shape("norms", self.norms, len(self.rows))

    def _kept(self) -> dict[str, NDArray[Any]]:
        return super()._kept() | {"norms": self.norms[: self.n].copy()}

    def _grow(self) -> None:
        super()._grow()
        self.norms = larger(self.norms[: self.n], self.capacity)
        self.panels = np.zeros((self.capacity // ACROSS, self.n_features, ACROSS))
        pack(as_rows(self.rows[: self.n]), np.arange(self.n), self.panels)

    def _fill(self) -> None:
        t, n = len(self.tile), self.n
        self.tile = as_rows(self.tile)
        self.tile_norms = np.zeros(t)
        squares(self.tile, self.tile_norms)
        inner(self.tile, self.panels[: -(-n // ACROSS)], self.values)
        others = self.rows, self.norms[:n]
        of_products(self.kernel, self.values[:t], self.tile, self.tile_norms, *others)

    def _within(self) -> NDArray[np.float64]:
        t = len(self.tile)
        panel = np.zeros((1, self.n_features, ACROSS))
        pack(self.tile, np.arange(t), panel)
        within = np.empty((t, ACROSS))
        inner(self.tile, panel, within)
        own_rows = self.tile, self.tile_norms
        of_products(self.kernel, within, *own_rows, *own_rows)
        return within

    def _store(self, slots: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        super()._store(slots, taken)
        self.norms[slots] = self.tile_norms[taken]
        pack(as_rows(self.tile[taken]), slots, self.panels)


class SparseSupports(Supports):
    """CSR rows and a kernel of inner products."""

    sparse = True

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.rows = sparse.csr_array((0, self.n_features))
        self.norms = state.get("norms", np.empty(0))
        check_shape("norms", self.norms, None)
        if "supports" in state:
            check_shape("supports", state["supports"], None)
            arrays = tuple(state[f"supports{part}"] for part in ("", "_indices", "_indptr"))
            self.rows = sparse.csr_array(arrays, shape=(len(self.norms), self.n_features))
            self.rows.check_format(full_check=True)
            # which SciPy does not look at if the last one is 0
            if (np.diff(self.rows.indptr) < 0).any():
                raise ValueError(f"supports_indptr falls: {FIT_AGAIN}")

    def _kept(self) -> dict[str, NDArray[Any]]:
        return {
            "supports": self.rows.data,
            "supports_indices": self.rows.indices,
            "supports_indptr": self.rows.indptr,
            "norms": self.norms,
        }

    def _grow(self) -> None:
        """Rows are stored again with each tile."""

    def _fill(self) -> None:
        self.within = (self.tile @ self.tile.T).toarray()
        self.tile_norms = self.within.diagonal().copy()
        values = (self.tile @ self.rows.T).toarray()
        of_products(self.kernel, values, self.tile, self.tile_norms, self.rows, self.norms)
        self.values[: len(values), : self.n] = values

    def _within(self) -> NDArray[np.float64]:
        own_rows = self.tile, self.tile_norms
        of_products(self.kernel, self.within, *own_rows, *own_rows)
        return self.within

    def _store(self, slots: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        order = np.arange(self.n)
        order[slots] = self.rows.shape[0] + np.arange(len(slots))
        self.rows = sparse.vstack([self.rows, self.tile[taken]], format="csr")[order]
        self.norms = np.append(self.norms, self.tile_norms[taken])[order]


class CalledSupports(Supports):
    """Dense rows and a callable kernel."""

    def _fill(self) -> None:
        if self.n:
            self.values[: len(self.tile), : self.n] = self._call(self.rows[: self.n])

    def _within(self) -> NDArray[np.float64]:
        return self._call(self.tile)

    def _call(self, others: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.kernel.gram(self.tile, others)


class PrecomputedSupports(Supports):
    """Columns of a precomputed kernel: the rows themselves are elsewhere."""

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.rows = state.get("supports", np.empty(0, dtype=np.int64))
        check_shape("supports", self.rows, None, kind=np.int64)
        if len(self.rows) and not 0 <= self.rows.min() <= self.rows.max() < self.n_features:
            raise ValueError(
                f"column {self.rows.max()} of a precomputed kernel was kept, but there are "
                f"{self.n_features}: fit again"
            )

    def _fill(self) -> None:
        self.values[: len(self.tile), : self.n] = self.tile[:, self.rows[: self.n]]

    def _within(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.tile[:, self.columns])

    def _store(self, slots: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        self.rows[slots] = self.columns[taken]


def larger(array: NDArray[Any], *shape: int) -> NDArray[Any]:
    """Return the array with zeros added at the end of its axes."""
    out = np.zeros(shape, array.dtype)
    out[tuple(map(slice, array.shape))] = array
    return out


def _whole(n: int) -> int:
    """Return the places of the panels that hold n rows."""
    return -(-n // ACROSS) * ACROSS
