"""MPRankCV: MPRank with parameters chosen by the leave-pair-out error."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from rankwise._core.inputs import check_floats, check_rows, unchanged_on_error
from rankwise._core.kernels import KERNEL_CONSTRAINTS
from rankwise._core.ranker import KernelRanker
from rankwise._core.sklearn_private import StrOptions
from rankwise.magnitude._leave_pair_out import left_out_errors
from rankwise.magnitude._mprank import MPRank
from rankwise.magnitude.statistics import Sample

HALF_DECADES = tuple((10.0 ** (np.arange(-4, 11) / 2)).tolist())


class MPRankCV(KernelRanker, BaseEstimator):
    """MPRank with the C, and optionally the gamma, of the smallest exact leave-pair-out error.

    Every pair of rows of a query is left out in turn, both at once, and the difference of their
    ratings predicted from the other rows, with the penalty and the row weights of the whole
    sample. One eigendecomposition serves all values of C, O(m^3) with a kernel and O(m d^2 + d^3)
    for a linear one with few features; each C then costs a matrix product in single precision,
    O(m^2 min(m, d)), and a loop over the pairs. Nothing is refitted until the end.

    Parameters
    ----------
    Cs : array-like of shape (n_Cs,), default=half decades from 0.01 to 100,000
        The values to try.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in `MPRank`.
    gammas : array-like of shape (n_gammas,), default=None
        The values to try for "poly" and "rbf"; each takes an eigendecomposition. None: 1 /
        n_features alone.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    scoring : {"msd", "misranking"}, default="msd"
        What is to be small: the mean squared difference between predicted and true differences,
        or the share of pairs in the wrong order, ties included.

    Attributes
    ----------
    C_ : float
        The chosen C; of equal errors the first.
    gamma_ : float or None
        The chosen gamma.
    lpo_errors_ : ndarray of shape (n_gammas, n_Cs)
        The leave-pair-out errors.
    best_estimator_ : MPRank
        Fitted to all rows with these.
    n_queries_ : int
        Number of queries in the fit; 1 without ``qid``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had such.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.magnitude import MPRankCV
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-2, 2, size=(100, 1))
    >>> y = np.sin(2 * X[:, 0]) + random.normal(0, 0.3, size=100)
    >>> model = MPRankCV(kernel="rbf", gammas=[0.01, 0.1, 1.0, 10.0]).fit(X, y)
    >>> model.gamma_, round(model.C_)
    (1.0, 316)
    >>> print(f"{model.lpo_errors_.min():.2f}")
    0.18
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: KERNEL_CONSTRAINTS[name] for name in ("kernel", "degree", "coef0")},
        "Cs": ["array-like"],
        "gammas": ["array-like", None],
        "scoring": [StrOptions({"msd", "misranking"})],
    }

    def __init__(
        self,
        Cs: ArrayLike = HALF_DECADES,
        *,
        kernel: Any = "linear",
        gammas: ArrayLike | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        scoring: str = "msd",
    ) -> None:
        self.Cs = Cs
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.scoring = scoring

    @unchanged_on_error
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameters and fit MPRank with them.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `MPRank.fit`. Weights count in the errors, too: a pair weighs their product.

        Returns
        -------
        self
        """
        self._validate_params()
        Cs = _positive(self.Cs, "Cs")
        gammas = [None] if self.gammas is None else _positive(self.gammas, "gammas").tolist()
        if self.gammas is not None and self.kernel not in ("poly", "rbf"):
            raise ValueError(f"gammas={self.gammas!r} have no meaning for kernel={self.kernel!r}")
        models = [
            MPRank(kernel=self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
            for gamma in gammas
        ]
        check_rows(self, X, reset=True)
        data = models[0]._check_rated(X, y, qid, sample_weight)
        sample = Sample.of(data.codes, data.n_queries, data.weight)
        sizes = np.bincount(data.codes)
        if sizes.max() < 2:
            raise ValueError(
                f"no query has two rows to leave out (n_samples={len(data.y)}): give more rows"
            )
        if self.scoring == "misranking" and not sample.centred(data.y).any():
            raise ValueError("y is the same for all rows of each query: no pair can be misranked")
        errors = np.empty((len(gammas), len(Cs)))
        for row, model in enumerate(models):
            primal = self._is_linear() and data.X.shape[0] >= data.X.shape[1]
            with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
                seen = model._seen_by_pairs(data)
                found = left_out_errors(*seen, data.y, sample, Cs, primal=primal)
            errors[row] = found[self.scoring == "misranking"]
        if np.isnan(errors).any():
            raise ValueError(
                f"scoring={self.scoring!r} can't be computed: no two rows of a query have "
                "different ratings and weights that count; use scoring='msd'"
            )
        row, column = divmod(int(errors.argmin()), len(Cs))
        self.lpo_errors_ = errors
        self.C_, self.gamma_ = float(Cs[column]), gammas[row]
        best = clone(models[row]).set_params(C=self.C_)
        self.best_estimator_ = best.fit(X, y, qid=qid, sample_weight=sample_weight)
        self.n_queries_, self._two_targets = best.n_queries_, best._two_targets
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each row by the chosen model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)


def _positive(values: ArrayLike, name: str) -> NDArray[np.float64]:
    numbers = check_floats(values, name)
    if not (len(numbers) and (numbers > 0).all()):
        raise ValueError(f"{name}={values!r} must be one or more positive numbers, in a list")
    return numbers
