r"""Costs of the positives below a threshold that the scores themselves set.

.. math:: L(s) = \sum_{i \in P} v_i \max(0, 1 + t_{q(i)}(s) - s_i)^n

with weights v that add to 1. The threshold t of a query is the highest score of its negatives, or
the level that solves :math:`\sum_j a_j \max(0, 1 + s_j - t) = \tau \sum_j a_j` over its rows. Both
are convex in s, so is L. As a maximum of linear functions,

.. math:: \max_j s_j = \max_\beta \beta^\top s, \qquad
    t = 1 + \max_\beta \beta^\top s - \tau A \max_j \beta_j / a_j,

:math:`\beta` being weights that add to 1 and A the sum of a. So any such weights bound L from
below, and with it the objective: this is the slack of `rankwise._core.pairs._costs`.

Kinks are rounded over a width h: the hinge of the level as that of the costs, the highest score as
the level above which rounded hinges have the mass of a single score of the least weight, h/4 of it.
A level has the gradient :math:`\beta_j = a_j p_j / \sum a p`, p being the slopes of the hinges, and
the Hessian of all is one square a row, :math:`\sum_i c_i (e_i - \beta)(e_i - \beta)^\top`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.inputs import dense
from rankwise._core.pairs._costs import Curve, Evaluation
from rankwise._core.pairs._order import Floats
from rankwise._core.queries import group_rows
from rankwise.pairwise._loops import raise_levels

# Rows whose squares are formed at once.
_BLOCK = 20_000


class TopCosts:
    """The positives, each costing what it lacks to be 1 above the threshold of its query.

    Parameters
    ----------
    positive : bool ndarray of shape (m,)
        Which rows should be at the top.
    codes : ndarray of shape (m,)
        The query of each row. Those without positives or without negatives cost nothing.
    weight : ndarray of shape (m,)
        Positive row weights.
    tau : float or None
        The share of the rows above the threshold; None: it is the highest negative.
    power : {1, 2}
        The power of the cost.

    Attributes
    ----------
    n_queries : int
        Queries with positives and negatives.
    ups, v : ndarrays of shape (n_positives,)
        Their positives, and the weights of these, which add to 1.
    below : ndarray of shape (n_below,)
        The rows that set the thresholds, query by query: the negatives, or all.
    """

    scale = 1.0
    power = 1  # what a solver sees: the threshold has kinks, whatever the power of the cost

    def __init__(
        self,
        positive: NDArray[np.bool_],
        codes: NDArray[np.int64],
        weight: Floats,
        *,
        tau: float | None,
        power: int,
    ) -> None:
        n = int(codes.max()) + 1
        both = np.bincount(codes[positive], minlength=n) > 0
        both &= np.bincount(codes[~positive], minlength=n) > 0
        self.n_queries, counted = int(both.sum()), both[codes]
        if not self.n_queries:
            inside = "no query has" if n > 1 else "y does not have"
            raise ValueError(
                f"{inside} both positive and other rows, so there is no order to learn: give rows "
                "of both kinds, or another positive=..."
            )
        self._tau, self._squared = tau, power == 2
        # rows of queries that don't count are never asked for theirs
        self._codes = np.maximum(np.cumsum(both) - 1, 0)[codes]
        self.ups = np.flatnonzero(positive & counted)
        below = np.flatnonzero(counted if tau is not None else ~positive & counted)
        order, self._starts = group_rows(self._codes[below], self.n_queries)
        self.below = below[order]
        self.v = weight[self.ups] / weight[self.ups].sum()
        self._a = weight[self.below]
        self._mass = self._summed(self._a)
        self._least = np.minimum.reduceat(self._a, self._starts[:-1])

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        exact, at = self._thresholds(s, h)
        push, _ = self._push(at.gap, h)
        cost = np.maximum(at.gap + (exact - at.t)[self._codes[self.ups]], 0.0)
        value = float(self.v @ (cost * cost if self._squared else cost))
        pulls = self._pulls(push)
        slopes = np.zeros(len(s))
        slopes[self.below] = at.beta * pulls[self._codes[self.below]]
        slopes[self.ups] -= self.v * push
        bound = float(self.v @ (push * at.gap - (0.25 * push * push if self._squared else 0.0)))
        apart = s[self.below] - at.t[self._codes[self.below]]
        bound += float(pulls @ (self._summed(at.beta * apart) - at.conjugate))
        return Evaluation(value, slopes, max(0.0, value - bound))

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        _, at = self._thresholds(s, h)
        push, bend = self._push(at.gap, h)
        c, beta = np.zeros(len(s)), np.zeros(len(s))
        c[self.below] = at.bend * self._pulls(push)[self._codes[self.below]]
        c[self.ups] += self.v * bend
        beta[self.below] = at.beta
        return TopCurve(c, beta, self._codes, self.n_queries)

    def _summed(self, values: Floats) -> Floats:
        """Add up values of the rows under the thresholds, query by query."""
        return np.add.reduceat(values, self._starts[:-1])

    def _pulls(self, push: Floats) -> Floats:
        """Return how much the positives of each query pull their threshold down."""
        codes = self._codes[self.ups]
        return np.bincount(codes, self.v * push, self.n_queries).astype(np.float64)

    def _push(self, gap: Floats, h: float) -> tuple[Any, Any]:
        """Return slope and curvature of the cost of each positive."""
        if self._squared:
            return np.maximum(2.0 * gap, 0.0), 2.0 * (gap > 0)
        return np.clip((gap + h) / (2 * h), 0.0, 1.0), (np.abs(gap) < h) / (2 * h)

    def _thresholds(self, s: Floats, h: float) -> tuple[Floats, "_Thresholds"]:
        """Return the threshold of each query, exact and rounded."""
        x, of, firsts = s[self.below], self._codes[self.below], self._starts[:-1]
        if self._tau is None:
            exact, mass = np.maximum.reduceat(x, firsts), 0.25 * h * self._least
        else:
            x += 1.0
            mass = self._tau * self._mass
            exact = self._summed(self._a * x) / self._mass - self._tau
            raise_levels(x, self._a, self._starts, 0.0, mass, exact)
        t = exact.copy()
        raise_levels(x, self._a, self._starts, h, mass, t)
        gap = x - t[of]
        p = np.clip((gap + h) / (2 * h), 0.0, 1.0)
        total = self._summed(self._a * p)
        share = self._a / total[of]
        bend = share * (np.abs(gap) < h) / (2 * h)
        conjugate = np.zeros(self.n_queries)
        if self._tau is not None:
            conjugate = mass * np.maximum.reduceat(p, firsts) / total - 1.0
        lacking = 1.0 + t[self._codes[self.ups]] - s[self.ups]
        return exact, _Thresholds(t, share * p, bend, conjugate, lacking)


class _Thresholds(NamedTuple):
    """Thresholds t of the queries; beta and bend of the rows under them; gaps of the positives."""

    t: Floats
    beta: Floats
    bend: Floats
    conjugate: Floats
    gap: Floats


class TopCurve:
    """The sum of c_i (e_i - beta)(e_i - beta)', with the beta of the row's query."""

    def __init__(self, c: Floats, beta: Floats, codes: NDArray[np.int64], n_queries: int) -> None:
        self._c, self._beta, self._codes, self._n_queries = c, beta, codes, n_queries
        self.diagonal = c * (1 - beta) ** 2 + beta**2 * (self._per_query(c) - c)

    def _per_query(self, values: Floats) -> Floats:
        """Return the sum of the values of each row's query."""
        sums = np.bincount(self._codes, values, self._n_queries).astype(np.float64)
        return sums[self._codes]

    def product(self, v: Floats) -> Floats:
        """Multiply with a vector."""
        pulled = self._c * (v - self._per_query(self._beta * v))
        return pulled - self._beta * self._per_query(pulled)

    def gram(self, X: Any) -> Floats:
        """Return X' H X, for a dense or CSR matrix."""
        rows = np.flatnonzero(self._beta)
        shares = self._beta[rows], (self._codes[rows], np.arange(len(rows)))
        means = sparse.csr_array(shares, (self._n_queries, len(rows))) @ dense(X[rows])
        used, out = np.flatnonzero(self._c), np.zeros((X.shape[1], X.shape[1]))
        for start in range(0, len(used), _BLOCK):
            some = used[start : start + _BLOCK]
            apart = dense(X[some]) - means[self._codes[some]]
            apart *= np.sqrt(self._c[some])[:, None]
            out += apart.T @ apart
        return out
