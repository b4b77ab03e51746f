r"""Losses over pairs as a solver sees them, and implicit pairs: never formed, O(m log m).

A pair costs :math:`c^+ = \max(0, c)` with c linear in the scores. For power 1 the kink is smoothed
over a width h,

.. math:: \psi_h(c) = \frac{(c + h)_+^2 - (c - h)_+^2}{4h} \ge c^+,

whose slope p rises from 0 at -h to 1 at h. The slopes are feasible for the dual of the loss itself:
for any scores, the mean of :math:`c^+ - p\,c` is what smoothing adds to a duality gap. It falls
with the square of h where pairs lie densely, with h where they don't. For power 2 nothing is
smoothed.

The Hessian is the Laplacian of a graph, with the pairs whose costs have a curvature as edges: all
that cost for power 2, those with costs between -h and h for power 1.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.dominance import dominance, merge_events, working_memory
from rankwise._core._loops.grades import grade_sums
from rankwise._core._loops.partners import better_partners, lower_partners, target_ranks, turned
from rankwise._core._loops.residuals import window_sums
from rankwise._core.pairs._order import Floats, sorted_rows

if TYPE_CHECKING:
    from rankwise._core.pairs._pairs import Pairs

Sums = Callable[[float, int], tuple[float, float, Floats]]
Band = tuple[float, float, float]

_NONE = np.empty(0)


class Evaluation(NamedTuple):
    """A loss at some scores.

    Attributes
    ----------
    cost : float
        The mean cost.
    slopes : ndarray of shape (m,)
        The gradient of the smoothed mean cost by the scores.
    slack : float
        The mean of c^+ - p c: what the slopes lack of a subgradient. 0 for power 2.
    """

    cost: float
    slopes: Floats
    slack: float


class Curve(Protocol):
    """The Hessian of a smoothed loss at some scores."""

    @property
    def diagonal(self) -> Floats:
        """Return the diagonal."""

    def product(self, v: Floats) -> Floats:
        """Multiply with a vector of shape (m,)."""

    def gram(self, X: Floats) -> Floats:
        """Return X' H X for a dense X of shape (m, d)."""


class PairCosts(Protocol):
    """A loss over pairs as a solver sees it."""

    power: int
    scale: float

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack at scores s with kinks of width h."""

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian at scores s with kinks of width h."""


class ImplicitCosts:
    """Pairs that are never formed.

    A subclass supplies ``_sums(s)``, which returns a function of margin and power that gives the
    sums of cost and cost^2 and the slopes of cost^power, and ``_curve(s, band, weight)``.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    margin : float
        The difference that costs nothing.
    power : {1, 2}
        The power of the cost.
    weight : float
        The weight of each pair in the mean.
    scale : float
        How large costs are, typically; None: as far as targets of one query are apart.
    """

    def __init__(
        self, pairs: "Pairs", margin: float, power: int, weight: float, scale: float | None = None
    ) -> None:
        self._pairs, self._margin, self._weight = pairs, float(margin), weight
        self.power = power
        self.scale = _spread(pairs) if scale is None else scale

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        sums, margin, weight = self._sums(s), self._margin, self._weight
        if self.power == 2:
            _, squares, slopes = sums(margin, 2)
            slopes *= weight
            return Evaluation(squares * weight, slopes, 0.0)
        exact = sums(margin, 1)[0]
        wide, wide_squares, slopes = sums(margin + h, 2)
        narrow, narrow_squares, less = sums(margin - h, 2)
        slopes -= less
        slopes *= weight / (4 * h)
        tight = (wide_squares - narrow_squares) / (2 * h) - (wide + narrow) / 2
        return Evaluation(exact * weight, slopes, max(0.0, (exact - tight) * weight))

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        if self.power == 2:
            return self._curve(s, (self._margin, 0.0, np.inf), 2.0 * self._weight)
        return self._curve(s, (self._margin, -h, h), 0.5 / h * self._weight)

    def _sums(self, s: Floats) -> Sums:
        raise NotImplementedError

    def _curve(self, s: Floats, band: Band, weight: float) -> Curve:
        raise NotImplementedError


def _spread(pairs: "Pairs") -> float:
    """Return how far apart targets of one query are, typically; 1 if they are all equal."""
    y, a, codes = pairs.y, pairs.weight, pairs.codes
    if codes is None:
        square = a @ (y - (a @ y) / a.sum()) ** 2
    else:
        means = np.bincount(codes, a * y) / np.maximum(np.bincount(codes, a), 1e-300)
        square = a @ (y - means[codes]) ** 2
    return float(np.sqrt(square / a.sum())) or 1.0


class DominanceCosts(ImplicitCosts):
    """The pairs with y_j > y_i, each costing ``margin - (s_j - s_i)`` if that is positive."""

    def _scored(self, s: Floats) -> Floats:
        return s

    def _sums(self, s: Floats) -> Sums:
        t = self._scored(s)
        return self._tree_sums(t) if self._pairs.grades is None else self._grade_sums(t)

    def _curve(self, s: Floats, band: Band, weight: float) -> Curve:
        return _DominanceCurve(self._pairs, self._scored(s), band, weight)

    def _grade_sums(self, t: Floats) -> Sums:
        """Return the sums for few different targets."""
        pairs = self._pairs
        codes, levels = pairs.grades or (_NONE, _NONE)
        rows, t, a = sorted_by(pairs, t)
        columns = t, pairs.starts, codes[rows], levels, a if pairs.weighted else _NONE

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            ordered, slopes, totals = np.empty(len(t)), np.empty(len(t)), np.zeros(2)
            grade_sums(*columns, margin, power, pairs.magnitude, ordered, totals)
            slopes[rows] = ordered
            return float(totals[0]), float(totals[1]), slopes

        return sums

    def _tree_sums(self, t: Floats) -> Sums:
        """Return the sums for many different targets."""
        pairs, layout, m = self._pairs, self._pairs.by_target, len(t)
        targets = layout.y, layout.a if pairs.weighted else _NONE, layout.starts, *pairs.ties
        rows, sorted_t = sorted_rows(t[layout.rows], layout.starts)

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            events, keys = rows, sorted_t
            if margin != 0.0:
                events, keys = np.empty(2 * m, dtype=np.int32), np.empty(2 * m)
                merge_events(rows, sorted_t, layout.starts, margin, events, keys)
            ordered, slopes, totals = np.zeros(m), np.empty(m), np.zeros(2)
            memory = working_memory(events, keys)
            dominance(memory, targets, power, pairs.magnitude, ordered, totals)
            slopes[layout.rows] = ordered
            return float(totals[0]), float(totals[1]), slopes

        return sums


class ResidualCosts(DominanceCosts):
    """The same for the residuals s - y in place of the scores."""

    def _scored(self, s: Floats) -> Floats:
        return self._pairs.residuals(s)


class _Laplacian:
    """The Laplacian of a graph whose edges are pairs, rows being in an order of their own.

    A subclass supplies ``_before(V)`` and ``_after(V)``: for each row the sum of V over its
    partners on one side and on the other, times the weights of the pairs.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows
        ones = np.ones((len(rows), 1))
        self._degree = (self._before(ones) + self._after(ones))[:, 0]
        self.diagonal = np.empty(len(rows))
        self.diagonal[rows] = self._degree

    def _before(self, V: Floats) -> Floats:
        raise NotImplementedError

    def _after(self, V: Floats) -> Floats:
        raise NotImplementedError

    def product(self, v: Floats) -> Floats:
        V = v[self._rows, None]
        out = np.empty(len(v))
        out[self._rows] = self._degree * V[:, 0] - (self._before(V) + self._after(V))[:, 0]
        return out

    def gram(self, X: Floats) -> Floats:
        X = X[self._rows]
        apart = self._before(X)
        np.subtract((0.5 * self._degree)[:, None] * X, apart, out=apart)
        half = X.T @ apart
        return half + half.T


class _DominanceCurve(_Laplacian):
    def __init__(self, pairs: "Pairs", t: Floats, band: Band, weight: float) -> None:
        layout = pairs.by_target
        rows, t = sorted_rows(t[layout.rows], layout.starts)
        self._pairs, self._band, self._weight = pairs, band, weight
        # differences count alone, and products with large targets would hide them
        lowest = layout.y[layout.starts[:-1]]
        self._targets = layout.y - np.repeat(lowest, np.diff(layout.starts))
        self._upwards, self._downwards = both_sweeps(pairs, rows, t)
        super().__init__(layout.rows)

    def _partners(self, sweep: tuple[Any, ...], V: Floats, sign: float) -> Floats:
        """Return a_i times the sum over the partners of a_j w_ij V_j, w being 1 or a difference."""
        a, y = self._pairs.by_target.a[:, None], self._targets[:, None]
        if self._pairs.weighted:
            V = a * V
        n = V.shape[1]
        if self._pairs.magnitude:
            V = np.hstack([V, y * V])
        out = np.empty_like(V)
        tree = np.empty((sweep[-1] + 1, V.shape[1]))
        better_partners(*sweep, V, self._band, tree, out)
        if self._pairs.magnitude:
            out = sign * (out[:, n:] - y * out[:, :n])
        out *= a * self._weight if self._pairs.weighted else self._weight
        return out

    def _before(self, V: Floats) -> Floats:
        return self._partners(self._upwards, V, 1.0)

    def _after(self, V: Floats) -> Floats:
        return self._partners(self._downwards, V, -1.0)


def both_sweeps(pairs: "Pairs", rows: NDArray[Any], t: Floats) -> list[tuple[Any, ...]]:
    """Return what `better_partners` reads, and the same with t and targets negated.

    ``rows`` and ``t`` are the rows of `Pairs.by_target` sorted by score, and their scores.
    """
    starts = pairs.starts
    ranks, n = target_ranks(pairs.by_target.y, starts)
    downwards = np.ascontiguousarray(rows[::-1]), *turned(t, starts), n - 1 - ranks, n
    return [(rows, t, starts, ranks, n), downwards]


class WindowCosts(ImplicitCosts):
    """All ordered pairs, each costing ``|r_j - r_i| - epsilon`` if that is positive.

    The margin is -epsilon.
    """

    def _sums(self, s: Floats) -> Sums:
        rows, r, a = sorted_by(self._pairs, self._pairs.residuals(s))

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            ordered, slopes = np.empty(len(r)), np.empty(len(r))
            total, squares = window_sums(r, a, self._pairs.starts, -margin, power, ordered)
            slopes[rows] = ordered
            return total, squares, slopes

        return sums

    def _curve(self, s: Floats, band: Band, weight: float) -> Curve:
        return _WindowCurve(self._pairs, s, band, weight)


def sorted_by(pairs: "Pairs", values: Floats) -> tuple[NDArray[Any], Floats, Floats]:
    """Return the rows sorted by query and value, their values and their weights."""
    rows, ordered = sorted_rows(pairs.group(values), pairs.starts)
    if not pairs.grouped:
        rows = pairs.by_query.rows[rows]
    return rows, ordered, pairs.weight[rows] if pairs.weighted else pairs.weight


class _WindowCurve(_Laplacian):
    def __init__(self, pairs: "Pairs", s: Floats, band: Band, weight: float) -> None:
        rows, self._r, self._a = sorted_by(pairs, pairs.residuals(s))
        self._starts, self._band, self._weight = pairs.starts, band, weight
        super().__init__(rows)

    def _before(self, V: Floats) -> Floats:
        out = np.empty_like(V)
        rows = self._r, self._starts
        lower_partners(*rows, self._a[:, None] * V, self._band, np.empty((1, V.shape[1])), out)
        return out * (self._a * self._weight)[:, None]

    def _after(self, V: Floats) -> Floats:
        out = np.empty_like(V)
        V = np.ascontiguousarray((self._a[:, None] * V)[::-1])
        rows = turned(self._r, self._starts)
        lower_partners(*rows, V, self._band, np.empty((1, V.shape[1])), out)
        return out[::-1] * (self._a * self._weight)[:, None]
