r"""TopPush: positives above the highest negative, by a quadratic programme over few rows.

.. math:: F(w) = \|w\|^2 + C \sum_{i \in P} v_i \max(0, 1 + t - x_i^\top w)^2, \qquad
    t = \max_{j \in N} x_j^\top w

Given which positives cost and which negatives may be the highest, F is a quadratic in u = (w, t)
under the constraints :math:`x_j^\top w \le t`:

.. math:: \min_u \tfrac12 u^\top H u + g^\top u \;\; \text{with } B u \le 0, \qquad
    u = -H^{-1}(g + B^\top \beta), \; \beta \ge 0 \text{ minimising }
    \|L^{-1}(g + B^\top \beta)\|, \; L L^\top = H:

least squares with weights that are not negative, in d + 1 equations. A round solves it, scores all
rows, takes in negatives above t, and adds to H or takes from it the positives that have begun or
ceased to cost. When neither changes, u is the minimum. Three to ten rounds are usual, each a pass
over the rows; the first also forms the squares of the positives, O(|P| d^2).

The weights beta and the slopes of the costs are feasible for the dual, so every round has a
certificate, as in `rankwise._core.newton`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.utils.extmath import row_norms

from rankwise._core.arguments import warn_user
from rankwise._core.inputs import dense
from rankwise._core.newton import Solution
from rankwise.pairwise._accuracy_at_top import TopCosts, TopRanker

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
Moves = tuple[Vector, Vector]

MOST_FEATURES = 3_000
"""Features past which the squares of the positives take too long."""
# Negatives that a round takes in, and how many may be in play before idle ones leave.
_NEW, _PLAY = 100, 1_000
# Rows whose squares are formed at once.
_BLOCK = 20_000
# Rounds without a smaller gap that rounding is taken for, and steps of a search.
_PATIENCE, _HALVINGS = 30, 30
# Exchanges of whole blocks without progress, and exchanges in all, before another way is tried.
_TRIES, _PIVOTS = 3, 100
# The share of its diagonal by which the Hessian is lifted, against rounding.
_LIFT = 1e-14
# A shorter w, as a share of a first step or of a margin, scores all rows alike.
_NOTHING = 1e-9


class _Costing:
    """The positives that cost, and the quadratic that they make of F."""

    def __init__(self, X: Any, rows: Indices, v: Vector, C: float) -> None:
        self._X, self._rows, self._v, self._C = X, rows, v, C
        self._on, self._most = np.zeros(len(rows), dtype=bool), 0
        self.H, self.g = np.empty(0), np.empty(0)

    def set(self, on: NDArray[np.bool_]) -> None:
        """Say which positives cost."""
        changed, count = np.flatnonzero(on != self._on), int(on.sum())
        if 2 * len(changed) > count or 2 * count < self._most:
            # again: quicker, and what was subtracted leaves no rounding
            d = self._X.shape[1]
            self.H, self.g, self._most = np.zeros((d + 1, d + 1)), np.zeros(d + 1), count
            self.H[np.arange(d), np.arange(d)] = 2.0
            self._add(np.flatnonzero(on), 1.0)
        else:
            self._add(changed[on[changed]], 1.0)
            self._add(changed[~on[changed]], -1.0)
        self._on = on

    def _add(self, indices: Indices, sign: float) -> None:
        for start in range(0, len(indices), _BLOCK):
            some = indices[start : start + _BLOCK]
            Z = np.hstack([-dense(self._X[self._rows[some]]), np.ones((len(some), 1))])
            weighted = (2.0 * self._C * sign) * self._v[some]
            self.H += (Z * weighted[:, None]).T @ Z
            self.g += weighted @ Z


def push(
    X: Any, ups: Indices, v: Vector, downs: Indices, C: float, *, tol: float, max_iter: int
) -> Solution:
    """Minimise F until the gap is at most ``tol`` times F.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, d)
        The rows.
    ups, v : ndarrays of shape (n_positives,)
        The positives, and their weights, which add to 1.
    downs : ndarray of shape (n_negatives,)
        The negatives.
    C : float
        The weight of the costs.
    tol, max_iter
        When to stop.
    """
    costing = _Costing(X, ups, v, C)
    costing.set(np.ones(len(ups), dtype=bool))
    # the first in play are those that the difference of the means puts highest
    means = np.zeros(X.shape[0])
    means[ups], means[downs] = v, -1.0 / len(downs)
    play = _highest((X @ (X.T @ means))[downs], -np.inf)
    w, s = np.zeros(X.shape[1]), np.zeros(X.shape[0])
    bound, reached, since = 0.0, np.inf, 0
    n_iter, done = 0, False
    while not done:
        n_iter += 1
        step, t, beta = _solve(costing.H, costing.g, dense(X[downs[play]]))
        moved = X @ step
        if not np.isfinite(moved).all():
            raise ValueError(
                f"C={C:.3g} is too large for these rows, scores overflow: use a smaller C, or "
                "scale the features, for example with sklearn.preprocessing.StandardScaler"
            )
        bound = max(bound, _dual(X, step, moved, C, (ups, v, t), (downs[play], beta)))
        kept = play[beta > 0] if len(play) > _PLAY else play
        play = np.union1d(kept, _highest(moved[downs], t))
        step -= w
        moved -= s
        length = _search(w, step, C, v, (s[ups], moved[ups]), (s[downs], moved[downs]))
        w += length * step
        s += length * moved
        lacking = 1.0 + s[downs].max() - s[ups]
        objective = float(w @ w) + C * float(v @ np.maximum(lacking, 0.0) ** 2)
        gap = max(0.0, objective - bound)
        since = 0 if gap < 0.99 * reached else since + 1
        reached = min(reached, gap)
        done = gap <= tol * objective or since == _PATIENCE or n_iter == max_iter
        if not done:
            costing.set(lacking > 0)
    return Solution(w, objective, gap, n_iter, 1.0)


def _search(w: Vector, step: Vector, C: float, v: Vector, ups: Moves, downs: Moves) -> float:
    """Return how far to go along a step: all the way if F falls until there, else to its minimum.

    ``ups`` and ``downs`` are scores, and what a whole step adds to them.
    """

    def slope(length: float) -> float:
        high = downs[0] + length * downs[1]
        top = high.max()
        rise = downs[1][high == top].max()
        costs = np.maximum(1.0 + top - ups[0] - length * ups[1], 0.0)
        return 2.0 * float((w + length * step) @ step + C * ((v * costs) @ (rise - ups[1])))

    first, end = slope(0.0), slope(1.0)
    if first >= 0 or end <= 0:
        return 0.0 if first >= 0 else 1.0
    low, high, low_slope, high_slope = 0.0, 1.0, first, end
    for _ in range(_HALVINGS):
        share = float(np.clip(low_slope / (low_slope - high_slope), 0.1, 0.9))
        length = low + share * (high - low)
        here = slope(length)
        if here <= 0:
            low, low_slope = length, here
        else:
            high, high_slope = length, here
        if 0.1 * first <= here <= 0:
            break
    return low


def _solve(H: Vector, g: Vector, X: Vector) -> tuple[Vector, float, Vector]:
    """Return w and t of the quadratic programme with the negatives X, and their weights."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    lifted = H * scale * scale[:, None]
    lifted[np.diag_indices_from(lifted)] = 1.0 + _LIFT * len(H)
    L = cholesky(lifted, lower=True, check_finite=False)
    B = np.hstack([X, -np.ones((len(X), 1))]) * scale
    A = solve_triangular(L, B.T, lower=True, check_finite=False)
    target = -solve_triangular(L, g * scale, lower=True, check_finite=False)
    beta = _nonnegative(A, target)
    u = scale * solve_triangular(L, target - A @ beta, lower=True, trans=1, check_finite=False)
    return u[:-1], float(u[-1]), beta


def _nonnegative(A: Vector, target: Vector) -> Vector:
    """Return the x >= 0 with the smallest ||A x - target||.

    Block principal pivoting: all entries with a wrong sign change sides at once, and one at a time
    if that does not help. Where columns depend on each other, by scipy, one at a time from 0.

    References
    ----------
    J. Kim and H. Park, Fast nonnegative matrix factorization: an active-set-like method and
    comparisons, SIAM Journal on Scientific Computing 33, 2011.
    """
    G, f = A.T @ A, A.T @ target
    small = 1e-12 * float(np.abs(f).max())
    free = f > 0
    fewest, tries = len(f) + 1, _TRIES
    for _ in range(_PIVOTS):
        x = np.zeros(len(f))
        indices = np.flatnonzero(free)
        try:
            factor = cho_factor(G[np.ix_(indices, indices)], check_finite=False)
        except LinAlgError:
            break
        x[indices] = cho_solve(factor, f[indices], check_finite=False)
        wrong = np.where(free, x < 0, G @ x - f < -small)
        count = int(wrong.sum())
        if not count:
            return x
        tries = _TRIES if count < fewest else tries - 1
        fewest = min(fewest, count)
        free ^= wrong if tries >= 0 else np.arange(len(f)) == np.flatnonzero(wrong)[-1]
    return nnls(A, target, maxiter=100 * len(f) + 1000)[0]


def _dual(
    X: Any,
    w: Vector,
    s: Vector,
    C: float,
    ups: tuple[Indices, Vector, float],
    downs: tuple[Indices, Vector],
) -> float:
    """Return a lower bound of F: positives with weights below t, negatives with weights."""
    rows, v, t = ups
    slopes = 2.0 * np.maximum(1.0 + t - s[rows], 0.0)
    total, beta = float(v @ slopes), downs[1]
    if not (total > 0 and beta.any()):
        return 0.0
    by_row = np.zeros(len(s))
    by_row[rows] = -v * slopes
    by_row[downs[0]] = beta * (total / beta.sum())
    off = 2.0 * w + C * (X.T @ by_row)
    value = float(v @ (slopes - slopes**2 / 4)) + float(by_row @ s)
    return float(w @ w) + C * value - float(off @ off) / 4


def _highest(scores: Vector, t: float) -> Indices:
    """Return the places of the highest scores above t."""
    if len(scores) > _NEW:
        indices = np.argpartition(scores, -_NEW)[-_NEW:]
    else:
        indices = np.arange(len(scores))
    return indices[scores[indices] > t]


class TopPush(TopRanker):
    r"""Positives above the highest negative, by a margin.

    .. math::

        \min_h \; \|h\|_K^2 + C \, \frac{1}{W} \sum_{i \in P} w_i
        \max\bigl(0,\; 1 + \max_{j \in N} h(x_j) - h(x_i)\bigr)^2

    over the positives, W being the sum of their weights. An AUC counts every negative alike; here
    only the highest one counts, so what is learned is a list that starts with positives. With
    ``qid`` the negatives are those of the positive's query.

    Few negatives are ever the highest. The solver keeps those in play, solves their quadratic
    programme, and looks for others: usually three to ten passes over X, each in linear time, and
    O(n_positives n_features^2) once. With queries or more than 3,000 features, Newton's method on
    a rounded maximum, which takes far more. Both end with a certificate, ``duality_gap_``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the costs against the norm: the larger, the closer the fit.
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
        How often all rows were looked at for a step, or to stop.
    n_queries_ : int
        Number of queries in the fit; 1 without ``qid``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had such.

    See Also
    --------
    AccuracyAtTop : Positives among the first tau of the rows; less at the mercy of one negative.
    RankSVM : All pairs alike.

    Notes
    -----
    One negative among the positives is enough to move the whole list. If the mean of the positives
    lies in the convex hull of the negatives, h = 0 is the minimum whatever C, since no direction
    puts the mean above them all: ``objective_`` is then C, all rows score alike, and ``fit`` says
    so. With many rows and few features this is common; `AccuracyAtTop` has no such case.

    References
    ----------
    N. Li, R. Jin and Z.-H. Zhou, Top rank optimization in linear time, NIPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.metrics import positives_at_top_score
    >>> from rankwise.pairwise import TopPush
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = (X @ [2.0, -1.0, 0.0] > 2.0).astype(int)
    >>> model = TopPush(C=100.0).fit(X[:200], y[:200])
    >>> print(f"{positives_at_top_score(y[200:], model.predict(X[200:])):.2f}")
    1.00
    >>> model.duality_gap_ <= 1e-4 * model.objective_
    True
    """

    def _costs(
        self, positive: NDArray[np.bool_], codes: NDArray[np.int64], weight: Vector
    ) -> TopCosts:
        return TopCosts(positive, codes, weight, tau=None, power=2)

    def _minimise(self, X: Any, costs: Any, *_: Any) -> Solution:
        if costs.n_queries > 1 or X.shape[1] > MOST_FEATURES:
            return super()._minimise(X, costs)
        solution = push(
            X, costs.ups, costs.v, costs.below, self.C, tol=self.tol, max_iter=self.max_iter
        )
        size = float(np.sqrt(row_norms(X, squared=True).mean()))
        # a w that does something has at least the size of a first step, or of a margin
        if np.linalg.norm(solution.w) <= _NOTHING * min(self.C * size, 1 / size if size else 1.0):
            warn_user(
                "TopPush scores all rows alike, as no direction puts the mean of the positives "
                "above the highest negative: try AccuracyAtTop, more features or a kernel"
            )
        return solution
