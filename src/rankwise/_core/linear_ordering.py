"""Local search for the order of n items whose pairs are worth most.

Every item is inserted at its best place, O(n) for each, until none gains. Then the order is
perturbed: a few items are inserted elsewhere at random, those that were passed find their best
places again, and the new order is kept if it is not worse. The compiled loops run for some
hundredths of a second at a time; in between, the deadline is checked and Ctrl-C is noticed.
"""

from collections.abc import Iterator
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse.csgraph import connected_components

from rankwise._core._loops.linear_ordering import (
    Search,
    insert_waiting,
    most_violated,
    order_by_subsets,
    order_cost,
    pack,
    perturb,
    violated,
)
from rankwise._core.child_process import ChildError, call

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Margins that a loop reads before the clock is read.
SLICE = 1 << 24
# How many items are inserted in a round of perturbation, by order of magnitude.
_ITEMS = 500
_SEED = 0x2545F4914F6CDD1D


def improve(
    margins: Floats, order: Indices, *, rounds: int, min_gain: float, deadline: float = np.inf
) -> float:
    """Improve an order in place; return the sum of margins that was gained.

    Parameters
    ----------
    margins : ndarray of shape (n, n)
        ``margins[i, j] = -margins[j, i]`` is the gain of having i before j.
    order : ndarray of shape (n,)
        Any order of 0..n-1. It is one at any time, also if the search is interrupted.
    rounds : int
        How often to perturb.
    min_gain : float
        An item stays where it is unless another place gains more than this.
    deadline : float, default=inf
        The value of ``time.monotonic()`` at which to stop. There is always a first slice of work,
        so that orders of a few hundred items reach a local optimum whatever the deadline. Before
        the deadline it has no influence on the result.
    """
    n = len(order)
    if n < 2:
        return 0.0
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    queue, ends = np.empty(n, dtype=np.int64), np.zeros(2, dtype=np.int64)
    search = Search(margins, order, position, queue, ends, np.zeros(n, dtype=np.bool_))
    total = _to_local_optimum(search, min_gain, deadline)
    state = np.array([_SEED], dtype=np.uint64)
    step = max(SLICE // (n * _ITEMS), 1)
    for done in range(0, rounds, step):
        if monotonic() >= deadline:
            return total
        total += perturb(search, min_gain, state, min(step, rounds - done))
    return total + _to_local_optimum(search, min_gain, deadline) if rounds else total


def _to_local_optimum(search: Search, min_gain: float, deadline: float) -> float:
    """Insert items until none has a better place; return the gain."""
    n, ends = len(search.order), search.ends
    max_items = max(SLICE // n, 1)
    total, gain = 0.0, 1.0
    while gain > 0:
        search.queue[:], search.is_waiting[:] = search.order, True
        ends[:] = 0, n
        gain = insert_waiting(search, min_gain, max_items)
        while ends[0] < ends[1] and monotonic() < deadline:
            gain += insert_waiting(search, min_gain, max_items)
        total += gain
        if monotonic() >= deadline:
            break
    return total


_TOLERANCE = 1e-6
# The largest component that goes through all subsets.
_FEW = 10
# Rounds of the local search: two for each thing, and this many at most.
_ROUNDS = 2_000
# Triangles that are added at once, and that the linear program can hold.
_BATCH = 100_000
_MOST = 200_000
# Seconds that a solver may keep Ctrl-C waiting, and that a process takes to start and to end.
_SHORT = 0.5
_START = 1.0
# The status of a result of SciPy's.
_OUT_OF_TIME = 1
_INFEASIBLE = 2
_SIGNS = np.array([1.0, 1.0, -1.0])


class Ordering(NamedTuple):
    """An order, the sum of the margins against it, and a lower bound on any order's."""

    order: Indices
    cost: float
    lower_bound: float


def components(margins: Floats) -> list[Indices]:
    """Return the strongly connected components of the graph of positive margins, best first.

    No pair of two components has a margin against their order. Where that leaves a choice, the
    component with the larger mean margin goes first.
    """
    count, label = connected_components(sparse.csr_array(margins > 0), connection="strong")
    nodes = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=count)
    starts = np.cumsum(sizes) - sizes
    above = np.logical_or.reduceat(margins[nodes] > 0, starts, axis=0)
    beats = np.logical_or.reduceat(above[:, nodes], starts, axis=1)
    np.fill_diagonal(beats, False)
    strength = np.bincount(label, margins.mean(axis=1), minlength=count) / sizes
    waits = beats.sum(axis=0)
    cycles = []
    for _ in range(count):
        best = int(np.argmax(np.where(waits == 0, strength, -np.inf)))
        waits -= beats[best]
        waits[best] = -1
        cycles.append(nodes[starts[best] : starts[best] + sizes[best]])
    return cycles


def solve(margins: Floats, *, max_proven: float = np.inf, deadline: float = np.inf) -> Ordering:
    """Find the order of least cost, or the best that can be found and a bound.

    Parameters
    ----------
    margins : ndarray of shape (n, n)
        Antisymmetric and finite: the gain of having i before j.
    max_proven : float, default=inf
        If a component has more items than this, the search ends without a proof: components of
        ten items at most are optimal, and the bound of others is zero, that no margin is lost.
    deadline : float, default=inf
        The value of ``time.monotonic()`` at which to end. The bound is then what is proven so far.

    Returns
    -------
    Ordering
        Proven to be optimal if the bound equals the cost. If margins are not integers after
        a scaling, optimal means within a millionth of the largest margin for each component.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise._core.linear_ordering import solve
    >>> margins = np.array([[0.0, 3, -1], [-3, 0, 2], [1, -2, 0]])    # a circle: 0, 1, 2, 0
    >>> found = solve(margins)
    >>> found.order.tolist(), found.cost, found.lower_bound
    ([0, 1, 2], 1.0, 1.0)
    """
    unit, whole = _unit(margins)
    scaled = margins / unit
    groups = components(scaled)
    prove = max(map(len, groups)) <= max_proven
    solutions: dict[int, Ordering] = {}
    # The smallest first: they take the least time.
    for g in sorted(range(len(groups)), key=lambda g: len(groups[g])):
        inside = scaled[np.ix_(groups[g], groups[g])]
        solutions[g] = _solve_component(inside, prove=prove, deadline=deadline, whole=whole)
    return Ordering(
        np.concatenate([group[solutions[g].order] for g, group in enumerate(groups)]),
        unit * sum(part.cost for part in solutions.values()),
        unit * sum(part.lower_bound for part in solutions.values()),
    )


def _unit(margins: Floats) -> tuple[float, bool]:
    """Return what to divide margins by, and whether they are integers then."""
    largest = float(margins.max(initial=0.0))
    if largest == 0:
        return 1.0, True
    if largest < 2**53:
        upper = margins[np.triu_indices(len(margins), 1)]
        integers = upper.astype(np.int64)
        if (integers == upper).all():
            return float(np.gcd.reduce(integers)), True
    return largest, False


def _solve_component(margins: Floats, *, prove: bool, deadline: float, whole: bool) -> Ordering:
    """Find the best order of one component; margins are integers, or 1 at most."""
    n = len(margins)
    if n <= _FEW:
        order = order_by_subsets(np.maximum(margins, 0.0))
        cost = _against(margins, order)
        return Ordering(order, cost, cost)
    order = np.argsort(-margins.sum(axis=1), kind="stable")
    rounds = min(2 * n, _ROUNDS)
    improve(margins, order, rounds=rounds, min_gain=_TOLERANCE, deadline=deadline)
    first = Ordering(order, _against(margins, order), 0.0)
    if first.cost == 0 or not prove or monotonic() >= deadline:
        return first
    return _Relaxation(margins, first, deadline, whole).solve()


class _Relaxation:
    """The search for a proof, in variables that say which pairs of the first order are turned."""

    def __init__(self, margins: Floats, first: Ordering, deadline: float, whole: bool) -> None:
        n = len(margins)
        self.margins, self.first, self.deadline, self.whole = margins, first, deadline, whole
        self.best, self.gain = first.order, 0.0
        self.slow = False
        self.upper = np.triu(np.ones((n, n), dtype=np.bool_), 1)
        self.costs = margins[np.ix_(first.order, first.order)][self.upper]
        # Whether a pair is turned, if that is decided, and otherwise -1.
        self.fixed = np.full(len(self.costs), -1, dtype=np.int8)
        self.bound = float(np.minimum(self.costs, 0).sum())
        self.rows = np.empty((0, 4), dtype=np.int64)

    def solve(self) -> Ordering:
        new = self._first_rows()
        keep_all = False
        while not self._proven() and self._left() > 0:
            if not len(new):
                self._branch()
                break
            if not self._add(new):
                break
            before = self.bound
            solution = self._relax()
            if solution is None:
                break
            turned, loose = solution
            # Loose rows may come back; when the bound hardly moves that would go round in circles.
            keep_all = keep_all or self.bound - before < 0.05 * (-self.gain - before)
            if not keep_all:
                self.rows = self.rows[~loose]
            self._round(turned)
            new = self._violated(turned)
        cost = self.first.cost - self.gain
        bound = cost if self._proven() else self.first.cost + self._rounded()
        return Ordering(self.best, cost, min(bound, cost))

    def _add(self, new: Indices) -> bool:
        """Add rows as far as there is space; return whether there is any."""
        room = _MOST - len(self.rows)
        self.rows = np.concatenate([self.rows, new[:room]])
        return room > 0

    def _rounded(self) -> float:
        return float(np.ceil(self.bound - _TOLERANCE)) if self.whole else self.bound

    def _proven(self) -> bool:
        """Whether nothing is better than the best order by more than rounding."""
        return self._rounded() >= -self.gain - (0 if self.whole else _TOLERANCE)

    def _first_rows(self) -> Indices:
        """Bound the cost by circles of three; return all of them, or those of the bound if many."""
        margins = self._matrix(self.costs)
        circles = np.empty((_BATCH, 4), dtype=np.int64)
        count = 0
        for first, stop in self._ranges():
            lost, count = pack(margins, first, stop, circles, count)
            self.bound += lost
        rows = self._all_violated(self._matrix(self.costs < 0))
        return circles[:count] if rows is None else rows

    def _violated(self, turned: Floats) -> Indices:
        """Return the triangles that are violated, or of too many those that are violated most."""
        matrix = self._matrix(turned)
        rows = self._all_violated(matrix)
        return self._most_violated(matrix) if rows is None else rows

    def _all_violated(self, matrix: Floats) -> Indices | None:
        rows = np.empty((_BATCH, 4), dtype=np.int64)
        count = 0
        for first, stop in self._ranges():
            count = violated(matrix, _TOLERANCE, first, stop, rows, count)
            if count > _BATCH:
                return None
        return rows[:count]

    def _most_violated(self, matrix: Floats) -> Indices:
        """Return the worst triangle of each pair, or the worst of these."""
        third = np.full(matrix.shape, -1, dtype=np.int32)
        excess = np.zeros(matrix.shape, dtype=np.float32)
        for first, stop in self._ranges():
            most_violated(matrix, _TOLERANCE, first, stop, third, excess)
        p, q = np.nonzero(third >= 0)
        if len(p) > _BATCH:
            # Many are violated by the same: take them from everywhere.
            mixed = np.random.default_rng(0).permutation(len(p))
            worst = mixed[np.argpartition(-excess[p, q][mixed], _BATCH)[:_BATCH]]
            p, q = p[worst], q[worst]
        r = third[p, q].astype(np.int64)
        side = np.where(matrix[p, q] + matrix[q, r] < matrix[p, r], -1, 1)
        return np.column_stack([p, q, r, side])

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of p with not too many triangles p < q < r each, while time is left."""
        n = len(self.best)
        first = 0
        while first < n - 2 and self._left() > 0:
            stop = min(first + max(2 * SLICE // (n - first) ** 2, 1), n - 2)
            yield first, stop
            first = stop

    def _model(self) -> tuple[Indices, Any, Floats]:
        """Return the columns that the rows have, and the matrix and limits of the rows."""
        p, q, r, side = self.rows.T
        columns = np.stack([self._number(p, q), self._number(q, r), self._number(p, r)], axis=1)
        signs = side[:, None] * _SIGNS
        fixed = self.fixed[columns]
        limits = (side > 0) - (np.maximum(fixed, 0) * signs).sum(axis=1)
        free = fixed < 0
        used, compact = np.unique(columns[free], return_inverse=True)
        row = np.broadcast_to(np.arange(len(self.rows))[:, None], columns.shape)[free]
        matrix = sparse.csr_array((signs[free], (row, compact)), shape=(len(self.rows), len(used)))
        # HiGHS counts with 32 bits, and not every SciPy converts.
        matrix.indices, matrix.indptr = (
            i.astype(np.int32) for i in (matrix.indices, matrix.indptr)
        )
        return used, matrix, limits

    def _relax(self) -> tuple[Floats, NDArray[np.bool_]] | None:
        """Solve the relaxation with the rows at hand; raise the bound and fix what it decides."""
        used, matrix, limits = self._model()
        result = self._call(
            linprog, self.costs[used], A_ub=matrix, b_ub=limits, bounds=(0, 1), method="highs-ds"
        )
        if result is None or result.status != 0:
            self._note_infeasible(result)
            return None
        multipliers = np.maximum(-result.ineqlin.marginals, 0.0)
        reduced = self.costs.copy()
        reduced[used] += matrix.T @ multipliers
        free = self.fixed < 0
        decided = np.where(free, np.minimum(reduced, 0.0), self.costs * self.fixed).sum()
        bound = float(decided - limits @ multipliers)
        self.bound = max(self.bound, bound)
        turned = self._filled(used, result.x)
        beyond = free & (bound + np.abs(reduced) > self._target() + _TOLERANCE)
        self.fixed[beyond] = reduced[beyond] < 0
        return turned, result.ineqlin.residual > _TOLERANCE

    def _branch(self) -> None:
        """Solve in integers, adding what is violated, until an order comes out."""
        while not self._proven() and self._left() > 0:
            used, matrix, limits = self._model()
            result = self._call(
                milp,
                self.costs[used],
                constraints=LinearConstraint(matrix, ub=limits),
                bounds=Bounds(0, 1),
                integrality=np.ones(len(used)),
                options={"mip_rel_gap": 0.0},
            )
            if result is None:
                return
            if result.mip_dual_bound is not None:
                rest = self._filled(used, 0.0) @ self.costs
                self.bound = max(self.bound, float(rest + result.mip_dual_bound))
            if result.x is None:
                self._note_infeasible(result)
                return
            turned = np.round(self._filled(used, result.x))
            self._round(turned)
            new = self._violated(turned)
            if not len(new) or not self._add(new):
                return

    def _call(self, solver: Any, *args: Any, **model: Any) -> Any:
        """Return what HiGHS finds in the time that is left, or None if it does not end in time.

        It does not see Ctrl-C. So a long computation runs in a process that can be killed.
        """
        options = model.pop("options", {})

        def within(seconds: float) -> Any:
            return partial(solver, *args, options={**options, "time_limit": seconds}, **model)

        if not self.slow:
            result = within(min(self._left(), _SHORT))()
            if result.status != _OUT_OF_TIME or self._left() == 0:
                return result
            self.slow = True
        try:
            return call(within(max(self._left() - _START, 0.0)), self.deadline)
        except (TimeoutError, ChildError):
            return None
        except OSError:
            return within(self._left())()

    def _left(self) -> float:
        return max(self.deadline - monotonic(), 0.0)

    def _target(self) -> float:
        """The cost that an order must have, at most, to be better than the best."""
        return -self.gain - (1.0 if self.whole else 2 * _TOLERANCE)

    def _note_infeasible(self, result: Any) -> None:
        """If no order keeps to what has been fixed, none is better than the best."""
        if result is not None and result.status == _INFEASIBLE:
            self.bound = -self.gain

    def _filled(self, used: Indices, values: Any) -> Floats:
        """Return all variables: those of the model, those fixed, and the rest as they are best."""
        turned = np.where(self.fixed < 0, self.costs < 0, self.fixed).astype(np.float64)
        turned[used] = values
        return turned

    def _number(self, p: Indices, q: Indices) -> Indices:
        """Return the number of the variable of a pair p < q: they are counted row by row."""
        return p * (2 * len(self.best) - p - 3) // 2 + q - 1

    def _matrix(self, values: Any) -> Floats:
        """Return the values of all pairs p < q as a matrix, zero elsewhere."""
        matrix = np.zeros(self.upper.shape)
        matrix[self.upper] = values
        return matrix

    def _round(self, turned: Floats) -> None:
        """Put items in the order of how many go before them, improve it, keep it if better."""
        behind = self._matrix(turned)
        # q is before p as far as the pair (p, q) is turned, p before q as far as it is not.
        positions = np.arange(len(self.best)) + behind.sum(axis=1) - behind.sum(axis=0)
        order = self.first.order[np.argsort(positions, kind="stable")]
        improve(self.margins, order, rounds=0, min_gain=_TOLERANCE, deadline=self.deadline)
        gain = self.first.cost - _against(self.margins, order)
        if gain > self.gain:
            self.best, self.gain = order, gain


def _against(margins: Floats, order: Indices) -> float:
    """Return the sum of the margins against an order."""
    return float(order_cost(np.maximum(margins, 0.0), order))
