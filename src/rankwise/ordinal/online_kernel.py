"""What the online models learn from: rows, explicit maps of them, or kernel values."""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import Tags

from rankwise._core._loops.rows import as_rows, as_stream
from rankwise._core._loops.shapes import as_floats, check_shape
from rankwise._core.inputs import dense
from rankwise._core.kernels import KERNEL_CONSTRAINTS, Kernel, map_width, polynomial_map
from rankwise._core.ordinal import OnlineMixin, Pass, State
from rankwise._core.sklearn_private import Interval
from rankwise._core.validation import bad_row
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
_NAMES = ("linear", "poly", "rbf", "precomputed")


class LinearRows:
    """Rows as they are. A direction has a number for each feature."""

    def __init__(self, description: NDArray[np.float64], n_features: int) -> None:
        self.description, self.width = description, n_features

    def check(self, X: Any, *, whole: bool) -> None:
        """All rows can be learned from."""

    def learn(
        self,
        one_pass: Pass,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        """Give all rows to ``one_pass`` at once."""
        stream = as_stream(X, ranks, state["counts"], order=order, guesses=guesses)
        return one_pass(stream, state)

    def parts(self, X: Any, state: State) -> Iterator[tuple[slice, Any]]:
        """Yield all rows."""
        yield slice(None), as_rows(X)

    def attributes(self, state: State, learned: dict[str, Any]) -> dict[str, Any]:
        """Directions are those of the features."""
        return learned

    def products(self, W: NDArray[np.float64], state: State) -> NDArray[np.float64]:
        """Return the inner products of directions with each other."""
        return W @ W.T


class MappedRows(LinearRows):
    """Rows of monomials, whose inner products are those of a polynomial kernel."""

    def __init__(self, description: NDArray[np.float64], kernel: Kernel, n_features: int) -> None:
        super().__init__(description, map_width(n_features, kernel.degree, kernel.coef0))
        self.numbers = {name: getattr(kernel, name) for name in ("degree", "gamma", "coef0")}

    def learn(
        self,
        one_pass: Pass,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        """Map some rows after the others, and give them to ``one_pass``."""
        for place, rows, tile in _tiles(X, order, _MAPPED_ROWS):
            mapped = polynomial_map(tile, **self.numbers)
            stream = as_stream(mapped, ranks[rows], state["counts"], guesses=guesses[place])
            bad = one_pass(stream, state)
            if bad >= 0:
                return int(rows[bad])
        return -1

    def parts(self, X: Any, state: State) -> Iterator[tuple[slice, Any]]:
        """Yield some mapped rows after the others."""
        for place, _, tile in _tiles(X, None, _MAPPED_ROWS):
            yield place, as_rows(polynomial_map(tile, **self.numbers))


class DualRows:
    """Rows as their kernel values with the rows that were kept; see `rankwise.ordinal._supports`.

    A direction has a number for each kept row, at first none. ``directions`` names the arrays of
    the state that hold directions.
    """

    width = 0

    def __init__(
        self,
        description: NDArray[np.float64],
        kernel: Kernel,
        n_features: int,
        budget: int | None,
        directions: tuple[str, ...],
    ) -> None:
        self.description, self.kernel, self.n_features = description, kernel, n_features
        self.budget, self.directions = budget, directions
        self.precomputed = kernel.kernel == "precomputed"

    def check(self, X: Any, *, whole: bool) -> None:
        """Refuse a precomputed kernel that is not square, if it is the whole."""
        if self.precomputed and whole and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape}, but with kernel='precomputed' fit takes the square matrix "
                "of all pairs of rows; partial_fit takes some rows of it"
            )

    def learn(
        self,
        one_pass: Pass,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        """Give the kernel values of some rows after the others to ``one_pass``.

        ``slots`` says where each row of X is kept, and ``owner`` which row each slot keeps: what
        was kept in an earlier pass, and not removed since, has its slot.
        """
        supports = self._supports(state, sparse=issparse(X))
        slots = state.pop("slots", np.full(X.shape[0], -1))
        owner = state.pop("owner", np.empty(0, dtype=np.int64))
        directions = [name for name in self.directions if name in state]
        for name in directions:
            # Empty before the first row is kept, and if iterates are not averaged.
            length = supports.n if state[name].size else None
            check_shape(name, state[name], *([None] * (state[name].ndim - 1)), length)
        first = self._first_column(X, state)
        for place, rows, tile in _tiles(X, order, TILE, sparse=supports.sparse):
            kernel_rows = supports.compare(tile, first + rows, learning=True)
            if len(owner) < supports.capacity:
                owner = larger(owner, supports.capacity)
                for name in directions:
                    state[name] = larger(state[name], *state[name].shape[:-1], supports.capacity)
            kernel_rows.slots[:] = np.where(owner[slots[rows]] == rows, slots[rows], -1)
            stream = as_stream(kernel_rows, ranks[rows], state["counts"], guesses=guesses[place])
            bad = one_pass(stream, state)
            if bad >= 0:
                return int(rows[bad])
            taken = supports.keep(kernel_rows)
            owner[taken] = rows[kernel_rows.source[taken]]
            slots[rows] = kernel_rows.slots
        for name in directions:
            state[name] = state[name][..., : supports.n].copy()
        state.update(supports.state(), slots=slots, owner=owner[: supports.n])
        return -1

    def parts(self, X: Any, state: State) -> Iterator[tuple[slice, Any]]:
        """Yield the kernel values of some rows after the others."""
        supports = self._supports(state, sparse=False)
        for place, _, tile in _tiles(X, None, TILE, sparse=supports.sparse):
            yield place, supports.compare(tile, learning=False)

    def attributes(self, state: State, learned: dict[str, Any]) -> dict[str, Any]:
        """Directions are dual, and the kept rows are added."""
        del state["slots"], state["owner"]
        renamed = {name.replace("coef_", "dual_coef_"): value for name, value in learned.items()}
        rows = self._supports(state, sparse=False).rows.copy()
        return renamed | {"support_" if self.precomputed else "support_vectors_": rows}

    def products(self, W: NDArray[np.float64], state: State) -> NDArray[np.float64]:
        """Return the inner products of directions with each other."""
        if self.precomputed:
            raise ValueError(
                "with kernel='precomputed' the kept rows' kernel values with each other are not "
                "known after fit: multiply members_dual_coef_ with those of support_"
            )
        return W @ (self._supports(state, sparse=False).gram() @ W.T)

    def _supports(self, state: State, *, sparse: bool) -> Supports:
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


Source = LinearRows | DualRows


class KernelMixin(OnlineMixin):
    """An online model that learns in the features, in an explicit map of them, or in the dual.

    In the dual, the arrays of the state that ``_directions`` names have a place for each kept row
    instead of each feature, and the learned ``coef_`` is called ``dual_coef_``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OnlineMixin._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        "budget": [Interval(Integral, 1, None, closed="left"), None],
    }
    _directions: ClassVar[tuple[str, ...]]
    # Whether each rank has a direction of its own, instead of thresholds on a common one.
    _own_directions: ClassVar[bool] = False

    kernel: str | Callable[[Any, Any], Any]
    gamma: float | None
    degree: int
    coef0: float
    budget: int | None
    n_features_in_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _source(self, state: State | None) -> Source:
        """Return the rows to learn from; refuse another kernel or budget than the state's."""
        n_features = self.n_features_in_
        try:
            gamma = 1 / n_features if self.gamma is None else float(self.gamma)
            kernel = Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))
            described = _described(kernel, self.budget)
        except (TypeError, ValueError):
            self._validate_params()  # says which parameter is wrong
            raise
        if state is not None:
            check_shape("counts", state["counts"], 3, kind=np.int64)
            if not np.array_equal(state.get("kernel", ()), described):
                raise ValueError(
                    f"the kernel {self.kernel!r}, one of its numbers or budget={self.budget} was "
                    "changed within a stream: set back what it began with, or fit anew"
                )
        if kernel.kernel == "linear":
            return LinearRows(described, n_features)
        if kernel.kernel == "poly":
            mapped = MappedRows(described, kernel, n_features)
            if mapped.width <= _SMALL:
                return mapped
        return DualRows(described, kernel, n_features, self.budget, self._directions)

    def _parts(self, X: Any) -> Iterator[tuple[slice, Any]]:
        source = self._source(self._state)
        self._check_classes(self._count_ranks(self._state))
        yield from source.parts(X, self._state)

    def _direction(self) -> NDArray[np.float64]:
        name = "dual_coef_" if "supports" in self._state else "coef_"
        direction = as_floats(name, getattr(self, name, None))
        ranks = (self._count_ranks(self._state),) if self._own_directions else ()
        check_shape(name, direction, *ranks, None)
        return direction

    def _check_labels_again(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[np.int64]:
        self._check_classes(self._count_ranks(self._state))
        return super()._check_labels_again(y, classes)

    def _check_classes(self, n_ranks: int) -> None:
        """Refuse labels and thresholds that are not those of the state."""
        classes = np.asarray(self.classes_)
        check_shape("classes_", classes, n_ranks, kind=classes.dtype)
        if not self._own_directions:
            check_shape("thresholds_", as_floats("thresholds_", self.thresholds_), n_ranks - 1)

    def _count_ranks(self, state: State) -> int:
        raise NotImplementedError


def _described(kernel: Kernel, budget: int | None) -> NDArray[np.float64]:
    """Return the kernel and the budget as numbers."""
    if callable(kernel.kernel):
        return np.array([-1.0, budget or 0])
    numbers = {"rbf": [kernel.gamma], "poly": [kernel.gamma, kernel.degree, kernel.coef0]}
    used = numbers.get(kernel.kernel, [])
    return np.array([_NAMES.index(kernel.kernel), budget or 0, *used], dtype=np.float64)


def _tiles(
    X: Any, order: NDArray[np.int64] | None, size: int, *, sparse: bool = False
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
        rows = np.arange(place.start, place.stop) if order is None else order[place]
        tile = X[place] if order is None else X[rows]
        if sparse:
            tile = csr_array(tile, dtype=np.float64)
            tile.sum_duplicates()
            yield place, rows, tile
        else:
            yield place, rows, dense(tile).astype(np.float64, copy=False)
