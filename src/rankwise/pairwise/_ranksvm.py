"""RankSVM: a margin between the scores of every two rows that have an order."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwise._core.explicit_pairs import check_weighted_pairs
from rankwise._core.pairs import HingeLoss, ListedCosts, MagnitudeHingeLoss, PairLoss, Pairs
from rankwise._core.ranker import check_size
from rankwise._core.sklearn_private import StrOptions
from rankwise._core.support_vectors import SupportVectorRanker
from rankwise._core.validation import Ranked, check_rows, unchanged_on_error


class RankSVM(SupportVectorRanker):
    r"""Ranking support vector machine on all pairs, for grades, real ratings, queries and pairs.

    .. math::

        \min_h \; \|h\|_K^2 + C\, \frac{1}{W} \sum_{(i, j):\, y_j > y_i} w_{ij}
        \max\bigl(0,\; 1 - (h(x_j) - h(x_i))\bigr)^n

    over the pairs inside queries that have an order, W being the sum of their weights. The pairs
    are never formed: value, slopes and curvature take O(m log m) time and O(m) memory. The solver
    is Newton's method with a certificate, ``duality_gap_``: a step costs two passes over X and the
    sums over pairs; its Hessian comes from a sample of the rows where there are many.

    Kernels are exact through a factor of the Gram matrix, O(m^2) memory: for up to some 10^4
    rows. Past that, map the rows first: ``make_pipeline(Nystroem(), RankSVM())``.

    In the lecture's scale, :math:`\frac12 \|w\|^2 + C_{sum} \sum \xi`, it is
    :math:`C_{sum} = C / 2W`, without weights W being the number of pairs.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the costs against the norm: the larger, the closer the fit.
    power : {1, 2}, default=2
        The power n of the cost of a pair. 2 is smooth, and solved in less time.
    margin : {"unit", "magnitude"}, default="unit"
        The difference that costs nothing: 1, or :math:`y_j - y_i`. The latter is the convex
        stand-in for the hinge-magnitude cost, which jumps where scores tie.
    pair_weight : {"uniform", "magnitude"}, default="uniform"
        What a pair weighs besides its rows: 1, or :math:`y_j - y_i`.
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
    tol : float, default=1e-4
        The solver stops when the duality gap is at most this share of the objective.
    max_iter : int, default=1000
        Most steps of the solver.
    warm_start : bool, default=False
        Whether ``fit`` starts from what was learned before, as for a path of C.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights of a linear kernel.
    dual_coef_ : ndarray of shape (n_rows,)
        For other kernels, the coefficient of each row; they add to 0.
    X_fit_ : ndarray or csr_array of shape (n_rows, n_features)
        For other kernels but "precomputed", the rows of ``fit`` that have a weight.
    intercept_ : float
        0: pairs can't see it.
    objective_ : float
        The value of the objective.
    duality_gap_ : float
        How far that is above the smallest value at most; infinite where no float can hold it.
    n_iter_ : int
        How often the slopes of all pairs were computed for a step, or to stop.
    n_dropped_pairs_ : int
        Pairs of ``fit_pairs`` without a preference; 0 after ``fit``.
    n_queries_ : int
        Queries that the model has learned from; 1 without ``qid``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had such.

    See Also
    --------
    rankwise.magnitude.SVRank : Where the differences of ratings are to be met, not a margin.
    pair_kernel : The same as an SVM over pairs.

    References
    ----------
    T. Joachims, Optimizing search engines using clickthrough data, KDD 2002.
    C.-P. Lee and C.-J. Lin, Large-scale linear RankSVM, Neural Computation 26, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.pairwise import RankSVM
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> grade = np.digitize(X @ [2.0, -1.0, 0.0], [-2.0, 0.0, 2.0])
    >>> model = RankSVM(C=100.0).fit(X[:200], grade[:200])
    >>> print(f"{model.score(X[200:], grade[200:]):.2f}")
    1.00
    >>> model.rank(X[200:204])
    array([3, 1, 2, 4])
    >>> model.duality_gap_ <= 1e-4 * model.objective_
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorRanker._parameter_constraints,
        "margin": [StrOptions({"unit", "magnitude"})],
        "pair_weight": [StrOptions({"uniform", "magnitude"})],
    }

    def __init__(
        self,
        C: float = 10.0,
        *,
        power: int = 2,
        margin: str = "unit",
        pair_weight: str = "uniform",
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.power = power
        self.margin = margin
        self.pair_weight = pair_weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    @unchanged_on_error
    def fit_pairs(
        self, X: ArrayLike, pairs: ArrayLike, *, pair_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from pairs of rows, one of which is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        pairs : array-like of shape (n_pairs, 2)
            Rows of X: the worse and the better of each pair.
        pair_weight : array-like of shape (n_pairs,), default=None
            What each pair weighs, at least 0. A pair of weight 0, or of a row with itself, tells no
            preference: it is dropped and counted by ``n_dropped_pairs_``.

        Returns
        -------
        self
        """
        self._validate_params()
        if self.margin == "magnitude":
            raise ValueError(
                "margin='magnitude' needs ratings, which pairs don't have: use margin='unit' and "
                "pair_weight=..., or fit"
            )
        rows = check_rows(self, X, reset=True)
        m = rows.shape[0]
        rows = self._check_kernel(rows, m, np.arange(m))
        check_size(rows, self._kernel(), np.arange(m))
        given, weight, self.n_dropped_pairs_ = check_weighted_pairs(pairs, pair_weight, m)
        worse, better = given.T
        weight = weight / weight.max()
        costs = ListedCosts(worse, better, 1.0, weight / weight.sum(), m, self.power)
        self._learn(rows, costs, None, m)
        self.n_queries_ = 1
        return self

    def _prepare(self, data: Ranked) -> None:  # noqa: ARG002
        self.n_dropped_pairs_ = 0

    def _loss(self, pairs: Pairs) -> PairLoss:
        if len(pairs.y) == 1:
            raise ValueError("y has one sample (n_samples = 1): ranking compares two or more rows")
        loss = HingeLoss if self.margin == "unit" else MagnitudeHingeLoss
        return loss(pairs, power=self.power)
