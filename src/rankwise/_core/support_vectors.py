"""Support vector rankers: a convex loss over pairs, minimised by Newton's method."""

from contextlib import suppress
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from rankwise._core.arguments import warn_user
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.kernels import (
    KERNEL_CONSTRAINTS,
    Anchored,
    Factor,
    centre,
    factorise,
    find_anchor,
    shift_rows,
)
from rankwise._core.newton import (
    Draw,
    Solution,
    draw_sample,
    minimise,
    sample_rows,
)
from rankwise._core.pairs import PairCosts, PairLoss
from rankwise._core.ranker import (
    ERRORS,
    TRUSTED,
    KernelRanker,
    Vector,
    check_learned,
    check_trusted,
)
from rankwise._core.sklearn_private import Interval, Options, num_samples

# With more features than rows, and at most as many rows, the Gram matrix is the shorter way.
_FEW_ROWS = 2_000
_TINY = 1e-300


class SupportVectorRanker(KernelRanker, BaseEstimator):
    """A ranker that minimises ||h||^2 + C (mean cost over pairs), the pairs never formed.

    A subclass has the parameters C, power, kernel, gamma, degree, coef0, tol, max_iter and
    warm_start, and supplies ``_loss(y, codes, weight)``, which raises without a pair to learn
    from. ``_keeps_scale`` says whether scores are on the scale of the ratings, so that
    residuals average 0; pairs can't see the intercept.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "power": [Options(Integral, {1, 2})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }
    _keeps_scale: ClassVar[bool] = False

    C: float
    power: int
    tol: float
    max_iter: int
    warm_start: bool
    _ended: tuple[float, float]

    @unchanged_on_error
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rated rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; for a precomputed kernel its values, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Their ratings, grades or real numbers.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, integers or strings in any order: only rows of one query are
            compared. None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, at least 0. A pair weighs their product.

        Returns
        -------
        self
        """
        self._validate_params()
        data = self._check_rated(X, y, qid, sample_weight)
        n, n_queries = num_samples(y), data.n_queries
        # arrays of ones are not kept for a million rows
        weight = None if sample_weight is None else data.weight / data.weight.max()
        codes = None if qid is None else data.codes
        kept = None if len(data.kept) == n else data.kept
        rows, ratings = data.X, data.y
        del data
        costs = self._loss(ratings, codes, weight).costs()
        draw = partial(self._draw, ratings, codes, weight)
        predicted = self._learn(rows, costs, kept, n, draw)
        if self._keeps_scale:
            self._shift(float(np.average(ratings - predicted, weights=weight)))
        self.n_queries_ = n_queries
        return self

    def _draw(
        self,
        ratings: Vector,
        codes: NDArray[np.int64] | None,
        weight: Vector | None,
        size: int,
    ) -> tuple[NDArray[np.int64], PairCosts] | None:
        """Draw some rows, and return them and the costs of their pairs; None without pairs."""
        some, times = sample_rows(codes, len(ratings), size)
        mass = None if weight is None else weight[some]
        if times is not None:
            mass = times if mass is None else mass * times
        with suppress(ValueError):
            loss = self._loss(ratings[some], None if codes is None else codes[some], mass)
            return some, loss.swept()
        return None

    def _loss(self, y: Vector, codes: NDArray[np.int64] | None, weight: Vector | None) -> PairLoss:
        raise NotImplementedError

    def _learn(
        self,
        X: Any,
        costs: PairCosts,
        kept: NDArray[np.int64] | None,
        n: int,
        draw: Draw | None = None,
    ) -> Vector:
        """Solve, set the learned attributes, and return the scores of the rows.

        ``kept`` are the rows out of n that X holds; None: all. ``draw`` draws some of
        them, see `draw_sample`.
        """
        m, d = X.shape
        linear, error = self.kernel == "linear", np.inf
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            anchor = find_anchor(X) if linear else None
            rows = shift_rows(X, anchor)
            if not linear or (m < d and m <= _FEW_ROWS):
                kernel = self._kernel()
                anchored = Anchored(kernel, anchor) if linear else Anchored.of(kernel, X)
                solution, alpha, predicted, error = self._solve_gram(anchored, X, rows, costs, kept)
            if not linear:
                check_trusted(error, "the scores", spread="the scores")
                shift = anchored.constant(X, alpha) if self._keeps_scale else 0.0
            else:
                if error <= TRUSTED:
                    coef = rows.T @ alpha
                else:
                    known = getattr(self, "coef_", None)
                    solution = self._minimise(rows, costs, known, draw)
                    coef = solution.w
                predicted = rows @ coef
                shift = 0.0
                if self._keeps_scale and anchor is not None:
                    shift = float(anchor @ coef)
        if linear:
            self._take_over(solution, {"coef_": coef, "_moved": shift})
            return predicted
        self._take_over(solution, {"dual_coef_": alpha, "_moved": shift})
        self._anchored, self._constant = anchored, 0.0
        if self.kernel == "precomputed":
            self.dual_coef_ = np.zeros(n)
            self.dual_coef_[slice(None) if kept is None else kept] = alpha
        else:
            self.X_fit_ = X.copy()
        return predicted

    def _take_over(self, solution: Solution, learned: dict[str, Any]) -> None:
        """Set what was learned, in place of what an earlier fit has learned; the intercept is 0."""
        learned |= {"objective_": solution.objective, "duality_gap_": solution.gap}
        check_learned(learned, self.C)
        if solution.gap > self.tol * solution.objective:
            reason, fix = "came to where rounding hides what is left", "allow"
            if solution.n_iter >= self.max_iter:
                reason, fix = f"stopped after max_iter={self.max_iter} steps", "allow more steps,"
            warn_user(
                f"{type(self).__name__} {reason}, with an objective of {solution.objective:.6g} "
                f"that is up to {solution.gap:.2g} above the smallest, more than tol={self.tol} of "
                f"it: {fix} a larger tol or a smaller C, or scale the features, for example with "
                "sklearn.preprocessing.StandardScaler",
                ConvergenceWarning,
            )
        for name in ("coef_", "dual_coef_", "X_fit_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(learned)
        self.intercept_ = 0.0
        self.n_iter_, self._ended = solution.n_iter + 1, (solution.h, self.C)

    def _shift(self, by: float) -> None:
        """Add a constant to the scores that `_learn` has returned, and let that be all of it."""
        self._constant, self.intercept_ = by, by - self._moved
        check_learned({"intercept_": self.intercept_}, self.C)

    def _minimise(
        self, X: Any, costs: PairCosts, known: Vector | None, draw: Draw | None = None
    ) -> Solution:
        """Minimise the objective over the coordinates of the rows.

        With ``warm_start`` it starts at ``known`` if that fits, and the kinks are as wide as at the
        end of the last fit, wider for another C.
        """
        start: dict[str, Any] = {}
        if known is not None and self.warm_start and len(known) == X.shape[1]:
            last, C = self._ended
            start = {"w": known, "h": min(costs.scale, last * max(self.C / C, C / self.C))}
        start["sample"] = draw_sample(X, draw)
        return minimise(X, costs, self.C, tol=self.tol, max_iter=self.max_iter, **start)

    def _solve_gram(
        self,
        anchored: Anchored,
        X: Any,
        rows: Any,
        costs: PairCosts,
        kept: NDArray[np.int64] | None,
    ) -> tuple[Solution, Vector, Vector, float]:
        """Solve in the coordinates of a factor of the Gram matrix, whose rows are centred.

        The optimum is a combination of differences of rows, so that centring costs nothing, and
        the coefficients add to 0. Return also these, the scores of the rows, and how far they
        may be off as a share of their spread.
        """
        K, sizes = self._gram(anchored, X)
        means = centre(K)
        factor = factorise(K, max(ERRORS * float(sizes.max()), _TINY))
        start = self._start(rows, factor, kept) if self.warm_start else None
        solution = self._minimise(factor.Z, costs, start)
        alpha = factor.coefficients(solution.w)
        alpha -= alpha.mean()
        predicted = factor.Z @ solution.w
        sizes = np.sqrt(sizes)
        spread = float(np.linalg.norm(predicted - predicted.mean()))
        noise = ERRORS * float(np.linalg.norm(sizes) * np.linalg.norm(sizes * alpha))
        error = noise / spread if spread > 0 else 0.0
        # what the dual of the same slopes would be with other roundings of K
        slopes = 0.5 * self.C * costs.evaluate(predicted, solution.h).slopes
        missed = ERRORS * float(np.square(sizes * slopes).sum())
        missed += float(np.square(np.abs(slopes) @ np.sqrt(factor.left)))
        if solution.objective > 0:
            error = max(error, missed / solution.objective)
        return solution, alpha, predicted + float(means @ alpha), error

    def _start(self, rows: Any, factor: Factor, kept: NDArray[np.int64] | None) -> Vector | None:
        """Return what was learned before in the coordinates of a factor, if it fits."""
        if self.kernel == "linear":
            coef = getattr(self, "coef_", ())
            if len(coef) != rows.shape[1]:
                return None
            predicted = rows @ coef
            return factor.coordinates(predicted - predicted.mean())
        alpha = getattr(self, "dual_coef_", ())
        if self.kernel == "precomputed" and kept is not None and kept[-1] < len(alpha):
            alpha = alpha[kept]
        return factor.Z.T @ alpha if len(alpha) == len(factor.Z) else None
