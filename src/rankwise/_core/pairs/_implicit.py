"""Pairs that are swept and not listed: value, slopes and curvature in O(m log m)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.dominance import Cost, Targets, dominance, merge_events
from rankwise._core._loops.grades import Graded, grade_sums
from rankwise._core._loops.partners import (
    Band,
    Sweep,
    better_partners,
    lower_partners,
    target_ranks,
    turned,
)
from rankwise._core._loops.residuals import window_sums
from rankwise._core.pairs._costs import Curve, Evaluation
from rankwise._core.pairs._order import Floats, sorted_rows
from rankwise._core.pairs._pairs import Pairs

Sums = Callable[[float, int], tuple[float, float, Floats]]

_NONE = np.empty(0)


def _smoothed(
    sums: Sums, power: int, margin: float, h: float, weight: float
) -> tuple[float, Floats, float]:
    """Evaluate from ``sums(margin, power)``, which gives sums of cost, cost^2 and slopes."""
    if power == 2:
        _, squares, slopes = sums(margin, 2)
        slopes *= weight
        return squares * weight, slopes, 0.0
    exact = sums(margin, 1)[0]
    wide, wide_squares, slopes = sums(margin + h, 2)
    narrow, narrow_squares, less = sums(margin - h, 2)
    slopes -= less
    slopes *= weight / (4 * h)
    tight = (wide_squares - narrow_squares) / (2 * h) - (wide + narrow) / 2
    return exact * weight, slopes, max(0.0, (exact - tight) * weight)


def _band(margin: float, power: int, h: float) -> tuple[Band, float]:
    """Return which pairs have a curvature, and what it is."""
    if power == 2:
        return Band(margin, 0.0, np.inf), 2.0
    return Band(margin, -h, h), 0.5 / h


def _spread(pairs: Pairs) -> float:
    """Return how far apart targets of one query are, typically; 1 if they are all equal."""
    y, a, codes = pairs.y, pairs.weight, pairs.codes
    if codes is None:
        square = a @ (y - (a @ y) / a.sum()) ** 2
    else:
        means = np.bincount(codes, a * y) / np.maximum(np.bincount(codes, a), 1e-300)
        square = a @ (y - means[codes]) ** 2
    return float(np.sqrt(square / a.sum())) or 1.0


class DominanceCosts:
    """The pairs with y_j > y_i, each costing ``margin - (t_j - t_i)`` if that is positive.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    margin : float
        The difference of t that costs nothing.
    residuals : bool
        Whether t are the residuals s - y, or the scores s.
    power : {1, 2}
        The power of the cost.
    """

    def __init__(self, pairs: Pairs, *, margin: float, residuals: bool, power: int) -> None:
        self._pairs, self._margin, self.power = pairs, margin, power
        self._residuals = residuals
        self.scale = _spread(pairs) if residuals else margin
        self._weight = 1.0 / pairs.one_sided_weight

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        t = self._pairs.residuals(s) if self._residuals else s
        sums = self._tree_sums(t) if self._pairs.grades is None else self._grade_sums(t)
        return Evaluation(*_smoothed(sums, self.power, self._margin, h, self._weight))

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        band, factor = _band(self._margin, self.power, h)
        t = self._pairs.residuals(s) if self._residuals else s
        return _DominanceCurve(self._pairs, t, band, factor * self._weight)

    def _grade_sums(self, t: Floats) -> Sums:
        """Return the sums for few different targets."""
        pairs = self._pairs
        codes, levels = pairs.grades or (_NONE, _NONE)
        rows, t = sorted_rows(pairs.group(t), pairs.starts)
        if not pairs.grouped:
            rows = pairs.by_query.rows[rows]
        a = pairs.weight[rows] if pairs.weighted else _NONE
        graded = Graded(t, pairs.starts, codes[rows], levels, a)

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            ordered, slopes, totals = np.empty(len(t)), np.empty(len(t)), np.zeros(2)
            grade_sums(graded, margin, power, pairs.magnitude, ordered, totals)
            slopes[rows] = ordered
            return float(totals[0]), float(totals[1]), slopes

        return sums

    def _tree_sums(self, t: Floats) -> Sums:
        """Return the sums for many different targets."""
        pairs, layout = self._pairs, self._pairs.by_target
        targets = Targets(
            layout.y, layout.a if pairs.weighted else _NONE, layout.starts, *pairs.ties
        )
        rows, sorted_t = sorted_rows(t[layout.rows], layout.starts)

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            m = len(t)
            events, keys = rows.copy(), sorted_t.copy()
            if margin != 0.0:
                events, keys = np.empty(2 * m, dtype=np.int32), np.empty(2 * m)
                merge_events(rows, sorted_t, layout.starts, margin, events, keys)
            ordered, slopes, totals = np.zeros(m), np.empty(m), np.zeros(2)
            cost = Cost(power, pairs.magnitude)
            dominance(events, keys, targets, cost, ordered, totals)
            slopes[layout.rows] = ordered
            return float(totals[0]), float(totals[1]), slopes

        return sums


class _DominanceCurve:
    def __init__(self, pairs: Pairs, t: Floats, band: Band, weight: float) -> None:
        layout = pairs.by_target
        rows, t = sorted_rows(t[layout.rows], layout.starts)
        self._pairs, self._layout, self._band, self._weight = pairs, layout, band, weight
        # differences count alone, and products with large targets would hide them
        lowest = layout.y[layout.starts[:-1]]
        self._targets = layout.y - np.repeat(lowest, np.diff(layout.starts))
        ranks = np.empty(len(rows), dtype=np.int32)
        n_ranks = target_ranks(layout.y, layout.starts, ranks)
        self._upwards = Sweep(rows, t, layout.starts, ranks, n_ranks)
        self._downwards = self._upwards.turned()
        ones = np.ones((len(rows), 1))
        self._degree = (self._better(ones) + self._worse(ones))[:, 0]
        self.diagonal = np.empty(len(rows))
        self.diagonal[layout.rows] = self._degree

    def _partners(self, sweep: Sweep, V: Floats, sign: float) -> Floats:
        """Return a_i times the sum over the partners of a_j w_ij V_j, w being 1 or a difference."""
        a, y = self._layout.a[:, None], self._targets[:, None]
        if self._pairs.weighted:
            V = a * V
        n = V.shape[1]
        if self._pairs.magnitude:
            V = np.hstack([V, y * V])
        out = np.empty_like(V)
        better_partners(sweep, V, self._band, out)
        if self._pairs.magnitude:
            out = sign * (out[:, n:] - y * out[:, :n])
        out *= a * self._weight if self._pairs.weighted else self._weight
        return out

    def _better(self, V: Floats) -> Floats:
        return self._partners(self._upwards, V, 1.0)

    def _worse(self, V: Floats) -> Floats:
        return self._partners(self._downwards, V, -1.0)

    def product(self, v: Floats) -> Floats:
        V = v[self._layout.rows, None]
        out = np.empty(len(v))
        out[self._layout.rows] = self._degree * V[:, 0] - (self._better(V) + self._worse(V))[:, 0]
        return out

    def gram(self, X: Floats) -> Floats:
        X = X[self._layout.rows]
        apart = self._better(X)
        np.subtract((0.5 * self._degree)[:, None] * X, apart, out=apart)
        half = X.T @ apart
        return half + half.T


class WindowCosts:
    """All ordered pairs, each costing ``|r_j - r_i| - epsilon`` if that is positive.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    epsilon : float
        What a difference may be off without a cost.
    power : {1, 2}
        The power of the cost.
    """

    def __init__(self, pairs: Pairs, *, epsilon: float, power: int) -> None:
        self._pairs, self._margin, self.power = pairs, -epsilon, power
        self.scale = _spread(pairs)
        self._weight = 2.0 / pairs.two_sided_weight

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        rows, r, a = sorted_residuals(self._pairs, s)

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            ordered, slopes = np.empty(len(r)), np.empty(len(r))
            total, squares = window_sums(r, a, self._pairs.starts, -margin, power, ordered)
            slopes[rows] = ordered
            return total, squares, slopes

        return Evaluation(*_smoothed(sums, self.power, self._margin, h, self._weight))

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        band, factor = _band(self._margin, self.power, h)
        return _WindowCurve(self._pairs, s, band, factor * self._weight)


def sorted_residuals(pairs: Pairs, s: Floats) -> tuple[NDArray[Any], Floats, Floats]:
    """Return the rows sorted by query and residual, their residuals and their weights."""
    rows, r = sorted_rows(pairs.group(pairs.residuals(s)), pairs.starts)
    if not pairs.grouped:
        rows = pairs.by_query.rows[rows]
    return rows, r, pairs.weight[rows] if pairs.weighted else pairs.weight


class _WindowCurve:
    def __init__(self, pairs: Pairs, s: Floats, band: Band, weight: float) -> None:
        self._rows, self._r, self._a = sorted_residuals(pairs, s)
        self._starts, self._band, self._weight = pairs.starts, band, weight
        ones = np.ones((len(s), 1))
        self._degree = (self._lower(ones) + self._higher(ones))[:, 0]
        self.diagonal = np.empty(len(s))
        self.diagonal[self._rows] = self._degree

    def _lower(self, V: Floats) -> Floats:
        out = np.empty_like(V)
        lower_partners(self._r, self._starts, self._a[:, None] * V, self._band, out)
        return out * (self._a * self._weight)[:, None]

    def _higher(self, V: Floats) -> Floats:
        out = np.empty_like(V)
        V = np.ascontiguousarray((self._a[:, None] * V)[::-1])
        r, starts = turned(self._r, self._starts)
        lower_partners(r, starts, V, self._band, out)
        return out[::-1] * (self._a * self._weight)[:, None]

    def product(self, v: Floats) -> Floats:
        V = v[self._rows, None]
        out = np.empty(len(v))
        out[self._rows] = self._degree * V[:, 0] - (self._lower(V) + self._higher(V))[:, 0]
        return out

    def gram(self, X: Floats) -> Floats:
        X = X[self._rows]
        half = X.T @ (0.5 * self._degree[:, None] * X - self._lower(X))
        return half + half.T
