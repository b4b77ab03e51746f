"""RankSVM: a margin between the scores of every two rows that have an order."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from rankwise._core.inputs import (
    check_pairs,
    check_rows,
    check_weighted_pairs,
    rows_of,
    unchanged_on_error,
)
from rankwise._core.kernels import Anchored, checked_kernel
from rankwise._core.pairs import HingeLoss, ListedCosts, MagnitudeHingeLoss, PairLoss, Pairs
from rankwise._core.ranker import Vector
from rankwise._core.sklearn_private import StrOptions
from rankwise._core.support_vectors import SupportVectorRanker


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
        Number of queries in the fit; 1 without ``qid``.
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
        self,
        X: ArrayLike,
        pairs: ArrayLike,
        *,
        y: ArrayLike | None = None,
        pair_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from pairs of rows, one of which is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        pairs : array-like of shape (n_pairs, 2)
            Rows of X: the worse and the better of each pair.
        y : array-like of shape (n_pairs,), default=None
            Labels of the pairs: 1 if the second row is better, as without ``y``, -1 if the first
            is, 0 if neither is known to be.
        pair_weight : array-like of shape (n_pairs,), default=None
            What each pair weighs, at least 0. A pair of weight 0, of label 0, or of a row with
            itself tells no preference: it is dropped and counted by ``n_dropped_pairs_``.

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
        rows = self._check_kernel(rows, np.zeros(0), m, np.arange(m))
        checked, weight, self.n_dropped_pairs_ = check_weighted_pairs(pairs, pair_weight, m, y)
        worse, better = checked.T
        weight = weight / weight.max()
        costs = ListedCosts(worse, better, 1.0, weight / weight.sum(), m, self.power)
        self._learn(rows, costs, None, m)
        self.n_queries_, self._two_targets = 1, False
        return self

    def _loss(self, y: Vector, codes: NDArray[np.int64] | None, weight: Vector | None) -> PairLoss:
        self.n_dropped_pairs_ = 0
        if len(y) == 1:
            raise ValueError("y has one sample (n_samples = 1): ranking compares two or more rows")
        pairs = Pairs(y, qid=codes, sample_weight=weight, pair_weight=self.pair_weight)
        loss = HingeLoss if self.margin == "unit" else MagnitudeHingeLoss
        return loss(pairs, power=self.power)


def pair_kernel(
    X: ArrayLike,
    pairs: ArrayLike,
    Y: ArrayLike | None = None,
    other_pairs: ArrayLike | None = None,
    *,
    kernel: Any = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
) -> NDArray[np.float64]:
    r"""Return the kernel between pairs of rows: inner products of differences.

    .. math::

        K'((i, j), (k, l)) = K(x_i, x_k) + K(x_j, x_l) - K(x_i, x_l) - K(x_j, x_k)

    With it any kernel method for two classes learns from pairs: a classifier without an intercept,
    fitted to all pairs with the label 1, is a ranking SVM. It is quadratic in the number of pairs,
    `RankSVM` is not.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows; for a precomputed kernel its values between them and those of Y.
    pairs : array-like of shape (n_pairs, 2)
        Rows of X: the worse and the better of each pair.
    Y : array-like or CSR matrix of shape (n_others, n_features), default=None
        Other rows; None: X.
    other_pairs : array-like of shape (n_other_pairs, 2), default=None
        Rows of Y; None: ``pairs``.
    kernel, gamma, degree, coef0
        As in `RankSVM`.

    Returns
    -------
    ndarray of shape (n_pairs, n_other_pairs)

    References
    ----------
    M. Mohri, Foundations of machine learning: ranking, lecture.

    Examples
    --------
    >>> from rankwise.pairwise import pair_kernel
    >>> pair_kernel([[0.0], [1.0], [3.0]], [[0, 1], [1, 2]])
    array([[1., 2.],
           [2., 4.]])
    """
    chosen = checked_kernel("pair_kernel", kernel, gamma, degree, coef0)
    rows = _check(X, "X")
    columns = rows if Y is None else _check(Y, "Y")
    with np.errstate(over="ignore", invalid="ignore"):
        # differences are the same, and no digits of them are lost
        K = Anchored.of(chosen, rows).gram(rows, columns)
    if not np.isfinite(K).all():
        raise ValueError("the kernel's values are larger than a float can hold: scale the features")
    ours = check_pairs(pairs, K.shape[0])
    name, given = ("pairs", pairs) if other_pairs is None else ("other_pairs", other_pairs)
    others = check_pairs(given, K.shape[1], name)
    with np.errstate(over="ignore"):
        differences = K[ours[:, 1]] - K[ours[:, 0]]
        values = differences[:, others[:, 1]] - differences[:, others[:, 0]]
    if not np.isfinite(values).all():
        raise ValueError("the kernel's values are larger than a float can hold: scale the features")
    return values


def _check(X: ArrayLike, name: str) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        return check_array(rows_of(X, name), accept_sparse="csr", dtype=np.float64, input_name=name)
