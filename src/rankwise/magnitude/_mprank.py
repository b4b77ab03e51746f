"""MPRank: ranking by least squares over all pairs."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from rankwise._core.arguments import warn_user
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.kernels import KERNEL_CONSTRAINTS, Anchored, find_anchor, shift_rows
from rankwise._core.ranker import (
    TRUSTED,
    KernelRanker,
    Ranked,
    check_learned,
    check_rows_of_queries,
    check_trusted,
)
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise.magnitude import ridge
from rankwise.magnitude._leave_pair_out import left_out
from rankwise.magnitude._online import Points
from rankwise.magnitude.statistics import Sample, Statistics, moments, solve_primal

# How far above the smallest objective, as a share of it, the online solver may end unsaid.
_FAR = 0.1
# Past this side an exact solve holds a matrix of more than 3 GB.
_LARGEST = 20_000


class MPRank(KernelRanker, BaseEstimator):
    r"""Magnitude-preserving ranking: scores whose differences are those of the ratings.

    .. math::

        \min_h \; \|h\|_K^2 + C\, \frac{1}{\sum_q n_q^2} \sum_q \sum_{i,j \in q}
        \bigl[(h(x_j) - h(x_i)) - (y_j - y_i)\bigr]^2

    over all ordered pairs of rows of one query (of all rows without ``qid``), those with i = j
    counted. A pair of rows with weights weighs their product, and the mean is the weighted one, so
    that a row of weight 2 equals two rows, exactly. The pairs are never formed: since

    .. math:: \sum_{i,j} (r_j - r_i)^2 = 2 n \sum_i (r_i - \bar r)^2

    for the residuals r of a query, it is a ridge regression with a free intercept a query and the
    penalty :math:`\lambda = m / 2C` (without queries and weights). Three solvers:

    - ``"primal"``, linear kernels only: O(m d^2 + d^3) time, O(d^2) memory besides the rows;
    - ``"dual"``: O(m^3) time, O(m^2) memory;
    - ``"online"``: the dual, climbed in passes over the points until a pass raises it by less
      than ``tol`` of its value. A pass takes O(m^2) time with a kernel and O(entries of X) for a
      linear one, which then needs no matrix at all. The answer is approximate.

    Scores are on the scale of y: pairs can't see the intercept, so it makes the weighted residuals
    average zero.

    Rows may be far from 0, as years are: kernels are formed about the rows. If rounding may still
    change scores by more than a thousandth of the spread of y, ``fit`` raises.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the norm: the larger, the closer the fit.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        "poly" is ``(gamma x.x' + coef0)^degree``, "rbf" ``exp(-gamma ||x - x'||^2)``. With
        "precomputed", X holds the kernel's values between the rows and those of ``fit``. A callable
        is given two matrices of rows and returns the matrix of values.
    gamma : float, default=None
        Of "poly" and "rbf"; None is 1 / n_features.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    solver : {"auto", "primal", "dual", "online"}, default="auto"
        "auto" takes the exact one that needs fewer operations. If both the rows and the features
        of a linear kernel are more than 20,000, so that neither matrix is small, it goes online.
    max_passes : int, default=1000
        Most passes of "online".
    tol : float, default=1e-4
        When "online" stops, as a share of the dual objective.
    eta : float, default=None
        Step of "online": a coordinate moves by 2 eta times its slope. None: to its best place.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights of a linear kernel.
    dual_coef_ : ndarray of shape (n_rows,)
        For other kernels, the coefficient of each row; those of a query add to 0.
    X_fit_ : ndarray or csr_array of shape (n_rows, n_features)
        For other kernels but "precomputed", the rows of ``fit`` that have a weight.
    intercept_ : float
        What is added to every score.
    objective_ : float
        The value of the objective.
    n_iter_ : int
        Passes of "online"; 0 if the solution is exact.
    solver_ : str
        Which solver was taken.
    n_queries_ : int
        Number of queries in the fit; 1 without ``qid``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had such.

    See Also
    --------
    MPRankCV : Chooses C and gamma by the exact leave-pair-out error.
    rankwise.model_selection.leave_pair_out : That error, without a refit.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.magnitude import MPRank
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X @ [2.0, -1.0, 0.0]
    >>> model = MPRank(C=1000).fit(X[:100], y[:100])
    >>> model.coef_.round(2)
    array([ 2., -1., -0.])
    >>> model.rank(X[100:104])
    array([1, 4, 3, 2])
    >>> model.score(X[100:], y[100:]) > 0.99
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"auto", "primal", "dual", "online"})],
        "max_passes": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, None, closed="neither"), None],
    }

    _statistics: Statistics | None

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        solver: str = "auto",
        max_passes: int = 1000,
        tol: float = 1e-4,
        eta: float | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.max_passes = max_passes
        self.tol = tol
        self.eta = eta

    @unchanged_on_error
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; for a precomputed kernel its values, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Their ratings.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, integers or strings in any order: only rows of one query are
            compared. None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, at least 0.

        Returns
        -------
        self
        """
        self._validate_params()
        data = self._check_rated(X, y, qid, sample_weight)
        check_rows_of_queries(len(data.y), data.n_queries)
        sample = Sample.of(data.codes, data.n_queries, data.weight)
        solve = self._fit_rows if self.kernel == "linear" else self._fit_gram
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            for decompose in (False, True):  # instead of products, which lost too many digits
                learned, error = solve(data, sample, decompose=decompose)
                if error <= TRUSTED or learned["solver_"] == "online":
                    break
        self._take_over(learned, error)
        self.n_queries_ = data.n_queries
        return self

    def _take_over(self, learned: dict[str, Any], error: float) -> None:
        """Set what was learned, in place of all that was learned before, if it can be trusted."""
        check_trusted(error, "the scores")
        check_learned(learned, self.C)
        for name in ("coef_", "dual_coef_", "X_fit_", "_statistics", "_points"):
            self.__dict__.pop(name, None)
        self.__dict__.update(learned)

    def _can_go_on(self) -> bool:
        """Return whether the model can learn by `partial_fit`; otherwise raise and say why."""
        if self._is_linear() or (self.solver == "online" and self.kernel != "precomputed"):
            return True
        raise AttributeError(
            f"partial_fit needs kernel='linear', or solver='online' and a kernel of the rows, not "
            f"kernel={self.kernel!r} with solver={self.solver!r}"
        )

    @available_if(_can_go_on)
    @unchanged_on_error
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows, whatever the chunks.

        After ``fit``, which keeps no statistics, it begins with these rows alone: learn all
        chunks by ``partial_fit``, the first one too.

        With a linear kernel the result is the exact model of all rows so far. Every open query
        keeps its weight, mean and scatter, 8 (n_features + 1)^2 bytes; see `close_queries`.

        Other kernels need ``solver="online"``: each point takes one step of the dual ascent when it
        arrives, centred by the points so far. The i-th costs O(i n_features), no Gram matrix is
        formed, and the model keeps the points and O(i) numbers for each query.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``. A query may go on in later chunks, so that one row of it is enough here:
            until two rows of a query are there, all scores are the mean rating. Names must all be
            numbers, or all strings.

        Returns
        -------
        self
        """
        self._validate_params()
        kind = "_statistics" if self._is_linear() else "_points"
        before = getattr(self, kind, None)
        data = self._check_rated(X, y, qid, sample_weight, reset=before is None)
        names = None if qid is None else np.asarray(qid)[data.kept]
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            weight = data.weight * data.weight_unit
            if not self._is_linear():
                named = [None] * len(data.y) if names is None else names.tolist()
                return self._learn_points(before, data.X, data.y, weight, named)
            chunk = Statistics.of(data.X, data.y, weight, data.codes, names)
        return self._learned(chunk if before is None else before.merged(chunk))

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def close_queries(self, qid: Iterable[Any] | None = None) -> Self:
        """Forget the scatter of queries that get no more rows; the model stays the same.

        Parameters
        ----------
        qid : iterable of names, default=None
            The queries. None: all that are open.

        Returns
        -------
        self
        """
        statistics = self._known_statistics()
        if issparse(qid):
            raise TypeError(f"qid={type(qid).__name__} must be a list of the names of queries")
        names = list(statistics.queries) if qid is None else list(qid)
        self._statistics = statistics.without(names)
        return self

    @available_if(KernelRanker._is_linear)
    @unchanged_on_error
    def merge(self, other: "MPRank") -> Self:
        """Learn what another model has learned: the model of the rows of both, exactly.

        Both must have learned by ``partial_fit``, for example on two machines. A query may have
        rows in both. C and the rest are this model's.

        Parameters
        ----------
        other : MPRank
            It is not changed.

        Returns
        -------
        self
        """
        if not isinstance(other, MPRank):
            raise TypeError(f"other={other!r} must be an MPRank that has learned by partial_fit")
        return self._learned(self._known_statistics().merged(other._known_statistics()))

    def _known_statistics(self) -> Statistics:
        statistics = getattr(self, "_statistics", None)
        if statistics is None:
            raise ValueError("the model has no statistics: only partial_fit keeps them")
        return statistics

    def _learned(self, statistics: Statistics) -> Self:
        """Solve for the statistics, and take them over."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            rows = statistics.all_rows()
            if not np.isfinite(rows.weight):
                raise ValueError(
                    "sample_weight adds to more than a float can hold: divide it by a constant"
                )
            xx, xy, yy = statistics.moments()
            coef, error = solve_primal(xx, xy, yy, self.C)
            cost = max(float(yy - 2.0 * xy @ coef + coef @ xx @ coef), 0.0)
            learned = {
                "coef_": coef,
                "intercept_": float(rows.mean[-1] - rows.mean[:-1] @ coef),
                "objective_": float(coef @ coef) + self.C * cost,
                "n_iter_": 0,
                "solver_": "primal",
                "_statistics": statistics,
            }
        self._take_over(learned, error)
        self.n_queries_ = statistics.n_queries
        return self

    def _learn_points(
        self,
        before: Points | None,
        X: Any,
        y: NDArray[np.float64],
        weight: NDArray[np.float64],
        names: list[Any],
    ) -> Self:
        """Take the steps of some points of a stream, and take the model over."""
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        kernel = self._kernel()._replace(gamma=gamma)
        if before is None:
            before = Points(Anchored(kernel, gamma=gamma), X[:0])
        elif before.kernel.kernel != kernel:
            raise ValueError(
                f"the points so far were learned with {before.kernel.kernel}, not {kernel}: set "
                "the parameters back, or begin with a clone of the model"
            )
        points = before.extended(X, y, weight, names, self.C, self.eta)
        sample = Sample.of(points.codes, len(points.names), points.weight)
        alpha, fitted = points.solution()
        constant = float(np.average(points.y - fitted, weights=points.weight))
        learned = {
            "dual_coef_": alpha,
            "X_fit_": points.X,
            "intercept_": constant,
            "objective_": sample.objective(float(alpha @ fitted), points.y - fitted, self.C),
            "n_iter_": 1,
            "solver_": "online",
            "_anchored": points.kernel,
            "_constant": constant,
            "_points": points,
        }
        sizes = points.kernel.sizes(points.X, points.diagonal)
        self._take_over(learned, ridge.rounding(alpha, sizes, points.y, sample))
        self.n_queries_ = len(points.names)
        return self

    def leave_pair_out(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the predicted difference of every pair when both its rows are left out, exactly.

        The penalty and the row weights stay those of the whole sample. No model is fitted, and this
        one is not changed. `rankwise.model_selection.leave_pair_out` makes errors of it.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            Entry [i, j] is h(x_j) - h(x_i) without i and j, NaN across queries and for rows without
            weight.
        """
        self._validate_params()
        data = clone(self)._check_rated(X, y, qid, sample_weight)
        sample = Sample.of(data.codes, data.n_queries, data.weight)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            differences = left_out(*self._seen_by_pairs(data), data.y, sample, self.C)
        n = len(np.atleast_1d(y))
        if len(data.kept) == n:
            return differences
        everywhere = np.full((n, n), np.nan)
        everywhere[np.ix_(data.kept, data.kept)] = differences
        return everywhere

    def _fit_rows(
        self, data: Ranked, sample: Sample, *, decompose: bool
    ) -> tuple[dict[str, Any], float]:
        """Return the attributes of a linear model, and how far its scores may be off."""
        m, d = data.X.shape
        solver, n_iter, error = self.solver, 0, 0.0
        if solver == "auto":
            exact = "dual" if m < d else "primal"  # as many operations if m = d
            solver = "online" if min(m, d) > _LARGEST else exact
        anchor = find_anchor(data.X)
        rows = shift_rows(data.X, anchor)
        if solver == "online":
            coef = np.zeros(d)
            passes = ridge.row_passes(rows, data.y, sample, self.C, coef, self.eta)
            dual, _, n_iter = self._climb(passes)
        elif decompose:
            coef, error = ridge.decompose_rows(rows, data.y, sample, self.C)
        elif solver == "primal":
            coef, error = solve_primal(*moments(rows, data.y, sample), self.C)
        else:
            gram = partial(self._gram, Anchored(self._kernel()), rows)
            alpha, _, _, error = ridge.solve_dual(gram, data.y, sample, self.C)
            coef = rows.T @ alpha
        missed = data.y - rows @ coef
        objective = sample.objective(float(coef @ coef), missed, self.C)
        if solver == "online":
            self._check_gap(objective, dual, n_iter)
        shift = 0.0 if anchor is None else float(anchor @ coef)
        return {
            "coef_": coef,
            "intercept_": float(np.average(missed, weights=sample.weight)) - shift,
            "objective_": objective,
            "n_iter_": n_iter,
            "solver_": solver,
        }, error

    def _fit_gram(
        self, data: Ranked, sample: Sample, *, decompose: bool
    ) -> tuple[dict[str, Any], float]:
        """Return the attributes of a model with a kernel, and how far its scores may be off."""
        if self.solver == "primal":
            raise ValueError(
                f"solver='primal' needs kernel='linear', not {self.kernel!r}: use 'dual', or "
                "an explicit map of the kernel before a linear model"
            )
        solver = "dual" if self.solver == "auto" else self.solver
        anchored, n_iter = Anchored.of(self._kernel(), data.X), 0
        gram = partial(self._gram, anchored, data.X)
        if solver == "dual":
            alpha, level, objective, error = ridge.solve_dual(
                gram, data.y, sample, self.C, decompose=decompose
            )
        else:
            K, sizes = gram()
            means = ridge.centre_gram(K, sample)
            passes = ridge.gram_passes(K, data.y, sample, self.C, self.eta)
            dual, centred, n_iter = self._climb(passes)
            fitted = K @ centred
            objective = sample.objective(float(centred @ fitted), data.y - fitted, self.C)
            self._check_gap(objective, dual, n_iter)
            alpha = ridge.of_raw_rows(centred, sample)
            level = float(sample.overall(means) @ alpha)
            error = ridge.rounding(alpha, sizes, data.y, sample)
        constant = float(np.average(data.y, weights=sample.weight)) - level
        learned: dict[str, Any] = {
            "dual_coef_": alpha,
            "intercept_": constant - anchored.constant(data.X, alpha),
            "objective_": objective,
            "n_iter_": n_iter,
            "solver_": solver,
            "_anchored": anchored,
            "_constant": constant,
        }
        if self.kernel == "precomputed":
            learned["dual_coef_"] = np.zeros(self.n_features_in_)
            learned["dual_coef_"][data.kept] = alpha
        else:
            learned["X_fit_"] = data.X.copy()
        return learned, error

    def _seen_by_pairs(self, data: Ranked) -> tuple[ridge.Gram, Any]:
        """Return the Gram matrix, and the rows of a linear kernel."""
        if self.kernel == "linear":
            rows = shift_rows(data.X, find_anchor(data.X))
            return partial(self._gram, Anchored(self._kernel()), rows), rows
        return partial(self._gram, Anchored.of(self._kernel(), data.X), data.X), None

    def _climb(self, passes: Iterator[ridge.Pass]) -> tuple[float, NDArray[np.float64], int]:
        """Run passes until one gains less than ``tol`` of the dual.

        Return the value of the dual, the coefficients and the number of passes.
        """
        for n_iter, (dual, gain, alpha) in enumerate(islice(passes, self.max_passes), 1):
            if gain <= self.tol * dual:
                return dual, alpha, n_iter
        warn_user(
            f"the online solver stopped after max_passes={self.max_passes} with the last one still "
            f"raising the objective by {gain / dual:.2g} of it (tol={self.tol}): allow "
            "more passes, a smaller C or solver='dual'",
            ConvergenceWarning,
        )
        return dual, alpha, n_iter

    def _check_gap(self, objective: float, dual: float, n_iter: int) -> None:
        """Warn if passes gained little and yet ended far from the optimum."""
        if n_iter < self.max_passes and objective - dual > _FAR * objective:
            warn_user(
                f"the online solver stopped with an objective of {objective:.6g} that is up to "
                f"{objective - dual:.2g} above the smallest, since a pass gained less than "
                f"tol={self.tol} of it: use a smaller tol, a smaller C or solver='dual'",
                ConvergenceWarning,
            )
