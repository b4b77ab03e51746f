r"""AccuracyAtTop: positives above a threshold that the scores set.

The costs of positives below the threshold serve `TopPush` too:

.. math:: L(s) = \sum_{i \in P} v_i \max(0, 1 + t_{q(i)}(s) - s_i)^n

with weights v that add to 1. The threshold t of a query is the highest score of its negatives, or
the level that solves :math:`\sum_j a_j \max(0, 1 + s_j - t) = \tau \sum_j a_j` over its rows. Both
are convex in s, so is L. As a maximum of linear functions,

.. math:: \max_j s_j = \max_\beta \beta^\top s, \qquad
    t = 1 + \max_\beta \beta^\top s - \tau A \max_j \beta_j / a_j,

:math:`\beta` being weights that add to 1 and A the sum of a. So any such weights bound L from
below, and with it the objective: this is the slack of `rankwise._core.pairs`.

Kinks are rounded over a width h: the hinge of the level as that of the costs, the highest score as
the level above which rounded hinges have the mass of a single score of the least weight, h/4 of it.
A level has the gradient :math:`\beta_j = a_j p_j / \sum a p`, p being the slopes of the hinges, and
the Hessian of all is one square a row, :math:`\sum_i c_i (e_i - \beta)(e_i - \beta)^\top`.
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags

from rankwise._core.inputs import dense, unchanged_on_error
from rankwise._core.newton import MATRIX, Solution, minimise
from rankwise._core.pairs import Curve, Evaluation
from rankwise._core.queries import group_rows
from rankwise._core.ranker import Vector
from rankwise._core.sklearn_private import Interval, Options, num_samples
from rankwise._core.support_vectors import SupportVectorRanker
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
        weight: Vector,
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
        # scores of queries that don't count are never read
        self._codes = np.maximum(np.cumsum(both) - 1, 0)[codes]
        self.ups = np.flatnonzero(positive & counted)
        below = np.flatnonzero(counted if tau is not None else ~positive & counted)
        order, self._starts = group_rows(self._codes[below], self.n_queries)
        self.below = below[order]
        self.v = weight[self.ups] / weight[self.ups].sum()
        self._a = weight[self.below]
        self._mass = self._summed(self._a)
        self._least = np.minimum.reduceat(self._a, self._starts[:-1])

    def evaluate(self, s: Vector, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        exact, t, beta, _, conjugate, gap = self._thresholds(s, h)
        push, _ = self._push(gap, h)
        cost = np.maximum(gap + (exact - t)[self._codes[self.ups]], 0.0)
        value = float(self.v @ (cost * cost if self._squared else cost))
        pulls = self._pulls(push)
        slopes = np.zeros(len(s))
        slopes[self.below] = beta * pulls[self._codes[self.below]]
        slopes[self.ups] -= self.v * push
        bound = float(self.v @ (push * gap - (0.25 * push * push if self._squared else 0.0)))
        apart = s[self.below] - t[self._codes[self.below]]
        bound += float(pulls @ (self._summed(beta * apart) - conjugate))
        return Evaluation(value, slopes, max(0.0, value - bound))

    def curve(self, s: Vector, h: float) -> Curve:
        """Return the Hessian."""
        _, _, shares, curvature, _, gap = self._thresholds(s, h)
        gradient, hessian = self._push(gap, h)
        c, beta = np.zeros(len(s)), np.zeros(len(s))
        c[self.below] = curvature * self._pulls(gradient)[self._codes[self.below]]
        c[self.ups] += self.v * hessian
        beta[self.below] = shares
        return TopCurve(c, beta, self._codes, self.n_queries)

    def _summed(self, values: Vector) -> Vector:
        """Add up values of the rows under the thresholds, query by query."""
        return np.add.reduceat(values, self._starts[:-1])

    def _pulls(self, push: Vector) -> Vector:
        """Return how much the positives of each query pull their threshold down."""
        codes = self._codes[self.ups]
        return np.bincount(codes, self.v * push, self.n_queries).astype(np.float64)

    def _push(self, gap: Vector, h: float) -> tuple[Any, Any]:
        """Return slope and curvature of the cost of each positive."""
        if self._squared:
            return np.maximum(2.0 * gap, 0.0), 2.0 * (gap > 0)
        return np.clip((gap + h) / (2 * h), 0.0, 1.0), (np.abs(gap) < h) / (2 * h)

    def _thresholds(self, s: Vector, h: float) -> tuple[Vector, ...]:
        """Return the threshold of each query, exact and rounded, and what follows from the latter.

        These are beta and the curvatures of the rows below, the conjugates of the thresholds, and
        how much the positives lack.
        """
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
        curvature = share * (np.abs(gap) < h) / (2 * h)
        conjugate = np.zeros(self.n_queries)
        if self._tau is not None:
            conjugate = mass * np.maximum.reduceat(p, firsts) / total - 1.0
        lacking = 1.0 + t[self._codes[self.ups]] - s[self.ups]
        return exact, t, share * p, curvature, conjugate, lacking


class TopCurve:
    """The sum of c_i (e_i - beta)(e_i - beta)', with the beta of the row's query."""

    def __init__(self, c: Vector, beta: Vector, codes: NDArray[np.int64], n_queries: int) -> None:
        self._c, self._beta, self._codes, self._n_queries = c, beta, codes, n_queries
        self.diagonal = c * (1 - beta) ** 2 + beta**2 * (self._per_query(c) - c)

    def _per_query(self, values: Vector) -> Vector:
        """Return the sum of the values of each row's query."""
        sums = np.bincount(self._codes, values, self._n_queries).astype(np.float64)
        return sums[self._codes]

    def product(self, v: Vector) -> Vector:
        """Multiply with a vector."""
        pulled = self._c * (v - self._per_query(self._beta * v))
        return pulled - self._beta * self._per_query(pulled)

    def gram(self, X: Any) -> Vector:
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


class TopRanker(SupportVectorRanker):
    """A ranker of positives over negatives; a subclass supplies ``_costs``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: allowed
        for name, allowed in SupportVectorRanker._parameter_constraints.items()
        if name not in ("power", "warm_start")
    } | {"positive": [Real, None]}

    warm_start = False

    def __init__(
        self,
        C: float = 1.0,
        *,
        positive: float | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.positive = positive
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of many ratings one alone is at the top
        return tags

    @unchanged_on_error
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from positives and negatives.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; for a precomputed kernel its values, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Two classes, or grades: rows with y from ``positive`` on are the positives.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, integers or strings in any order: each query has a top of its
            own. None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, at least 0; a row of weight 2 equals two rows.

        Returns
        -------
        self
        """
        self._validate_params()
        data = self._check_rated(X, y, qid, sample_weight)
        n = num_samples(y)
        if len(data.y) == 1:
            raise ValueError("y has one sample (n_samples = 1): ranking compares two or more rows")
        positive = data.y >= (data.y.max() if self.positive is None else self.positive)
        costs = self._costs(positive, data.codes, data.weight)
        self._learn(data.X, costs, None if len(data.kept) == n else data.kept, n)
        self.n_queries_ = data.n_queries
        return self

    def _minimise(self, X: Any, costs: Any, *_: Any) -> Solution:
        # the curve centres a dense or CSR matrix by itself
        sample = None if X.shape[1] > MATRIX else (X, None)
        return minimise(X, costs, self.C, tol=self.tol, max_iter=self.max_iter, sample=sample)

    def _costs(
        self, positive: NDArray[np.bool_], codes: NDArray[np.int64], weight: Vector
    ) -> TopCosts:
        raise NotImplementedError


class AccuracyAtTop(TopRanker):
    r"""Positives among the first ``tau`` of the rows: accuracy at the top, made convex.

    .. math::

        \min_h \; \|h\|_K^2 + C \, \frac{1}{W} \sum_{i \in P} w_i
        \max\bigl(0,\; 1 + t - h(x_i)\bigr)^n, \qquad
        \sum_i w_i \max\bigl(0,\; 1 + h(x_i) - t\bigr) = \tau \sum_i w_i

    the first sum over the positives, the second over all rows, positives included. The hinge is at
    least 1 where a row scores t or more, so at most ``tau`` of the rows do; and a positive below t
    costs 1 at least. So the costs bound the share of positives that are not among the first ``tau``
    rows. Unlike a quantile, t is convex in the scores, so that there is one minimum. This is the
    method Pat&Mat with hinges. With ``qid`` each query has its own threshold t.

    Newton's method on rounded hinges, with a certificate, ``duality_gap_``. A step costs three
    passes over X, the squares of the rows near the threshold and of the positives that cost,
    O(n_features^2) each, and finds t in linear time.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the costs against the norm: the larger, the closer the fit.
    tau : float, default=0.05
        The share of the rows that the top is, between 0 and 1.
    power : {1, 2}, default=1
        The power n of the cost of a positive. 2 is solved in less time.
    positive : float, default=None
        Rows with y from this on are the positives; None: those with the highest y.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in `RankSVM`.
    gamma : float, default=None
        Of "poly" and "rbf"; None is 1 / n_features.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    tol : float, default=1e-4
        The solver stops when the duality gap is at most this share of the objective.
    max_iter : int, default=1000
        Most steps of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights of a linear kernel.
    dual_coef_ : ndarray of shape (n_rows,)
        For other kernels, the coefficient of each row; they add to 0.
    X_fit_ : ndarray or csr_array of shape (n_rows, n_features)
        For other kernels but "precomputed", the rows of ``fit`` that have a weight.
    intercept_ : float
        0: an order can't see it.
    objective_ : float
        The value of the objective.
    duality_gap_ : float
        How far that is above the smallest value at most.
    n_iter_ : int
        How often the slopes were computed for a step, or to stop.
    n_queries_ : int
        Number of queries in the fit; 1 without ``qid``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had such.

    See Also
    --------
    TopPush : Positives above the highest negative.
    rankwise.metrics.precision_at_top_score : The share of positives among the first rows.

    References
    ----------
    S. Boyd, C. Cortes, M. Mohri and A. Radovanovic, Accuracy at the top, NIPS 2012.
    L. Adam, V. Mácha, V. Šmídl and T. Pevný, General framework for binary classification on top
    samples, Optimization Methods and Software, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.metrics import precision_at_top_score
    >>> from rankwise.pairwise import AccuracyAtTop
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = (X @ [2.0, -1.0, 0.0] > 2.0).astype(int)
    >>> model = AccuracyAtTop(C=100.0, tau=0.1).fit(X[:200], y[:200])
    >>> print(f"{precision_at_top_score(y[200:], model.predict(X[200:]), tau=0.1):.2f}")
    1.00
    >>> model.duality_gap_ <= 1e-4 * model.objective_
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TopRanker._parameter_constraints,
        "power": [Options(Integral, {1, 2})],
        "tau": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        tau: float = 0.05,
        power: int = 1,
        positive: float | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            C,
            positive=positive,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            tol=tol,
            max_iter=max_iter,
        )
        self.tau = tau
        self.power = power

    def _costs(
        self, positive: NDArray[np.bool_], codes: NDArray[np.int64], weight: Vector
    ) -> TopCosts:
        return TopCosts(positive, codes, weight, tau=self.tau, power=self.power)
