"""SVRank: magnitude-preserving ranking that forgives small differences."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise._core.pairs import EpsilonInsensitiveLoss, PairLoss, Pairs
from rankwise._core.ranker import Vector, check_rows_of_queries
from rankwise._core.sklearn_private import Interval
from rankwise._core.support_vectors import SupportVectorRanker


class SVRank(SupportVectorRanker):
    r"""Support vector ranking: differences of scores near those of the ratings.

    .. math::

        \min_h \; \|h\|_K^2 + C\, \frac{1}{\sum_q n_q^2} \sum_q \sum_{i,j \in q}
        \max\bigl(0,\; |(h(x_j) - h(x_i)) - (y_j - y_i)| - \epsilon\bigr)^n

    over all ordered pairs of rows of one query (of all rows without ``qid``), those with i = j
    counted; with row weights the weighted mean. The quadratic program of the paper has a constraint
    for each of the m^2 pairs and calls itself unattractive for large samples. Here the pairs
    are never formed: residuals sorted once give value, slopes and curvature, O(m log m) time and
    O(m) memory. The solver is Newton's method with a certificate, ``duality_gap_``.

    Power 1 bears wild ratings. ``SVRank(epsilon=0, power=2)`` is `MPRank`.

    Scores are on the scale of y: pairs can't see the intercept, so it makes the weighted residuals
    average zero.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the costs against the norm: the larger, the closer the fit.
    epsilon : float, default=0.1
        What a difference may be off without a cost, on the scale of y.
    power : {1, 2}, default=1
        The power n of the cost of a pair.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        "poly" is ``(gamma x.x' + coef0)^degree``, "rbf" ``exp(-gamma ||x - x'||^2)``. With
        "precomputed", X holds the kernel's values between the rows and those of ``fit``. A callable
        is given two matrices of rows and returns the matrix of values. Kernels take O(m^2)
        memory; for more than some 10^4 rows map them first, for example with Nystroem.
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
        What is added to every score.
    objective_ : float
        The value of the objective.
    duality_gap_ : float
        How far that is above the smallest value at most; infinite where no float can hold it.
    n_iter_ : int
        How often the slopes of all pairs were computed for a step, or to stop.
    n_queries_ : int
        Number of queries in the fit; 1 without ``qid``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had such.

    See Also
    --------
    MPRank : The squared differences, in closed form.
    rankwise.pairwise.RankSVM : Where only the order counts.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.magnitude import SVRank
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 3))
    >>> y = X @ [2.0, -1.0, 0.0]
    >>> y[:10] += 50 * random.normal(size=10)  # a few wild ratings
    >>> SVRank(C=1000.0).fit(X, y).coef_[:2].round(1)
    array([ 2., -1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorRanker._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    _keeps_scale = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        power: int = 1,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.power = power
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _loss(self, y: Vector, codes: NDArray[np.int64] | None, weight: Vector | None) -> PairLoss:
        pairs = Pairs(y, qid=codes, sample_weight=weight)
        check_rows_of_queries(len(y), pairs.n_queries)
        return EpsilonInsensitiveLoss(pairs, epsilon=self.epsilon, power=self.power)
