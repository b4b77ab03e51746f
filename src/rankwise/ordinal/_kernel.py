"""What the online models share to learn with kernels."""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from rankwise.base import OnlineMixin, State, bad_row
from rankwise.engine.kernels import KERNEL_CONSTRAINTS, Kernel, map_width, polynomial_map
from rankwise.engine.loops.rows import as_rows
from rankwise.engine.loops.shapes import as_floats, check_shape
from rankwise.engine.supports import (
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


class KernelMixin(OnlineMixin):
    """An online model that learns in the features, in an explicit map of them, or in the dual.

    In the dual, the arrays of the state that ``_directions`` names have a place for each kept row
    instead of each feature, and ``_pass`` is given kernel values instead of rows; see
    `rankwise.engine.loops.supports`. What `_name` sets becomes ``dual_coef_``, not ``coef_``.
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

    def _check_whole(self, X: Any) -> None:
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape}, but with kernel='precomputed' fit takes the square matrix "
                "of all pairs of rows; partial_fit takes some rows of it"
            )

    def _mapped(self, n_features: int) -> bool:
        """Return whether the explicit map of the kernel is used."""
        return self.kernel == "poly" and map_width(n_features, self.degree, self.coef0) <= _SMALL

    def _width(self, n_features: int) -> int:
        if self._mapped(n_features):
            return map_width(n_features, self.degree, self.coef0)
        return n_features if self.kernel == "linear" else 0

    def _known_gamma(self) -> float:
        return 1 / self.n_features_in_ if self.gamma is None else float(self.gamma)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self._known_gamma(), int(self.degree), float(self.coef0))

    def _check_kernel(self, state: State) -> None:
        """Refuse a kernel or a budget other than the state's, which takes them when it has none."""
        check_shape("counts", state["counts"], 3, kind=np.int64)
        kernel = self._kernel()
        name = -1 if callable(kernel.kernel) else _NAMES.index(kernel.kernel)
        numbers = {"rbf": [kernel.gamma], "poly": [kernel.gamma, kernel.degree, kernel.coef0]}
        used = numbers.get(_NAMES[name], []) if name >= 0 else []
        described = np.array([name, self.budget or 0, *used], dtype=np.float64)
        if not np.array_equal(state.setdefault("kernel", described), described):
            raise ValueError(
                f"the kernel {self.kernel!r}, one of its numbers or budget={self.budget} was "
                "changed within a stream: set back what it began with, or fit anew"
            )

    def _count_ranks(self, state: State) -> int:
        raise NotImplementedError

    def _check_classes(self, n_ranks: int) -> None:
        """Refuse labels and thresholds that are not those of the state."""
        classes = np.asarray(self.classes_)
        check_shape("classes_", classes, n_ranks, kind=classes.dtype)
        if not self._own_directions:
            check_shape("thresholds_", as_floats("thresholds_", self.thresholds_), n_ranks - 1)

    def _check_labels_again(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[np.int64]:
        self._check_classes(self._count_ranks(self._state))
        return super()._check_labels_again(y, classes)

    def _supports(self, state: State, *, sparse: bool) -> Supports:
        kind: type[Supports] = DenseSupports
        if self.kernel == "precomputed":
            kind = PrecomputedSupports
        elif callable(self.kernel):
            kind = CalledSupports
        elif "supports_indptr" in state or ("supports" not in state and sparse):
            kind = SparseSupports
        return kind(self._kernel(), state, self.n_features_in_, self.budget)

    def _parts(self, X: Any) -> Iterator[tuple[slice, Any]]:
        self._validate_params()
        self._check_kernel(self._state)
        self._check_classes(self._count_ranks(self._state))
        if self.kernel == "linear":
            yield from super()._parts(X)
        elif self._mapped(X.shape[1]):
            for place, _, tile in _tiles(X, None, _MAPPED_ROWS):
                yield place, as_rows(self._map(tile))
        else:
            supports = self._supports(self._state, sparse=False)
            for place, _, tile in _tiles(X, None, TILE, sparse=supports.sparse):
                yield place, supports.face(tile, learning=False)

    def _learn_from(
        self,
        X: Any,
        ranks: NDArray[np.int64],
        state: State,
        order: NDArray[np.int64] | None,
        guesses: NDArray[np.int64],
    ) -> int:
        self._check_kernel(state)
        if self.kernel == "linear":
            return super()._learn_from(X, ranks, state, order, guesses)
        if self._mapped(X.shape[1]):
            for place, rows, tile in _tiles(X, order, _MAPPED_ROWS):
                bad = self._pass(self._map(tile), ranks[rows], state, None, guesses[place])
                if bad >= 0:
                    return int(rows[bad])
            return -1
        supports = self._supports(state, sparse=issparse(X))
        slots = state.setdefault("slots", np.full(X.shape[0], -1))
        owner = state.setdefault("owner", np.empty(0, dtype=np.int64))
        directions = [name for name in self._directions if name in state]
        for name in directions:
            # empty before the first row is kept, and if iterates are not averaged
            length = supports.n if state[name].size else None
            check_shape(name, state[name], *([None] * name.isupper()), length)
        first = self._first_column(X, state)
        for place, rows, tile in _tiles(X, order, TILE, sparse=supports.sparse):
            faced = supports.face(tile, first + rows, learning=True)
            if len(owner) < supports.capacity:
                owner = larger(owner, supports.capacity)
                for name in directions:
                    state[name] = larger(state[name], *state[name].shape[:-1], supports.capacity)
            # What was learned from in an earlier pass, and not let go since, has its slot.
            faced.slots[:] = np.where(owner[slots[rows]] == rows, slots[rows], -1)
            bad = self._pass(faced, ranks[rows], state, None, guesses[place])
            if bad >= 0:
                return int(rows[bad])
            taken = supports.keep(faced)
            owner[taken] = rows[faced.source[taken]]
            slots[rows] = faced.slots
        for name in directions:
            state[name] = state[name][..., : supports.n].copy()
        state.update(supports.state(), owner=owner[: supports.n])
        return -1

    def _first_column(self, X: Any, state: State) -> int:
        """Return the column of a precomputed kernel that belongs to the first row of X."""
        n, columns = X.shape
        if self.kernel != "precomputed" or n == columns:
            return 0
        first = int(state["counts"][0])
        if first + n > columns:
            raise ValueError(
                f"X has {n} rows after {first} others, but a precomputed kernel of {columns} "
                "columns has one for each row of the stream, in order"
            )
        return first

    def _finish(self, state: State, classes: NDArray[Any]) -> None:
        for name in ("slots", "owner"):
            state.pop(name, None)
        super()._finish(state, classes)

    def _name(self, state: State, **directions: NDArray[np.float64]) -> None:
        """Set what was learned, and the rows that were kept if there are any."""
        dual = "supports" in state
        for name in ("support_", "support_vectors_"):
            self.__dict__.pop(name, None)
        for name, value in directions.items():
            names = name, name.replace("coef_", "dual_coef_")
            self.__dict__.pop(names[not dual], None)
            setattr(self, names[dual], value)
        if dual:
            rows = self._supports(state, sparse=False).rows.copy()
            setattr(self, "support_" if self.kernel == "precomputed" else "support_vectors_", rows)

    def _direction(self) -> NDArray[np.float64]:
        name = "dual_coef_" if "supports" in self._state else "coef_"
        direction = as_floats(name, getattr(self, name, None))
        ranks = (self._count_ranks(self._state),) if self._own_directions else ()
        check_shape(name, direction, *ranks, None)
        return direction

    def _products(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inner products of directions with each other."""
        self._check_kernel(self._state)
        if self.kernel == "precomputed":
            raise ValueError(
                "with kernel='precomputed' the kept rows' kernel values with each other are not "
                "known after fit: multiply members_dual_coef_ with those of support_"
            )
        dual = "supports" in self._state
        return W @ (self._supports(self._state, sparse=False).gram() @ W.T if dual else W.T)

    def _map(self, tile: NDArray[np.float64]) -> NDArray[np.float64]:
        gamma = self._known_gamma()
        return polynomial_map(tile, degree=self.degree, gamma=gamma, coef0=self.coef0)


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
            dense = tile.toarray() if issparse(tile) else tile
            yield place, rows, dense.astype(np.float64, copy=False)
