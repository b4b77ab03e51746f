r"""Newton's method for :math:`F(w) = \|w\|^2 + C L(Xw)`, L a mean cost over pairs.

The slopes u of a smoothed loss are feasible for the dual, so every step comes with a certificate:

.. math:: F(w) - \min F \le \tfrac14 \|2 w + C X^\top u\|^2 + C \cdot \mathrm{slack},

the second term being what smoothing costs, 0 for power 2. See `rankwise._core.pairs` for u and
the slack. For power 1 the width of the kinks is narrowed whenever the slack is the larger term.

The Hessian :math:`2I + C X^\top L'' X` comes from all rows if they are few. If they are many, from
a sample of them, which also gives the start. It is kept while steps gain much, and corrected by
what the gradients of all pairs tell (BFGS). Where a sample brings too little, or where features are
too many for a matrix, the Newton equation is solved by conjugate gradients, with the sample's
Hessian or the diagonal as a preconditioner.

A step is: the duality gap, a direction, a line search. The rows X may lie anywhere: what is needed
is ``X @ w``, ``v @ X``, ``X.shape``, for a sample ``X[rows]``, and ``X.multiply(X)`` or ``X * X``
where features are too many.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from rankwise._core.pairs import Curve, Evaluation, PairCosts

Vector = NDArray[np.float64]
Solve = Callable[[Vector], Vector]
Draw = Callable[[int], tuple[NDArray[np.int64], PairCosts] | None]
Sample = tuple[Any, PairCosts | None]
"""Rows to take the Hessian from, and the costs of their pairs; None: they are all rows."""

# Rows of a sample, and how many of them each feature asks for.
_SAMPLE, _PER_FEATURE = 2_000, 20
MATRIX = 2_000
"""More features than these have no Hessian matrix."""
# Steps without a lower objective or a smaller gap that rounding is taken for.
_PATIENCE = 30
# Lengths of a step that are tried.
_TRIALS = 41
_EPS = float(np.finfo(np.float64).eps)


class Solution(NamedTuple):
    """The result of `minimise`.

    Attributes
    ----------
    w : ndarray of shape (d,)
        The best point.
    objective, gap : float
        F there, and how far above its minimum that is at most.
    n_iter : int
        Steps over all rows.
    h : float
        The last width of the kinks.
    """

    w: Vector
    objective: float
    gap: float
    n_iter: int
    h: float


def draw_sample(X: Any, draw: Draw | None = None) -> Sample | None:
    """Return rows for the Hessian, dense and centred; None if it is too large for a matrix.

    ``draw``, given a number, returns about as many rows and the costs of their pairs, or None if
    these rows have no pair. Without it, or if the rows are few, the sample is all rows.
    """
    m, d = X.shape
    if d > MATRIX:
        return None
    size = max(_SAMPLE, _PER_FEATURE * d)
    drawn = draw(size) if draw is not None and 2 * size < m else None
    rows, costs = (slice(None), None) if drawn is None else drawn
    some = X[rows]
    if sparse.issparse(some):
        some = some.toarray()
    # pairs can't see the mean, and Hessians lose digits by it
    return some - some.mean(axis=0), costs


def sample_rows(
    codes: NDArray[np.int64] | None, m: int, size: int
) -> tuple[NDArray[np.int64], Vector | None]:
    """Draw some rows, always the same, so that pairs inside queries are left.

    Without queries any rows; otherwise queries, and of a large one some rows, each of which then
    stands for several.

    Returns
    -------
    rows : ndarray of shape (n,)
        In order.
    times : ndarray of shape (n,) or None
        For how many rows each stands; None: alike.
    """
    random = np.random.default_rng(0)
    if codes is None:
        return np.sort(random.choice(m, size, replace=False, shuffle=False)), None
    sizes = np.bincount(codes)
    most = max(50, size // 20)
    drawn = random.permutation(len(sizes))
    enough = np.searchsorted(np.cumsum(np.minimum(sizes[drawn], most)), size) + 1
    taken = np.zeros(len(sizes), dtype=bool)
    taken[drawn[:enough]] = True
    rows = random.permutation(np.flatnonzero(taken[codes]))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    positions = np.arange(len(rows)) - np.searchsorted(codes[rows], codes[rows])
    rows = np.sort(rows[positions < most])
    return rows, np.maximum(1.0, sizes[codes[rows]] / most)


def minimise(
    X: Any,
    costs: PairCosts,
    C: float,
    *,
    tol: float,
    max_iter: int,
    sample: Sample | None = None,
    w: Vector | None = None,
    h: float | None = None,
) -> Solution:
    """Minimise F until the gap is at most ``tol`` times F.

    Parameters
    ----------
    X : ndarray, csr_array or what multiplies like one, of shape (m, d)
        The rows.
    costs : PairCosts
        The loss over their pairs.
    C : float
        The weight of the loss.
    tol, max_iter
        When to stop.
    sample : tuple, default=None
        As from `draw_sample`; None: directions come from conjugate gradients.
    w : ndarray of shape (d,), default=None
        Where to start; None: at the solution of the sample, else at 0.
    h : float, default=None
        The first width of the kinks.
    """
    Z, few = (None, None) if sample is None else sample
    if few is not None and w is None:
        start = minimise(Z, few, C, tol=max(tol, 1e-2), max_iter=50, sample=(Z, None))
        w, h = start.w, start.h
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    h = costs.scale if h is None else h
    s = X @ w
    point = costs.evaluate(s, h)
    directions = _Directions(X, costs, C, sample)
    best, lowest, bound, smallest_gap, idle = w, np.inf, -np.inf, np.inf, 0
    for n_iter in range(max_iter + 1):
        objective, gradient, square, smoothing = _duality(X, w, point, C)
        idle = 0 if objective < lowest - 1e-10 * abs(objective) else idle + 1
        if objective < lowest:
            best, lowest = w.copy(), objective
        bound = max(bound, objective - square - smoothing)
        gap = max(0.0, lowest - bound)
        if gap < 0.99 * smallest_gap:
            idle = 0
        smallest_gap = min(smallest_gap, gap)
        rounding = square <= 1e-15 * objective
        narrow = costs.power == 1 and (square <= 0.3 * smoothing or rounding)
        if gap <= tol * lowest or idle == _PATIENCE or n_iter == max_iter:
            break
        if narrow and h > 1e-13 * costs.scale:
            narrower = np.sqrt(0.3 * tol * objective / smoothing) if smoothing > 0 else 0.0
            h *= float(np.clip(narrower, 0.1, 0.5))
            point, directions = costs.evaluate(s, h), _Directions(X, costs, C, sample)
            continue
        if narrow or rounding:
            break
        step = directions.find(w, s, h, gradient, square)
        t = X @ step
        length, point = _search(costs, C, w, s, step, t, h, point)
        w += length * step
        s += length * t
    return Solution(best, lowest, gap, n_iter, h)


def _duality(X: Any, w: Vector, point: Evaluation, C: float) -> tuple[float, Vector, float, float]:
    """Return F at w, its gradient, and the two terms of the duality gap: square and smoothing."""
    gradient = 2.0 * w + C * (point.slopes @ X)
    square = float(gradient @ gradient) / 4.0
    return float(w @ w) + C * point.cost, gradient, square, C * point.slack


@dataclass
class _Directions:
    """Newton directions for one width of the kinks.

    The Hessian of a sample, corrected by the changes of the gradient (BFGS), gives a direction. If
    the sample is all rows, its Hessian is computed again where steps gain little. Otherwise, or
    without a sample, such directions come from conjugate gradients over all rows.
    """

    X: Any
    costs: PairCosts
    C: float
    sample: Sample | None
    solve: Solve | None = None
    changes: list[tuple[Vector, Vector, float]] = field(default_factory=list)
    last: tuple[Vector, Vector] | None = None
    last_square: float = np.inf

    def find(self, w: Vector, s: Vector, h: float, gradient: Vector, square: float) -> Vector:
        """Return the direction at w with scores s; ``square`` is that of half the gradient."""
        costs, sample = self.costs, self.sample
        few = sample is not None and sample[1] is None
        slow = square > (0.05 if few else 0.25) * self.last_square
        self.last_square = square
        if sample is not None and (self.solve is None or (slow and few)):
            width = h if few else max(h, 0.02 * costs.scale)
            self.solve = _solver(sample[0], sample[1] or costs, self.C, sample[0] @ w, width)
            self.changes, self.last = [], None
        if self.solve is not None:
            if self.last is not None:
                moved, changed = w - self.last[0], gradient - self.last[1]
                if (product := float(moved @ changed)) > 0:
                    self.changes.append((moved, changed, product))
            self.last = w.copy(), gradient
            if few or not slow:
                return _bfgs_direction(self.solve, self.changes, gradient)
        return _newton_direction(self.X, costs.curve(s, h), self.C, gradient, self.solve)


def _bfgs_direction(
    solve: Solve, changes: list[tuple[Vector, Vector, float]], gradient: Vector
) -> Vector:
    """Return the direction of a Hessian that the changes of the gradient correct.

    ``changes`` are the steps, the changes of the gradient, and the inner products of both.
    """
    v, shares = -gradient, []
    for moved, changed, product in reversed(changes):
        shares.append(float(moved @ v) / product)
        v = v - shares[-1] * changed
    v = solve(v)
    for (moved, changed, product), share in zip(changes, reversed(shares), strict=True):
        v = v + (share - float(changed @ v) / product) * moved
    return v


def _newton_direction(
    X: Any, curve: Curve, C: float, gradient: Vector, solve: Solve | None
) -> Vector:
    """Return the direction of all rows by conjugate gradients.

    The preconditioner is the Hessian of a sample, or without one the diagonal.
    """
    if solve is None:
        squares = X.multiply(X) if hasattr(X, "multiply") else X * X
        scale = 1.0 / (2.0 + C * (curve.diagonal @ squares))
    return _conjugate_gradients(
        lambda v: 2.0 * v + C * (curve.product(X @ v) @ X),
        -gradient,
        solve or (lambda v: scale * v),
    )


def _solver(X: Vector, costs: PairCosts, C: float, s: Vector, h: float) -> Solve:
    """Return a function that divides by the Hessian of the rows."""
    hessian = C * costs.curve(s, h).gram(X)
    hessian[np.diag_indices_from(hessian)] += 2.0
    # features of any scale: a unit diagonal costs nothing and spares digits
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(hessian), 2.0))
    hessian *= scale
    hessian *= scale[:, None]
    try:
        factor = cho_factor(hessian, lower=True, check_finite=False)
    except LinAlgError:
        values, U = eigh(hessian, check_finite=False)
        values = np.maximum(values, len(values) * _EPS * values[-1])
        return lambda v: scale * (U @ ((U.T @ (scale * v)) / values))
    return lambda v: scale * cho_solve(factor, scale * v, check_finite=False)


def _conjugate_gradients(
    multiply: Callable[[Vector], Vector], target: Vector, solve: Solve, *, most: int = 100
) -> Vector:
    """Solve the Newton equation to a tenth, or as far as ``most`` products lead."""
    x, residual = np.zeros(len(target)), target.copy()
    z = solve(residual)
    p, rho = z.copy(), float(residual @ z)
    goal = 0.01 * rho
    for _ in range(most):
        product = multiply(p)
        alpha = rho / float(p @ product)
        x += alpha * p
        residual -= alpha * product
        z = solve(residual)
        rho, previous = float(residual @ z), rho
        if rho <= goal:
            break
        p = z + (rho / previous) * p
    return x


def _search(
    costs: PairCosts,
    C: float,
    w: Vector,
    s: Vector,
    step: Vector,
    t: Vector,
    h: float,
    point: Evaluation,
) -> tuple[float, Evaluation]:
    """Return how far to go along a step, and the loss there; the slope along it falls tenfold.

    A full step is taken if it halves the slope. Only scores are needed, not rows.
    """
    across, along = 2.0 * float(w @ step), 2.0 * float(step @ step)
    first = across + C * float(point.slopes @ t)
    if first >= 0:
        return 0.0, point
    low, low_slope, high, high_slope = 0.0, first, np.inf, np.inf
    length = 1.0
    for trial in range(_TRIALS):
        there = costs.evaluate(s + length * t, h)
        slope = across + length * along + C * float(there.slopes @ t)
        if abs(slope) <= (0.1 if trial else 0.5) * abs(first) or trial == _TRIALS - 1:
            break
        if slope < 0:
            low, low_slope = length, slope
        else:
            high, high_slope = length, slope
        if high == np.inf:
            length *= 2.0
        else:
            share = low_slope / (low_slope - high_slope)
            length = low + float(np.clip(share, 0.05, 0.95)) * (high - low)
    return length, there
