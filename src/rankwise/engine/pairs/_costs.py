r"""What a solver asks of a loss over pairs: value, slopes and curvature, kinks smoothed.

A pair costs :math:`c^+ = \max(0, c)` with c linear in the scores. For power 1 the kink is smoothed
over a width h,

.. math:: \psi_h(c) = \frac{(c + h)_+^2 - (c - h)_+^2}{4h} \ge c^+,

whose slope p rises from 0 at -h to 1 at h. The slopes are feasible for the dual of the loss itself:
for any scores, the mean of :math:`c^+ - p\,c` is what smoothing adds to a duality gap. It falls
with the square of h where pairs lie densely, with h where they don't. For power 2 nothing is
smoothed.
"""

from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.engine.loops.pairs.dominance import GRADIENT
from rankwise.engine.loops.pairs.grades import grade_sums
from rankwise.engine.loops.pairs.partners import (
    better_partners,
    higher_partners,
    lower_partners,
    target_ranks,
    worse_partners,
)
from rankwise.engine.loops.pairs.windows import window_sums
from rankwise.engine.pairs._losses import EpsilonInsensitiveLoss, HingeLoss, PairLoss, _dominance
from rankwise.engine.pairs._order import Floats, sorted_rows
from rankwise.engine.pairs._pairs import Layout, Pairs

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

    diagonal: Floats

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


def _smoothed(
    sums: Any, power: int, margin: float, h: float, weight: float
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


class ListedCosts:
    r"""Pairs that are listed: the mean of :math:`\max(0, g - (s_j - s_i))^n`.

    Parameters
    ----------
    worse, better : ndarrays of shape (n_pairs,)
        The rows i and j of each pair.
    gap : ndarray of shape (n_pairs,) or float
        The difference g that costs nothing.
    weight : ndarray of shape (n_pairs,)
        The weight of each pair in the mean; they need not add to 1.
    m, power : int
        The number of rows, and n.
    """

    def __init__(
        self,
        worse: NDArray[np.int64],
        better: NDArray[np.int64],
        gap: Floats | float,
        weight: Floats,
        m: int,
        power: int,
    ) -> None:
        self.worse, self.better, self.gap, self.weight = worse, better, gap, weight
        self.m, self.power = m, power
        # The root of the mean square, of shares of the largest: squares might overflow.
        largest = float(np.abs(gap).max(initial=0.0)) or 1.0
        mean = float(np.sum(weight * np.square(gap / largest)) / np.sum(weight))
        self.scale = largest * float(np.sqrt(mean)) or 1.0

    @classmethod
    def of(cls, loss: PairLoss, n_pairs: int) -> Self | None:
        """List the pairs of a loss; None if the queries may hold more than ``n_pairs``."""
        pairs = loss.pairs
        m, y, a = len(pairs.y), pairs.y, pairs.weight
        sizes = np.array([m]) if pairs.codes is None else np.bincount(pairs.codes)
        if int(sizes @ sizes) > n_pairs:
            return None
        worse, better = _listed(pairs, one_sided=isinstance(loss, HingeLoss))
        weight = a[worse] * a[better]
        if isinstance(loss, HingeLoss):
            if pairs.magnitude:
                weight *= y[better] - y[worse]
            gap = y[better] - y[worse] if loss.margin == 0 else loss.margin
            return cls(worse, better, gap, weight / pairs.one_sided_weight, m, loss.power)
        epsilon = loss.epsilon if isinstance(loss, EpsilonInsensitiveLoss) else 0.0
        gap = y[better] - y[worse] - epsilon
        return cls(worse, better, gap, weight * (2 / pairs.two_sided_weight), m, loss.power)

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        c = self.gap - (s[self.better] - s[self.worse])
        cost = np.maximum(c, 0.0)
        if self.power == 2:
            value, p, slack = float(self.weight @ (cost * cost)), 2 * cost, 0.0
        else:
            p = np.clip((c + h) / (2 * h), 0.0, 1.0)
            value, slack = float(self.weight @ cost), float(self.weight @ (cost - p * c))
        p = p * self.weight
        slopes: Floats = np.bincount(self.worse, p, self.m).astype(np.float64, copy=False)
        slopes -= np.bincount(self.better, p, self.m)
        return Evaluation(value, slopes, slack)

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        c = self.gap - (s[self.better] - s[self.worse])
        active = np.flatnonzero(c > 0 if self.power == 2 else np.abs(c) < h)
        weight = self.weight[active] * (2.0 if self.power == 2 else 0.5 / h)
        return _ListedCurve(self.worse[active], self.better[active], weight, self.m)


class _ListedCurve:
    def __init__(
        self, worse: NDArray[np.int64], better: NDArray[np.int64], weight: Floats, m: int
    ) -> None:
        one_way = sparse.coo_array((weight, (worse, better)), shape=(m, m)).tocsr()
        self._graph = (one_way + one_way.T).tocsr()
        self.diagonal = np.asarray(self._graph.sum(axis=1)).ravel()

    def product(self, v: Floats) -> Floats:
        return self.diagonal * v - self._graph @ v

    def gram(self, X: Floats) -> Floats:
        return X.T @ (self.diagonal[:, None] * X - self._graph @ X)


class DominanceCosts:
    """The pairs of a `HingeLoss`, swept and not listed.

    Parameters
    ----------
    loss : HingeLoss
        The loss.
    """

    def __init__(self, loss: HingeLoss) -> None:
        self._loss, self._pairs, self.power = loss, loss.pairs, loss.power
        pairs = loss.pairs
        self._shift = pairs.y if loss.margin == 0.0 else None
        self.scale = 1.0 if loss.margin else _spread(pairs)
        self._weight = 1.0 / pairs.one_sided_weight
        self._a = pairs.weight if pairs.weighted else _NONE
        self._codes, self._levels = pairs.grades or (np.empty(0, dtype=np.uint8), _NONE)
        if pairs.grades and pairs.codes is not None:
            self._codes = self._codes[pairs.by_query.rows]
            self._a = pairs.by_query.a if pairs.weighted else _NONE

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        sums = self._grade_sums(s) if len(self._levels) else self._tree_sums(s)
        return Evaluation(*_smoothed(sums, self.power, self._loss.margin, h, self._weight))

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        layout = self._pairs.by_target
        rows, t = sorted_rows(self._loss._scores(s), layout.starts)
        return _DominanceCurve(
            self._pairs, layout, rows, t, self._loss.margin, self.power, h, self._weight
        )

    def _grade_sums(self, s: Floats) -> Any:
        t = s if self._shift is None else s - self._shift
        starts, order = np.array([0, len(s)]), None
        if self._pairs.codes is not None:
            order, starts = self._pairs.by_query.rows, self._pairs.by_query.starts
            t = t[order]
        rows, t = sorted_rows(t, starts)
        codes, a = self._codes[rows], self._a[rows] if self._pairs.weighted else _NONE
        rows = rows if order is None else order[rows]

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            ordered, slopes, totals = np.empty(len(s)), np.empty(len(s)), np.zeros(2)
            magnitude = self._pairs.magnitude
            grade_sums(t, starts, codes, self._levels, a, margin, power, magnitude, ordered, totals)
            slopes[rows] = ordered
            return float(totals[0]), float(totals[1]), slopes

        return sums

    def _tree_sums(self, s: Floats) -> Any:
        t = self._loss._scores(s)

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            slopes, totals, placed = np.zeros(len(s)), np.zeros(2), np.empty(len(s))
            _dominance(self._pairs, t, margin, GRADIENT, power, _NONE, slopes, totals)
            placed[self._pairs.by_target.rows] = slopes
            return float(totals[0]), float(totals[1]), placed

        return sums


class _DominanceCurve:
    def __init__(
        self,
        pairs: Pairs,
        layout: Layout,
        rows: NDArray[np.int32],
        t: Floats,
        margin: float,
        power: int,
        h: float,
        weight: float,
    ) -> None:
        self._pairs, self._layout, self._rows, self._t = pairs, layout, rows, t
        self._band = (margin, 0.0, np.inf) if power == 2 else (margin, -h, h)
        self._weight = weight * (2.0 if power == 2 else 0.5 / h)
        self._ranks = np.empty(len(rows), dtype=np.int32)
        self._n_ranks = target_ranks(layout.y, layout.starts, self._ranks)
        ones = np.ones((len(rows), 1))
        self._degree = (self._better(ones) + self._worse(ones))[:, 0]
        self.diagonal = np.empty(len(rows))
        self.diagonal[layout.rows] = self._degree

    def _partners(self, loop: Any, V: Floats, sign: float) -> Floats:
        """Return a_i times the sum over the partners of a_j w_ij V_j, w being 1 or a difference."""
        a, y = self._layout.a[:, None], self._layout.y[:, None]
        if self._pairs.weighted:
            V = a * V
        n = V.shape[1]
        if self._pairs.magnitude:
            V = np.hstack([V, y * V])
        out = np.empty_like(V)
        loop(
            self._rows,
            self._t,
            self._layout.starts,
            self._ranks,
            self._n_ranks,
            V,
            *self._band,
            out,
        )
        if self._pairs.magnitude:
            out = sign * (out[:, n:] - y * out[:, :n])
        out *= a * self._weight if self._pairs.weighted else self._weight
        return out

    def _better(self, V: Floats) -> Floats:
        return self._partners(better_partners, V, 1.0)

    def _worse(self, V: Floats) -> Floats:
        return self._partners(worse_partners, V, -1.0)

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
    """The pairs of an `EpsilonInsensitiveLoss`, swept and not listed.

    Parameters
    ----------
    loss : EpsilonInsensitiveLoss
        The loss.
    """

    def __init__(self, loss: EpsilonInsensitiveLoss) -> None:
        self._loss, self._pairs, self.power = loss, loss.pairs, loss.power
        self.scale = _spread(loss.pairs)
        self._weight = 2.0 / loss.pairs.two_sided_weight

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        rows, r, starts, a = self._loss._sorted(s)

        def sums(margin: float, power: int) -> tuple[float, float, Floats]:
            ordered, slopes = np.empty(len(r)), np.empty(len(r))
            total, squares = window_sums(r, a, starts, -margin, power, ordered)
            slopes[rows] = ordered
            return total, squares, slopes

        margin = -self._loss.epsilon
        return Evaluation(*_smoothed(sums, self.power, margin, h, self._weight))

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        return _WindowCurve(*self._loss._sorted(s), self._loss.epsilon, self.power, h, self._weight)


class _WindowCurve:
    def __init__(
        self,
        rows: NDArray[Any],
        r: Floats,
        starts: NDArray[np.int64],
        a: Floats,
        epsilon: float,
        power: int,
        h: float,
        weight: float,
    ) -> None:
        self._rows, self._r, self._starts, self._a = rows, r, starts, a
        self._band = (epsilon, 0.0, np.inf) if power == 2 else (epsilon, -h, h)
        self._weight = weight * (2.0 if power == 2 else 0.5 / h)
        ones = np.ones((len(rows), 1))
        degree = self._partners(lower_partners, ones) + self._partners(higher_partners, ones)
        self._degree = degree[:, 0]
        self.diagonal = np.empty(len(rows))
        self.diagonal[rows] = self._degree

    def _partners(self, loop: Any, V: Floats) -> Floats:
        V = self._a[:, None] * V
        out = np.empty_like(V)
        loop(self._r, self._starts, V, *self._band, out)
        return out * (self._a * self._weight)[:, None]

    def product(self, v: Floats) -> Floats:
        V = v[self._rows, None]
        cross = self._partners(lower_partners, V) + self._partners(higher_partners, V)
        out = np.empty(len(v))
        out[self._rows] = self._degree * V[:, 0] - cross[:, 0]
        return out

    def gram(self, X: Floats) -> Floats:
        X = X[self._rows]
        half = X.T @ (0.5 * self._degree[:, None] * X - self._partners(lower_partners, X))
        return half + half.T


def pair_costs(loss: PairLoss, *, listed: int = 100_000) -> PairCosts:
    """Return the costs of a loss for a solver, its pairs listed if they are at most ``listed``.

    A list is exact however narrow the kinks; swept sums lose digits where h is tiny.
    """
    costs = ListedCosts.of(loss, listed)
    if costs is not None:
        return costs
    if isinstance(loss, HingeLoss):
        return DominanceCosts(loss)
    if isinstance(loss, EpsilonInsensitiveLoss):
        return WindowCosts(loss)
    raise TypeError(f"{type(loss).__name__} is no loss that a solver knows")


def _spread(pairs: Pairs) -> float:
    """Return how far apart targets of one query are, typically; 1 if they are all equal."""
    y, a, codes = pairs.y, pairs.weight, pairs.codes
    if codes is None:
        square = a @ (y - (a @ y) / a.sum()) ** 2
    else:
        means = np.bincount(codes, a * y) / np.maximum(np.bincount(codes, a), 1e-300)
        square = a @ (y - means[codes]) ** 2
    return float(np.sqrt(square / a.sum())) or 1.0


def _listed(pairs: Pairs, *, one_sided: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows i and j of all pairs of one query: those with y_j > y_i, or all."""
    rows, starts, y, _ = pairs.by_query
    worse, better = [], []
    for start, stop in pairwise(starts.tolist()):
        mine, target = rows[start:stop], y[start:stop]
        if one_sided:
            i, j = np.nonzero(target[:, None] < target)
        else:
            i, j = np.divmod(np.arange((stop - start) ** 2), stop - start)
        worse.append(mine[i])
        better.append(mine[j])
    return np.concatenate(worse), np.concatenate(better)
