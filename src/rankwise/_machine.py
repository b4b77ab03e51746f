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
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _num_samples, check_is_fitted

from rankwise.base import (
    TOO_LARGE,
    Ranked,
    RankerMixin,
    bad_row,
    check_ranked,
    check_rows,
    unchanged_on_error,
)
from rankwise.engine.kernels import (
    KERNEL_CONSTRAINTS,
    Anchored,
    Factor,
    Kernel,
    centre,
    factorise,
    move,
)
from rankwise.engine.loops.rows import as_rows, scores
from rankwise.engine.pairs import PairCosts, PairLoss, Pairs
from rankwise.engine.solvers.newton import Sampled, Solution, minimise, sample_rows, sample_size
from rankwise.engine.solvers.ridge import ERRORS, TRUSTED, check_trusted
from rankwise.engine.warn import warn_user

Vector = NDArray[np.float64]
Sampling = Callable[[int], tuple[NDArray[np.int64], PairCosts] | None]

_PREDICTED = 1024
# With more features than rows, and at most as many rows, the Gram matrix is the shorter way.
_FEW_ROWS = 2_000
# Ratings and squares of rows past these would overflow in sums of squares.
_LARGEST_RATING, _LARGEST_SQUARE, _TINY = 1e140, 1e290, 1e-300


def check_rows_of_queries(codes: NDArray[np.int64]) -> None:
    """Refuse a sample in which no query has two rows."""
    if np.bincount(codes).max() < 2:
        found = "y has one sample" if len(codes) == 1 else "qid gives each row a query of its own"
        raise ValueError(
            f"{found} (n_samples = {len(codes)}): ranking compares two or more rows of a query"
        )


def check_ratings(y: Vector) -> None:
    """Refuse ratings whose squares a float can't hold."""
    if np.abs(y).max(initial=0.0) > _LARGEST_RATING:
        raise ValueError(
            f"y holds {y[np.abs(y).argmax()]:.3g}, whose square is larger than a float can hold: "
            "divide the ratings by a constant"
        )


def check_size(X: Any, kernel: Kernel, kept: NDArray[np.int64]) -> None:
    """Refuse rows whose squares, or values of the kernel, a float can't hold.

    ``kept`` are their numbers in what was given. What a callable returns is looked at later.
    """
    if callable(kernel.kernel):
        return
    with np.errstate(over="ignore"):
        if kernel.kernel == "precomputed":
            squares = np.maximum(X.max(axis=1), -X.min(axis=1))
        else:
            squares = row_norms(X, squared=True)
            if kernel.kernel == "poly":
                squares = np.maximum(squares, kernel.diagonal(X))
        bad = np.flatnonzero(~(squares * len(kept) <= _LARGEST_SQUARE))
    if len(bad):
        raise ValueError(f"the square of row {kept[bad[0]]} of X is {TOO_LARGE}")


def check_learned(learned: dict[str, Any], C: float) -> None:
    """Refuse what no float can hold."""
    for name, value in learned.items():
        if name.endswith(("coef_", "intercept_", "objective_")) and not np.isfinite(value).all():
            raise ValueError(
                f"what was learned ({name}) with C={C:.3g} is larger than a float can hold: scale "
                "the features, for example with sklearn.preprocessing.StandardScaler, and the "
                "ratings, or use a smaller C"
            )


class KernelRanker(RankerMixin):
    """A ranker with the parameters kernel, gamma, degree and coef0."""

    kernel: Any
    gamma: float | None
    degree: int
    coef0: float
    coef_: Vector
    dual_coef_: Vector
    intercept_: float
    _anchored: Anchored
    _constant: float

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

    def _gram(self, anchored: Anchored, X: Any) -> tuple[Vector, Vector]:
        """Return the kernel's values between the rows of a fit, and their sizes."""
        K = anchored.gram(X)
        if callable(self.kernel) and not np.abs(K).max() * len(K) <= _LARGEST_SQUARE:
            raise ValueError(
                f"kernel={self.kernel!r} returned {K.flat[np.abs(K).argmax()]:.3g}: sums of such "
                f"values are {TOO_LARGE}"
            )
        return K, anchored.sizes(X, K)

    def _scores(self, X: ArrayLike) -> Vector:
        """Return the score of each row by what was learned."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        said = np.empty((rows.shape[0], 1))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self._is_linear():
                scores(as_rows(rows), np.atleast_2d(self._predicting("coef_")), said)
                said += self.intercept_
            else:
                dual = self._predicting("dual_coef_")
                known = None if self._is_precomputed() else self._predicting("X_fit_")
                for start in range(0, rows.shape[0], _PREDICTED):
                    block = slice(start, start + _PREDICTED)
                    said[block, 0] = self._anchored.gram(rows[block], known) @ dual
                said += self._constant
        bad = np.flatnonzero(~np.isfinite(said[:, 0]))
        if len(bad):
            raise bad_row(rows, bad[0])
        return said[:, 0]

    def _predicting(self, name: str) -> Any:
        """Return a learned attribute, which another kernel would not have."""
        if not hasattr(self, name):
            raise ValueError(
                f"kernel={self.kernel!r} predicts by {name}, which {type(self).__name__} was not "
                "fitted with: set the kernel back to what it was, or fit anew"
            )
        return getattr(self, name)

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
        data = check_ranked(self, X, y, qid, sample_weight)
        n, n_queries = _num_samples(y), data.n_queries
        rows = self._check_kernel(data.X, n, data.kept)
        check_ratings(data.y)
        check_size(rows, self._kernel(), data.kept)
        self._check_pairs(data)
        # what nobody gave is not kept beside a million rows
        weight = None if sample_weight is None else data.weight / data.weight.max()
        codes = None if qid is None else data.codes
        left = None if len(data.kept) == n else data.kept
        ratings = data.y
        del data
        pairs = Pairs(ratings, qid=codes, sample_weight=weight, pair_weight=self._weighing())
        costs = self._loss(pairs).costs()

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
            return (some, self._loss(few).swept()) if comparable else None

        said = self._learn(rows, costs, left, n, sampled)
        if self._keeps_scale:
            self._shift(float(np.average(ratings - said, weights=weight)))
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
        return self._scores(X)

    def _weighing(self) -> str:
        """Return how a pair weighs besides its rows."""
        return getattr(self, "pair_weight", "uniform")

    def _loss(self, pairs: Pairs) -> PairLoss:
        raise NotImplementedError

    def _check_pairs(self, data: Ranked) -> None:
        """Refuse rows that have no pair to learn from, if the loss does not."""

    def _learn(
        self,
        X: Any,
        costs: PairCosts,
        kept: NDArray[np.int64] | None,
        n: int,
        sampled: Sampling | None = None,
    ) -> Vector:
        """Solve, take over what was learned, and return the scores of the rows.

        ``kept`` are the rows out of n that X holds; None: all. ``sampled`` draws rows and gives
        the costs of their pairs.
        """
        m, d = X.shape
        linear = self._is_linear()
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            anchored = Anchored.of(self._kernel(), X)
            rows = move(X, anchored.anchor) if linear else X
            solution = None
            if not linear or (m < d and m <= _FEW_ROWS):
                solution, alpha, said, error = self._solve_gram(anchored, X, rows, costs, kept)
                if not linear:
                    check_trusted(error, "the scores", spread="the scores")
                elif not error <= TRUSTED:
                    solution = None
                else:
                    coef = rows.T @ alpha
            if solution is None:
                solution = self._solve_rows(rows, costs, sampled)
                coef = solution.w
            if linear:
                said = rows @ coef
                shift = 0.0 if anchored.anchor is None else float(anchored.anchor @ coef)
        learned: dict[str, Any] = {"objective_": solution.objective, "duality_gap_": solution.gap}
        learned |= {"coef_": coef, "_moved": shift} if linear else {"dual_coef_": alpha}
        check_learned(learned, self.C)
        if solution.gap > self.tol * solution.objective:
            self._warn(solution.objective, solution.gap, solution.n_iter)
        for name in ("coef_", "dual_coef_", "X_fit_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(learned)
        if not linear:
            self._anchored, self._constant = anchored, 0.0
            self._moved = anchored.constant(X, alpha)
            if self._is_precomputed():
                self.dual_coef_ = np.zeros(n)
                self.dual_coef_[slice(None) if kept is None else kept] = alpha
            else:
                self.X_fit_ = X.copy()
        self.intercept_ = 0.0
        self.n_iter_, self._ended = solution.n_iter + 1, (solution.h, self.C)
        return said

    def _shift(self, by: float) -> None:
        """Add a constant to the scores that `_learn` has returned, and let that be all of it."""
        self._constant, self.intercept_ = by, by - self._moved

    def _solve_rows(self, rows: Any, costs: PairCosts, sampled: Sampling | None) -> Solution:
        """Solve in the coordinates of the rows."""
        sample = None
        size = sample_size(*rows.shape)
        if size < rows.shape[0] and sampled is not None and (found := sampled(size)) is not None:
            some, its_costs = found
            few = rows[some]
            sample = Sampled(few.toarray() if sparse.issparse(few) else few, its_costs)
        start = getattr(self, "coef_", None) if self.warm_start else None
        if start is not None and len(start) != rows.shape[1]:
            start = None
        return self._minimise(rows, costs, start, sample)

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
        solution = self._minimise(factor.Z, costs, start, None)
        alpha = factor.coefficients(solution.w)
        alpha -= alpha.mean()
        said = factor.Z @ solution.w
        sizes = np.sqrt(sizes)
        spread = float(np.linalg.norm(said - said.mean()))
        noise = ERRORS * float(np.linalg.norm(sizes) * np.linalg.norm(sizes * alpha))
        error = noise / spread if spread > 0 else 0.0
        # what the dual of the same slopes would be with other roundings of K
        slopes = 0.5 * self.C * costs.evaluate(said, solution.h).slopes
        missed = ERRORS * float(np.square(sizes * slopes).sum())
        missed += float(np.square(np.abs(slopes) @ np.sqrt(factor.left)))
        if solution.objective > 0:
            error = max(error, missed / solution.objective)
        return solution, alpha, said + float(means @ alpha), error

    def _minimise(
        self, rows: Any, costs: PairCosts, start: Vector | None, sample: Sampled | None
    ) -> Solution:
        return minimise(
            rows,
            costs,
            self.C,
            tol=self.tol,
            max_iter=self.max_iter,
            w=start,
            h=None if start is None else self._first_width(costs.scale),
            sample=sample,
        )

    def _start(self, rows: Any, factor: Factor, kept: NDArray[np.int64] | None) -> Vector | None:
        """Return what was learned before in the coordinates of a factor, if it fits."""
        if self._is_linear():
            coef = getattr(self, "coef_", None)
            if coef is None or len(coef) != rows.shape[1]:
                return None
            said = rows @ coef
            return factor.coordinates(said - said.mean())
        alpha = getattr(self, "dual_coef_", None)
        if alpha is None:
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
