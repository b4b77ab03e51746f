"""What rankers with kernels share, and what support vector rankers do: rows, costs, a solver."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, Options
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from rankwise.base import RankerMixin, check_ranked, unchanged_on_error
from rankwise.engine.kernels import KERNEL_CONSTRAINTS, Factor, Kernel, factorise
from rankwise.engine.loops.rows import as_rows, scores
from rankwise.engine.pairs import PairCosts, PairLoss, Pairs, pair_costs
from rankwise.engine.solvers.newton import Sampled, minimise, sample_rows, sample_size
from rankwise.engine.warn import warn_user

Vector = NDArray[np.float64]
Sampling = Callable[[int], tuple[NDArray[np.int64], PairCosts] | None]

_PREDICTED = 1024
# With more features than rows, and at most as many rows, the Gram matrix is the shorter way.
_FEW_ROWS = 2_000


class KernelRanker(RankerMixin):
    """A ranker with the parameters kernel, gamma, degree and coef0."""

    kernel: Any
    gamma: float | None
    degree: int
    coef0: float

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0)

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_kernel(self, X: Any, n: int, kept: NDArray[np.int64]) -> Any:
        """Return X, or of a precomputed kernel the values between the kept of n rows."""
        if not self._is_precomputed():
            return X
        if sparse.issparse(X):
            X = X.toarray()
        if X.shape[1] != n:
            raise ValueError(
                f"X has the shape ({n}, {X.shape[1]}), but a precomputed kernel is a square "
                "matrix of the values between the rows"
            )
        return X if len(kept) == n else X[:, kept]


class PairMachine(KernelRanker, BaseEstimator):
    """A ranker that minimises ||h||^2 + C (mean cost over pairs), the pairs never formed.

    A subclass has the parameters C, power, kernel, gamma, degree, coef0, tol, max_iter and
    warm_start, and supplies ``_loss(pairs)``. ``_keeps_scale`` says whether scores are on the scale
    of the ratings, so that residuals average 0; pairs can't see the intercept.
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
        rows, ratings, mass, names, n_queries, kept = check_ranked(self, X, y, qid, sample_weight)
        n = _num_samples(y)
        rows = self._check_kernel(rows, n, kept)
        # what nobody gave is not kept beside a million rows
        weight = None if sample_weight is None else mass
        codes = None if qid is None else names
        left = None if len(kept) == n else kept
        del mass, names, kept
        pairs = Pairs(ratings, qid=codes, sample_weight=weight, pair_weight=self._weighing())
        costs = pair_costs(self._loss(pairs))

        def sampled(size: int) -> tuple[NDArray[np.int64], PairCosts] | None:
            some, times = sample_rows(codes, len(ratings), size)
            mass = None if weight is None else weight[some]
            if times is not None:
                mass = times if mass is None else mass * times
            few = Pairs(
                ratings[some],
                qid=None if codes is None else codes[some],
                sample_weight=mass,
                pair_weight=self._weighing(),
            )
            comparable = few.one_sided_weight > 0
            return (some, pair_costs(self._loss(few), listed=0)) if comparable else None

        coordinates, w = self._learn(rows, costs, left, n, sampled)
        self.intercept_ = 0.0
        if self._keeps_scale:
            self.intercept_ = float(np.average(ratings - coordinates @ w, weights=weight))
        self.n_queries_ = n_queries
        return self

    def predict(self, X: ArrayLike) -> Vector:
        """Return the score of each row, higher is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=False)
        if self._is_linear():
            said = np.empty((rows.shape[0], 1))
            scores(as_rows(rows), self.coef_[None], said)
            return said[:, 0] + self.intercept_
        kernel, known = self._kernel(), getattr(self, "X_fit_", None)
        said = np.empty(rows.shape[0])
        for start in range(0, rows.shape[0], _PREDICTED):
            block = slice(start, start + _PREDICTED)
            said[block] = kernel.gram(rows[block], known) @ self.dual_coef_
        return said + self.intercept_

    def _weighing(self) -> str:
        """Return how a pair weighs besides its rows."""
        return getattr(self, "pair_weight", "uniform")

    def _loss(self, pairs: Pairs) -> PairLoss:
        raise NotImplementedError

    def _learn(
        self,
        X: Any,
        costs: PairCosts,
        kept: NDArray[np.int64] | None,
        n: int,
        sampled: Sampling | None = None,
    ) -> tuple[Any, Vector]:
        """Solve, take over what was learned, and return the rows and weights of the solver.

        ``kept`` are the rows out of n that X holds; None: all. ``sampled`` draws rows and gives
        the costs of their pairs.
        """
        m, d = X.shape
        linear = self._is_linear()
        factor: Factor | None = None
        rows = X
        if not linear or (m < d and m <= _FEW_ROWS):
            factor = factorise(self._kernel().gram(X))
            rows = factor.Z
        sample = None
        size = sample_size(m, rows.shape[1])
        if size < m and sampled is not None and (found := sampled(size)) is not None:
            some, its_costs = found
            few = rows[some]
            sample = Sampled(few.toarray() if sparse.issparse(few) else few, its_costs)
        start = self._start(X, factor, kept) if self.warm_start else None
        solution = minimise(
            rows,
            costs,
            self.C,
            tol=self.tol,
            max_iter=self.max_iter,
            w=start,
            h=None if start is None else self._first_width(costs.scale),
            sample=sample,
        )
        if solution.gap > self.tol * solution.objective:
            self._warn(solution.objective, solution.gap, solution.n_iter)
        for name in ("coef_", "dual_coef_", "X_fit_"):
            self.__dict__.pop(name, None)
        if linear:
            w = solution.w
            self.coef_ = w if factor is None else X.T @ factor.coefficients(w)
        elif factor is not None:
            alpha = factor.coefficients(solution.w)
            if self._is_precomputed():
                self.dual_coef_ = np.zeros(n)
                self.dual_coef_[slice(None) if kept is None else kept] = alpha
            else:
                self.dual_coef_, self.X_fit_ = alpha, X
        self.objective_, self.duality_gap_ = solution.objective, solution.gap
        self.n_iter_, self._ended = solution.n_iter + 1, (solution.h, self.C)
        return rows, solution.w

    def _start(
        self, X: Any, factor: Factor | None, kept: NDArray[np.int64] | None
    ) -> Vector | None:
        """Return what was learned before in the coordinates of the solver, if it fits."""
        if self._is_linear():
            coef = getattr(self, "coef_", None)
            if coef is None or len(coef) != X.shape[1]:
                return None
            return coef if factor is None else factor.coordinates(X @ coef)
        alpha = getattr(self, "dual_coef_", None)
        if alpha is None or factor is None:
            return None
        if self._is_precomputed() and kept is not None and kept[-1] < len(alpha):
            alpha = alpha[kept]
        return factor.Z.T @ alpha if len(alpha) == len(factor.Z) else None

    def _first_width(self, scale: float) -> float:
        """Return how wide kinks should be at first: as in the last fit, wider for another C."""
        h, C = self._ended
        return min(scale, h * max(self.C / C, C / self.C))

    def _warn(self, objective: float, gap: float, n_iter: int) -> None:
        reason = (
            f"stopped after max_iter={self.max_iter} steps"
            if n_iter >= self.max_iter
            else "came to where rounding hides what is left"
        )
        advice = (
            "allow more steps, a larger tol or a smaller C"
            if n_iter >= self.max_iter
            else "allow a larger tol or a smaller C"
        )
        warn_user(
            f"{type(self).__name__} {reason}, with an objective of {objective:.6g} that is up to "
            f"{gap:.2g} above the smallest, more than tol={self.tol} of it: {advice}, or scale "
            "the features, for example with sklearn.preprocessing.StandardScaler",
            ConvergenceWarning,
        )
