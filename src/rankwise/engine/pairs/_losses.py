r"""Losses over all pairs: value, gradient and curvature at given scores.

With residuals :math:`r = s - y`, the mean over the counted pairs of

===========================  ==========================================  ========================
`MagnitudeLoss`              :math:`|r_j - r_i|^n`                       all ordered pairs
`EpsilonInsensitiveLoss`     :math:`\max(0, |r_j - r_i| - \epsilon)^n`   all ordered pairs
`HingeLoss`                  :math:`\max(0, 1 - (s_j - s_i))^n`          :math:`y_j > y_i`
`MagnitudeHingeLoss`         :math:`\max(0, (y_j-y_i) - (s_j-s_i))^n`    :math:`y_j > y_i`
===========================  ==========================================  ========================

for n = 1, 2; a weighted mean if pairs have weights. All are convex in s. Value, gradient and a
product with the Hessian take O(m log m) time and O(m) memory, `MagnitudeLoss` with n = 2 O(m).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops.keys import deal_runs, mend
from rankwise.engine.loops.pairs.dominance import (
    GRADIENT,
    PARTNERS,
    dominance,
    exponential_sum,
    merge_events,
)
from rankwise.engine.loops.pairs.misranked import misranked_sum
from rankwise.engine.loops.pairs.spreads import squared_spread
from rankwise.engine.loops.pairs.windows import window_bounds, window_partners, window_sums
from rankwise.engine.machine.lanes import LANES
from rankwise.engine.pairs._order import (
    Floats,
    Rows,
    read_rows,
    row_bits,
    sort_ties,
    sorted_keys,
    sorted_rows,
)
from rankwise.engine.pairs._pairs import Pairs

_NONE = np.empty(0)
# Rows that are too many for the cache, how many of them are not, and the most runs of them.
_MANY, _RUN, _MOST_RUNS = 1 << 17, 1024, 1024


class Curvature:
    r"""The graph of the pairs that cost something, as a matrix to multiply with.

    .. math:: L = \frac1W \sum_{\text{active } (i, j)} w_{ij} (e_j - e_i)(e_j - e_i)^\top

    The Hessian of a loss of power 2 is 2 L. That of power 1 is zero where it exists; for a kink of
    width 2h it is smoothed to ``(curvature(s, -h) - curvature(s, h)) / (2 h)``, the pairs that cost
    between -h and h. With a matrix X of features, ``X.T @ L.product(X)`` is the d x d matrix that
    a Newton step needs.

    Attributes
    ----------
    diagonal : ndarray of shape (m,)
        The diagonal of L: the weight of the active pairs of each row.
    """

    def __init__(self, sums: Callable[[Floats], Floats], weight: Floats, scale: float) -> None:
        self._sums, self._scale = sums, scale
        self.diagonal = sums(np.ones(len(weight))) * scale

    def product(self, v: Floats) -> Floats:
        """Multiply with a vector of shape (m,), or each column of a matrix of shape (m, d)."""
        if v.ndim == 2:
            return np.column_stack([self.product(column) for column in v.T])
        return self.diagonal * v - self._sums(v) * self._scale


class PairLoss:
    """A loss over pairs.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, power: int = 1) -> None:
        if power not in (1, 2):
            raise ValueError(f"power={power!r} must be 1 or 2")
        self.pairs, self.power = pairs, power

    def value(self, s: Floats) -> float:
        """Return the mean cost of the scores."""
        return self.value_gradient(s)[0]

    def value_gradient(self, s: Floats) -> tuple[float, Floats]:
        """Return the mean cost and its gradient; for power 1 a subgradient, 0 at a kink."""
        raise NotImplementedError

    def curvature(self, s: Floats, shift: float = 0.0) -> Curvature:
        """Return the graph of the pairs that cost more than ``shift`` before the cost is cut."""
        raise NotImplementedError

    def hessian_product(self, s: Floats, v: Floats) -> Floats:
        """Return the (generalised) Hessian at s times v, for power 2.

        To multiply more than once at the same s, keep ``curvature(s)``.
        """
        if self.power == 1:
            raise ValueError("power=1 has no Hessian: smooth the kink, see Curvature")
        return 2 * self.curvature(s).product(v)


class EpsilonInsensitiveLoss(PairLoss):
    r"""Mean of :math:`\max(0, |r_j - r_i| - \epsilon)^n` over all ordered pairs.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    epsilon : float
        What a difference may be off without a cost, not negative.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, epsilon: float, power: int = 1) -> None:
        super().__init__(pairs, power=power)
        if not 0 <= epsilon < np.inf:
            raise ValueError(f"epsilon={epsilon!r} must be a number from 0")
        if pairs.magnitude:
            raise ValueError("pair_weight='magnitude' is for the one-sided losses")
        self.epsilon = epsilon

    def value(self, s: Floats) -> float:
        pairs, a = self.pairs, _NONE
        if pairs.weighted or pairs.codes is not None:
            _, r, _, a = self._sorted(s)
        else:
            r = s - pairs.y
            r.sort()
        sums = window_sums(r, a, pairs.starts, self.epsilon, self.power, _NONE)
        return sums[self.power - 1] * 2 / pairs.two_sided_weight

    def value_gradient(self, s: Floats) -> tuple[float, Floats]:
        rows, r, starts, a = self._sorted(s)
        slopes = np.empty(len(r))
        value = window_sums(r, a, starts, self.epsilon, self.power, slopes)[self.power - 1]
        gradient = np.empty(len(r))
        gradient[rows] = slopes
        scale = 2 / self.pairs.two_sided_weight
        return value * scale, gradient * scale

    def curvature(self, s: Floats, shift: float = 0.0) -> Curvature:
        rows, r, starts, a = self._sorted(s)
        below = np.arange(len(r), dtype=np.int32)
        above = below + np.int32(1)
        if self.epsilon + shift >= 0:
            window_bounds(r, starts, self.epsilon + shift, below, above)

        def sums(v: Floats) -> Floats:
            found, out = np.empty(len(r)), np.empty(len(r))
            window_partners(a * v[rows], starts, below, above, found)
            out[rows] = a * found
            return out

        return Curvature(sums, self.pairs.weight, 2 / self.pairs.two_sided_weight)

    def _sorted(self, s: Floats) -> tuple[NDArray[Any], Floats, NDArray[np.int64], Floats]:
        pairs, starts = self.pairs, self.pairs.starts
        rows, r = sorted_rows(pairs.group(s - pairs.y), starts)
        if not pairs.grouped:
            rows = pairs.by_query.rows[rows]
        return rows, r, starts, pairs.weight[rows] if pairs.weighted else pairs.weight


class MagnitudeLoss(EpsilonInsensitiveLoss):
    r"""Mean of :math:`|r_j - r_i|^n` over all ordered pairs.

    For n = 2 it is twice the variance of the residuals, query by query.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, power: int = 2) -> None:
        super().__init__(pairs, epsilon=0.0, power=power)

    def value(self, s: Floats) -> float:
        if self.power == 1:
            return super().value(s)
        pairs = self.pairs
        a = pairs.group(pairs.weight) if pairs.weighted else _NONE
        total = squared_spread(pairs.group(s), pairs.group(pairs.y), a, pairs.starts)
        return float(total) * 2 / pairs.two_sided_weight

    def value_gradient(self, s: Floats) -> tuple[float, Floats]:
        if self.power == 1:
            return super().value_gradient(s)
        centred, totals = self._centred(s - self.pairs.y)
        gradient = self.pairs.weight * totals * centred
        scale = 2 / self.pairs.two_sided_weight
        return float(gradient @ centred) * scale, gradient * (2 * scale)

    def curvature(self, s: Floats, shift: float = 0.0) -> Curvature:
        if self.power == 1 or shift != 0:
            return super().curvature(s, shift)
        a = self.pairs.weight

        def sums(v: Floats) -> Floats:
            centred, totals = self._centred(v)
            return a * (totals * (v - centred) - a * v)

        return Curvature(sums, a, 2 / self.pairs.two_sided_weight)

    def _centred(self, v: Floats) -> tuple[Floats, Floats]:
        """Return v less its mean in the query, and the weight of the query, row by row."""
        a, codes = self.pairs.weight, self.pairs.codes
        if codes is None:
            total = a.sum()
            centred = v - (a @ v) / total
            return centred - (a @ centred) / total, np.full(len(a), total)
        totals: Floats = np.bincount(codes, weights=a).astype(np.float64)
        share = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
        centred = v - (np.bincount(codes, weights=a * v) * share)[codes]
        centred -= (np.bincount(codes, weights=a * centred) * share)[codes]
        return centred, totals[codes]


class HingeLoss(PairLoss):
    r"""Mean of :math:`\max(0, 1 - (s_j - s_i))^n` over the pairs with :math:`y_j > y_i`.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    margin = 1.0

    def __init__(self, pairs: Pairs, *, power: int = 1) -> None:
        super().__init__(pairs, power=power)
        pairs.check_comparable()

    def value_gradient(self, s: Floats) -> tuple[float, Floats]:
        slopes, totals = np.zeros(len(s)), np.zeros(2)
        _dominance(
            self.pairs, self._scores(s), self.margin, GRADIENT, self.power, _NONE, slopes, totals
        )
        gradient = np.empty(len(s))
        gradient[self.pairs.by_target.rows] = slopes
        total = self.pairs.one_sided_weight
        return float(totals[self.power - 1]) / total, gradient / total

    def curvature(self, s: Floats, shift: float = 0.0) -> Curvature:
        rows, t = self.pairs.by_target.rows, self._scores(s)
        prepared = _events(self.pairs, t, self.margin - shift)

        def sums(v: Floats) -> Floats:
            slopes, out = np.zeros(len(s)), np.empty(len(s))
            _walk(self.pairs, prepared, PARTNERS, self.power, v[rows], slopes, _NONE)
            out[rows] = slopes
            return out

        return Curvature(sums, self.pairs.weight, 1 / self.pairs.one_sided_weight)

    def _scores(self, s: Floats) -> Floats:
        """Return what the margin is a margin of, in the order of the targets."""
        return s[self.pairs.by_target.rows]


class MagnitudeHingeLoss(HingeLoss):
    r"""Mean of :math:`\max(0, (y_j - y_i) - (s_j - s_i))^n` over the pairs with :math:`y_j > y_i`.

    It is the hinge of margin 0 on the residuals.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    margin = 0.0

    def _scores(self, s: Floats) -> Floats:
        layout = self.pairs.by_target
        return s[layout.rows] - layout.y


class ByScore(NamedTuple):
    """Rows sorted by query, score and target, as ``keys``.

    A key ends with the place of its row in the columns ``s``, ``y`` and ``a``, the last None if all
    weigh 1. ``t`` are the sorted scores if some are equal, and else empty. The columns may be in
    the second half of the ``room`` of `misranked_sum`.
    """

    keys: NDArray[np.int64]
    s: Floats
    y: Floats
    a: Floats | None
    t: Floats
    room: Floats


def by_score(pairs: Pairs, s: Floats) -> ByScore:
    """Sort the rows, O(m log m)."""
    s, y, starts = np.ascontiguousarray(pairs.group(s)), pairs.group(pairs.y), pairs.starts
    a = pairs.group(pairs.weight) if pairs.weighted else None
    # in one piece, which is soon given back to the next call
    n_columns, m = 2 if a is None else 3, len(s)
    room = np.empty((2 * n_columns, m + LANES))
    if pairs.codes is None and m >= _MANY:
        # what lies apart in memory is slow to fetch in the order of the scores
        columns, codes = room[n_columns:, :m], np.empty(m, np.uint16)
        starts = deal_runs(s, y, a, min(m // _RUN, _MOST_RUNS), codes, room[n_columns:])
        s, y, a = columns[0], columns[1], None if a is None else columns[2]
    keys = sorted_keys(s, starts)
    if mend(keys, row_bits(keys), s):
        return ByScore(keys, s, y, a, _NONE, room)
    rows, t = read_rows(keys, s, starts)
    sort_ties(rows, t, y, starts)
    return ByScore(rows.astype(np.int64), s, y, a, t, room)


def misranked_total(
    pairs: Pairs, rows: ByScore, *, scores: bool, magnitude: bool, power: int
) -> float:
    """Sum over the misranked pairs; scores are all 0 if they are no part of the cost."""
    return misranked_sum(
        rows.s if scores else None,
        rows.y,
        rows.a,
        rows.keys,
        row_bits(rows.keys),
        rows.room,
        pairs.targets,
        pairs.starts,
        both=magnitude,
        power=power,
    )


def misranked_mean(pairs: Pairs, s: Floats, *, magnitude: bool, power: int) -> float:
    """Mean over the pairs y_j > y_i of (s_i - s_j)^n if that is positive, else 0.

    With ``magnitude`` of (s_i - s_j + y_j - y_i)^n. Pairs weigh by their rows alone.
    """
    if power not in (1, 2):
        raise ValueError(f"power={power!r} must be 1 or 2")
    pairs.check_comparable()
    rows = by_score(pairs, s)
    total = misranked_total(pairs, rows, scores=True, magnitude=magnitude, power=power)
    return total / pairs.one_sided_weight


def misranked_partners(pairs: Pairs, s: Floats) -> Floats:
    """Return the weight of the misranked pairs that each row is in."""
    found, out = np.zeros(len(s)), np.empty(len(s))
    rows = pairs.by_target.rows
    _dominance(pairs, s[rows], 0.0, PARTNERS, 1, np.ones(len(s)), found, _NONE)
    out[rows] = found
    return out


def exponential_mean(pairs: Pairs, s: Floats) -> float:
    """Mean of exp(-(s_j - s_i)) over the pairs y_j > y_i; inf if no float can hold it."""
    layout = pairs.by_target
    pairs.check_comparable()
    t, a = s.take(layout.rows), layout.a if pairs.weighted else _NONE
    z, c = exponential_sum(t, layout.y, a, layout.starts, pairs.magnitude)
    with np.errstate(over="ignore"):
        return float(np.exp(c + np.log(z) - np.log(pairs.one_sided_weight)))


def _events(pairs: Pairs, t: Floats, margin: float) -> tuple[Rows, Floats]:
    layout = pairs.by_target
    rows, keys = sorted_rows(t, layout.starts)
    if margin == 0.0:
        return rows, keys
    events, both = np.empty(2 * len(t), dtype=np.int32), np.empty(2 * len(t))
    merge_events(rows, keys, layout.starts, margin, events, both)
    return events, both


def _dominance(
    pairs: Pairs,
    t: Floats,
    margin: float,
    what: int,
    power: int,
    x: Floats,
    out: Floats,
    totals: Floats,
) -> None:
    _walk(pairs, _events(pairs, t, margin), what, power, x, out, totals)


def _walk(
    pairs: Pairs,
    prepared: tuple[Rows, Floats],
    what: int,
    power: int,
    x: Floats,
    out: Floats,
    totals: Floats,
) -> None:
    layout, (first, last) = pairs.by_target, pairs.ties
    a = layout.a if pairs.weighted else _NONE
    events, keys = (array.copy() for array in prepared) if what == PARTNERS else prepared
    dominance(
        what,
        events,
        keys,
        layout.y,
        a,
        layout.starts,
        first,
        last,
        power,
        pairs.magnitude,
        x,
        out,
        totals,
    )
