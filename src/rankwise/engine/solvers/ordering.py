"""The linear ordering problem: the order of n things whose pairs are worth most, with a proof.

Given margins ``M[i, j] = -M[j, i]``, find the order that minimises the sum of the margins against
it, that is of ``max(0, M[j, i])`` over i before j. This is Kemeny's problem, and the minimum
feedback arc set of the graph with an arc i -> j of weight M[i, j] wherever that is positive.

1. Strongly connected components of that graph are solved one by one: to follow each other in
   their topological order costs nothing.
   Those of ten things at most go through all subsets (`loops.subsets`), the others through 2 to 4.
2. A local search finds an order (`loops.insertion`). Renumber by it, and let ``y_pq``, p < q, be 1
   if q goes before p after all. An order is a 0/1 solution of all triangle inequalities
   ``y_pr <= y_pq + y_qr`` and ``y_pq + y_qr <= 1 + y_pr``; the change in cost is ``sum M_pq y_pq``.
3. The linear relaxation is solved with the triangles that its last solution violates, time after
   time. Any multipliers ``u >= 0`` of the rows ``A y <= b`` give reduced costs ``r = M + A'u`` and
   the bound ``-b'u + sum min(0, r)``, computed here rather than believed. A pair whose reduced cost
   is larger than the gap between bound and best order is fixed.
4. What is fractional in the end is left to branch and bound.

If margins are whole numbers, so is the cost, and a gap below their common divisor is none.

Reference: M. Grötschel, M. Jünger and G. Reinelt, *A cutting plane algorithm for the linear
ordering problem*, Operations Research 32, 1984.
"""

from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse.csgraph import connected_components

from rankwise.engine.loops.insertion import improve
from rankwise.engine.loops.majority import order_cost
from rankwise.engine.loops.subsets import best_order
from rankwise.engine.loops.triangles import violated

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_TOLERANCE = 1e-6
_FEW = 10
_SEED = 0x2545F4914F6CDD1D
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
    found = []
    for _ in range(count):
        best = int(np.argmax(np.where(waits == 0, strength, -np.inf)))
        waits -= beats[best]
        waits[best] = -1
        found.append(nodes[starts[best] : starts[best] + sizes[best]])
    return found


def solve(
    margins: Floats,
    *,
    rounds: int,
    prove: bool = True,
    deadline: float = np.inf,
    whole: bool = True,
) -> Ordering:
    """Find the best order of one component, or prove how good the best found is.

    Parameters
    ----------
    margins : ndarray of shape (n, n)
        Antisymmetric. Whole numbers if ``whole``, and otherwise 1 at most.
    rounds : int
        Of the local search that comes first.
    prove : bool, default=True
        Whether to go on after it. Without a proof the lower bound is zero, that no margin is lost.
    deadline : float, default=inf
        The value of ``time.monotonic()`` at which to give up the proof.
    whole : bool, default=True
        Whether costs are whole numbers, so that bounds can be rounded up.

    Returns
    -------
    Ordering
        Proven to be optimal if the bound equals the cost.
    """
    if len(margins) <= _FEW:
        order = best_order(np.maximum(margins, 0.0))
        cost = _against(margins, order)
        return Ordering(order, cost, cost)
    order = np.argsort(-margins.sum(axis=1), kind="stable")
    improve(margins, order, rounds, _TOLERANCE, _SEED)
    first = Ordering(order, _against(margins, order), 0.0)
    if first.cost == 0 or not prove:
        return first
    return _Relaxation(margins, first, deadline, whole).solve()


class _Relaxation:
    """The search for a proof, in variables that say which pairs of the first order are turned."""

    def __init__(self, margins: Floats, first: Ordering, deadline: float, whole: bool) -> None:
        n = len(margins)
        self.margins, self.first, self.deadline, self.whole = margins, first, deadline, whole
        self.best, self.gain = first.order, 0.0
        self.pairs = np.triu_indices(n, 1)
        self.number = np.empty((n, n), dtype=np.int64)
        self.number[self.pairs] = np.arange(len(self.pairs[0]))
        self.costs = margins[np.ix_(first.order, first.order)][self.pairs]
        self.low, self.high = np.zeros(len(self.costs)), np.ones(len(self.costs))
        self.bound = float(np.minimum(self.costs, 0).sum())
        self.rows = np.empty((0, 4), dtype=np.int64)

    def solve(self) -> Ordering:
        turned = (self.costs < 0).astype(np.float64)
        keep_all = False
        while not self._proven() and self._left() > 0:
            new = self._violated(turned)
            if not len(new):
                self._branch()
                break
            self.rows = np.concatenate([self.rows, new])
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
        cost = self.first.cost - self.gain
        bound = cost if self._proven() else self.first.cost + self._rounded()
        return Ordering(self.best, cost, min(bound, cost))

    def _rounded(self) -> float:
        return float(np.ceil(self.bound - _TOLERANCE)) if self.whole else self.bound

    def _proven(self) -> bool:
        """Whether nothing is better than the best order by more than rounding."""
        return self._rounded() >= -self.gain - (0 if self.whole else _TOLERANCE)

    def _violated(self, turned: Floats) -> Indices:
        n = len(self.best)
        matrix = np.zeros((n, n))
        matrix[self.pairs] = turned
        return violated(matrix, _TOLERANCE)

    def _model(self) -> tuple[Indices, Any, Floats]:
        """Return the free columns that occur, the rows over them, and their right-hand sides."""
        p, q, r, side = self.rows.T
        columns = np.stack([self.number[p, q], self.number[q, r], self.number[p, r]], axis=1)
        signs = side[:, None] * _SIGNS
        fixed = self.low == self.high
        limits = (side > 0) - (np.where(fixed, self.low, 0.0)[columns] * signs).sum(axis=1)
        free = ~fixed[columns]
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
        result = linprog(
            self.costs[used], A_ub=matrix, b_ub=limits, bounds=(0, 1), method="highs-ds",
            options={"time_limit": self._left()},
        )  # fmt: skip
        if result.status != 0:
            self._note_infeasible(result)
            return None
        multipliers = np.maximum(-result.ineqlin.marginals, 0.0)
        reduced = self.costs.copy()
        reduced[used] += matrix.T @ multipliers
        free = self.low < self.high
        decided = np.where(free, np.minimum(reduced, 0.0), self.costs * self.low).sum()
        bound = float(decided - limits @ multipliers)
        self.bound = max(self.bound, bound)
        turned = self._filled(used, result.x)
        beyond = free & (bound + np.abs(reduced) > self._wanted() + _TOLERANCE)
        self.high[beyond & (reduced > 0)] = 0.0
        self.low[beyond & (reduced < 0)] = 1.0
        return turned, result.ineqlin.residual > _TOLERANCE

    def _branch(self) -> None:
        """Solve in whole numbers, adding what is violated, until an order comes out."""
        while not self._proven() and self._left() > 0:
            used, matrix, limits = self._model()
            result = milp(
                self.costs[used],
                constraints=LinearConstraint(matrix, ub=limits),
                bounds=Bounds(0, 1),
                integrality=np.ones(len(used)),
                options={"time_limit": self._left(), "mip_rel_gap": 0.0},
            )
            if result.mip_dual_bound is not None:
                rest = self._filled(used, 0.0) @ self.costs
                self.bound = max(self.bound, float(rest + result.mip_dual_bound))
            if result.x is None:
                self._note_infeasible(result)
                return
            turned = np.round(self._filled(used, result.x))
            self._round(turned)
            new = self._violated(turned)
            if not len(new):
                return
            self.rows = np.concatenate([self.rows, new])

    def _left(self) -> float:
        return max(self.deadline - monotonic(), 0.0)

    def _wanted(self) -> float:
        """The cost that an order must have, at most, to be better than the best."""
        return -self.gain - (1.0 if self.whole else 2 * _TOLERANCE)

    def _note_infeasible(self, result: Any) -> None:
        """If no order keeps to what has been fixed, none is better than the best."""
        if result.status == 2:
            self.bound = -self.gain

    def _filled(self, used: Indices, values: Any) -> Floats:
        """Return all variables: those of the model, those fixed, and the rest as they are best."""
        turned = np.where(self.low < self.high, self.costs < 0, self.low).astype(np.float64)
        turned[used] = values
        return turned

    def _round(self, turned: Floats) -> None:
        """Put things in the order of how many go before them, settle, and keep it if better."""
        behind = np.zeros((len(self.best), len(self.best)))
        behind[self.pairs] = turned
        # q is before p as far as the pair (p, q) is turned, p before q as far as it is not.
        places = np.arange(len(self.best)) + behind.sum(axis=1) - behind.sum(axis=0)
        order = self.first.order[np.argsort(places, kind="stable")]
        improve(self.margins, order, 0, _TOLERANCE, _SEED)
        gain = self.first.cost - _against(self.margins, order)
        if gain > self.gain:
            self.best, self.gain = order, gain


def _against(margins: Floats, order: Indices) -> float:
    """Return the sum of the margins against an order."""
    return order_cost(np.maximum(margins, 0.0), order)
