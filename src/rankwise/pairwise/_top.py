"""The top of a list: positives above the highest negative, or among the first few rows."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.extmath import row_norms

from rankwise._core.arguments import warn_user
from rankwise._core.newton import Solution, WholeRows
from rankwise._core.ranker import Vector
from rankwise._core.sklearn_private import Interval, Options, num_samples
from rankwise._core.support_vectors import SupportVectorRanker
from rankwise._core.validation import unchanged_on_error
from rankwise.pairwise._top_costs import TopCosts
from rankwise.pairwise._top_push import MOST_FEATURES, push

_NOTHING = 1e-9


class TopRanker(SupportVectorRanker):
    """What the rankers of the top share; a subclass supplies ``_costs``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: allowed
        for name, allowed in SupportVectorRanker._parameter_constraints.items()
        if name not in ("power", "warm_start")
    } | {"positive": [Real, None]}

    _rows_type = WholeRows

    positive: float | None
    warm_start = False

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
            Row weights, at least 0; a row of weight 2 is the row twice.

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

    def _costs(
        self, positive: NDArray[np.bool_], codes: NDArray[np.int64], weight: Vector
    ) -> TopCosts:
        raise NotImplementedError


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
        Queries that the model has learned from; 1 without ``qid``.
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

    def _costs(
        self, positive: NDArray[np.bool_], codes: NDArray[np.int64], weight: Vector
    ) -> TopCosts:
        return TopCosts(positive, codes, weight, tau=None, power=2)

    def _minimise(self, rows: Any, costs: Any, known: Vector | None) -> Solution:
        if costs.n_queries > 1 or rows.n_features > MOST_FEATURES:
            return super()._minimise(rows, costs, known)
        X = rows.X
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
    method Pat&Mat with hinges. With ``qid`` each query has a threshold t of its own.

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
        Queries that the model has learned from; 1 without ``qid``.
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
        self.C = C
        self.tau = tau
        self.power = power
        self.positive = positive
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _costs(
        self, positive: NDArray[np.bool_], codes: NDArray[np.int64], weight: Vector
    ) -> TopCosts:
        return TopCosts(positive, codes, weight, tau=self.tau, power=self.power)
