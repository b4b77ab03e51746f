"""Kernels of the online models: explicit maps of rows, and kernel values with the rows kept."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from rankwise._core._loops.rows import NONE, as_rows
from rankwise._core.inputs import bad_row, check_rows, dense
from rankwise._core.kernels import KERNEL_CONSTRAINTS, Kernel
from rankwise._core.ordinal import LinearRows, OnlineMixin, State
from rankwise._core.sklearn_private import Interval
from rankwise.ordinal._loops.kernel_values import monomials
from rankwise.ordinal._loops.prank import member_ranks
from rankwise.ordinal._supports import (
    TILE,
    CalledSupports,
    DenseSupports,
    PrecomputedSupports,
    SparseSupports,
    Supports,
    larger,
)

# Columns up to which the explicit map of a polynomial kernel is used.
_SMALL = 500
_MAPPED_ROWS = 1024
# Rows whose ranks by all members are held at a time, and the numbers of ranks at most.
_RANKED_ROWS, _RANKS = 4096, 1 << 22
_NAMES = ("linear", "poly", "rbf", "precomputed")


def map_width(n_features: int, degree: int, coef0: float) -> int:
    """Return the number of columns of `polynomial_map`."""
    return comb(n_features + degree - (coef0 == 0), degree)


@lru_cache(maxsize=8)
def _terms(n_factors: int, degree: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the multisets of factors, and the roots of how often each occurs in the power."""
    terms = list(combinations_with_replacement(range(n_factors), degree))
    ways = [factorial(degree) // prod(map(factorial, Counter(t).values())) for t in terms]
    return np.array(terms), np.sqrt(np.array(ways, dtype=np.float64))


def polynomial_map(
    X: NDArray[np.float64], *, degree: int, gamma: float = 1.0, coef0: float = 1.0
) -> NDArray[np.float64]:
    r"""Map rows so that inner products are :math:`(\gamma\, x \cdot x' + c_0)^p`.

    By the multinomial theorem, a column a multiset of p factors out of the d features and the
    constant: :math:`\binom{d+p}{p}` columns, or :math:`\binom{d+p-1}{p}` when c_0 = 0.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    degree : int
        The power p.
    gamma, coef0 : float
        The scale, more than 0, and the constant, at least 0.
    """
    factors = np.sqrt(gamma) * X
    if coef0 > 0:
        factors = np.hstack([np.full((len(X), 1), np.sqrt(coef0)), factors])
    mapped = np.empty((len(X), map_width(X.shape[1], degree, coef0)))
    monomials(factors, *_terms(factors.shape[1], degree), mapped)
    return mapped


class MappedRows(LinearRows):
    """Rows of monomials, whose inner products are those of a polynomial kernel."""

    def __init__(self, description: NDArray[np.float64], kernel: Kernel, n_features: int) -> None:
        super().__init__(description, map_width(n_features, kernel.degree, kernel.coef0))
        self.numbers = {name: getattr(kernel, name) for name in ("degree", "gamma", "coef0")}

    def tiles(
        self, X: Any, state: State, order: NDArray[np.int64] = NONE, *, learning: bool = False
    ) -> Iterator[tuple[slice, NDArray[np.int64] | None, Any]]:
        """Yield some mapped rows after the others."""
        for place, numbers, tile in _tiles(X, order, _MAPPED_ROWS):
            yield place, numbers, polynomial_map(tile, **self.numbers)


class DualRows(LinearRows):
    """Rows as their kernel values with the rows that were kept; see `rankwise.ordinal._supports`.

    A direction has a number for each kept row, at first none. ``directions`` names the arrays of
    the state that hold directions.
    """

    def __init__(
        self,
        description: NDArray[np.float64],
        kernel: Kernel,
        n_features: int,
        budget: int | None,
        directions: tuple[str, ...],
    ) -> None:
        super().__init__(description, 0)
        self.kernel, self.n_features = kernel, n_features
        self.budget, self.directions = budget, directions
        self.precomputed = kernel.kernel == "precomputed"
        # The slot where each row of X is kept, or -1, and the row that each slot keeps.
        self.slots: NDArray[np.int64] | None = None
        self.owner = np.empty(0, dtype=np.int64)

    def tiles(
        self, X: Any, state: State, order: NDArray[np.int64] = NONE, *, learning: bool = False
    ) -> Iterator[tuple[slice, NDArray[np.int64] | None, Any]]:
        """Yield the kernel values of some rows after the others; keep those learned from.

        What was kept in an earlier pass, and not removed since, has its slot.
        """
        supports = self.supports(state, sparse=learning and issparse(X))
        tiles = _tiles(X, order, TILE, sparse=supports.sparse)
        if not learning:
            for place, numbers, tile in tiles:
                yield place, numbers, supports.compare(tile, learning=False)
            return
        slots = np.full(X.shape[0], -1) if self.slots is None else self.slots
        owner = self.owner
        directions = [name for name in self.directions if name in state]
        first = self._first_column(X, state)
        for place, rows, tile in tiles:
            kernel_rows = supports.compare(tile, first + rows, learning=True)
            if len(owner) < supports.capacity:
                owner = larger(owner, supports.capacity)
                for name in directions:
                    state[name] = larger(state[name], *state[name].shape[:-1], supports.capacity)
            kernel_rows.slots[:] = np.where(owner[slots[rows]] == rows, slots[rows], -1)
            yield place, rows, kernel_rows
            taken = supports.keep(kernel_rows)
            owner[taken] = rows[kernel_rows.source[taken]]
            slots[rows] = kernel_rows.slots
        for name in directions:
            state[name] = state[name][..., : supports.n].copy()
        state.update(supports.state())
        self.slots, self.owner = slots, owner[: supports.n]

    def length(self, state: State) -> int:
        """Return the number of rows kept."""
        return self.supports(state).n

    def products(self, W: NDArray[np.float64], state: State) -> NDArray[np.float64]:
        """Return the inner products of directions with each other."""
        if self.precomputed:
            raise ValueError(
                "with kernel='precomputed' the kept rows' kernel values with each other are not "
                "known after fit: multiply members_dual_coef_ with those of support_"
            )
        return W @ (self.supports(state).gram() @ W.T)

    def supports(self, state: State, *, sparse: bool = False) -> Supports:
        """Return the rows that were kept; raise if their arrays don't fit each other."""
        kind: type[Supports] = DenseSupports
        if self.precomputed:
            kind = PrecomputedSupports
        elif callable(self.kernel.kernel):
            kind = CalledSupports
        elif "supports_indptr" in state or ("supports" not in state and sparse):
            kind = SparseSupports
        return kind(self.kernel, state, self.n_features, self.budget)

    def _first_column(self, X: Any, state: State) -> int:
        """Return the column of a precomputed kernel that belongs to the first row of X."""
        n, columns = X.shape
        if not self.precomputed or n == columns:
            return 0
        first = int(state["counts"][0])
        if first + n > columns:
            raise ValueError(
                f"X has {n} rows after {first} others, but a precomputed kernel of {columns} "
                "columns has one for each row of the stream, in order"
            )
        return first


class KernelMixin(OnlineMixin):
    """An online model that learns in the features, in an explicit map of them, or in the dual.

    In the dual, the arrays of the state that ``_directions`` names have a number for each kept row
    instead of each feature, and the learned ``coef_`` is called ``dual_coef_``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineMixin._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        "budget": [Interval(Integral, 1, None, closed="left"), None],
    }
    _directions: ClassVar[tuple[str, ...]]

    kernel: str | Callable[[Any, Any], Any]
    gamma: float | None
    degree: int
    coef0: float
    budget: int | None

    def _kernel_source(self) -> LinearRows:
        n_features = self.n_features_in_
        try:
            gamma = 1 / n_features if self.gamma is None else float(self.gamma)
            kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
            described = _described(kernel, self.budget)
        except (TypeError, ValueError):
            self._validate_params()  # names the parameter that is invalid
            raise
        if kernel.kernel == "poly":
            mapped = MappedRows(described, kernel, n_features)
            if mapped.width <= _SMALL:
                return mapped
        return DualRows(described, kernel, n_features, self.budget, self._directions)

    def _member_ranks(
        self, X: ArrayLike, W: NDArray[np.float64], B: NDArray[np.float64]
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the ranks that directions and thresholds give to some rows after the others."""
        rows = check_rows(self, X, reset=False)
        size = max(1, min(_RANKED_ROWS, _RANKS // len(W)))
        for start in range(0, rows.shape[0], size):
            some = rows[start : start + size]
            ranks = np.empty((some.shape[0], len(W)), dtype=np.int64)
            for place, _, tile in self._tiles(some):
                member_ranks(as_rows(tile), W, B, ranks[place])
            bad = np.flatnonzero((ranks < 0).any(axis=1))
            if len(bad):
                raise bad_row(rows, start + bad[0])
            yield ranks

    def _set_supports(self, source: Any, state: State) -> None:
        rows = source.supports(state).rows.copy()
        setattr(self, "support_" if source.precomputed else "support_vectors_", rows)


def _described(kernel: Kernel, budget: int | None) -> NDArray[np.float64]:
    """Return the kernel and the budget as numbers."""
    most = float(budget) if isinstance(budget, Integral) else 0.0
    if callable(kernel.kernel):
        return np.array([-1.0, most])
    numbers = {"rbf": [kernel.gamma], "poly": [kernel.gamma, kernel.degree, kernel.coef0]}
    used = numbers.get(kernel.kernel, [])
    return np.array([_NAMES.index(kernel.kernel), most, *used], dtype=np.float64)


def _tiles(
    X: Any, order: NDArray[np.int64], size: int, *, sparse: bool = False
) -> Iterator[tuple[slice, NDArray[np.int64], Any]]:
    """Yield places in the order, which rows are there, and the rows themselves in float64."""
    values = X.data if issparse(X) else X
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))[0]
        in_csr = issparse(X)
        raise bad_row(
            X, np.searchsorted(X.indptr, bad, "right") - 1 if in_csr else bad // X.shape[1]
        )
    for start in range(0, X.shape[0], size):
        place = slice(start, min(start + size, X.shape[0]))
        rows = order[place] if len(order) else np.arange(place.start, place.stop)
        tile = X[rows] if len(order) else X[place]
        if sparse:
            tile = csr_array(tile, dtype=np.float64)
            tile.sum_duplicates()
            yield place, rows, tile
        else:
            yield place, rows, dense(tile).astype(np.float64, copy=False)
