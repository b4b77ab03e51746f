"""Widrow-Hoff on ranks: the regression baseline."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from rankwise._core.arguments import warn_user
from rankwise._core.ordinal import State, Stream
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise.ordinal._loops.widrow_hoff import widrow_hoff
from rankwise.ordinal.online_kernel import KernelMixin

# A score this many times the highest rank tells that the steps diverge.
_FAR = 1e3


class WidrowHoff(KernelMixin, BaseEstimator):
    r"""Online least squares on the ranks 1..k, rounded and clipped.

    The regression baseline of the PRank papers: one stochastic gradient step a row on
    :math:`\frac12 (y - w \cdot x)^2` with y the rank from 1 to k,

    .. math:: w \leftarrow w + \frac{\eta}{\|x\|^2}\,(y - w \cdot x)\,x,

    where x has a constant of 1 besides its features, unless ``fit_intercept=False``. A step moves
    the score of its row by the share :math:`\eta` of what it is off, so that no scale of the rows
    can make it run away while :math:`\eta < 2`. The step of the papers, ``step="plain"`` with
    ``fit_intercept=False``, is not divided by :math:`\|x\|^2` and is stable while
    :math:`\eta \|x\|^2 < 2`; a warning says when the scores run away, and beyond 1e100 a row is no
    longer learned from.

    The rank is the nearest of 1..k, halves upwards: ``thresholds_`` are 1.5, 2.5, ..., k - 0.5,
    less the intercept.

    One pass over m rows of d features costs O(m (d + k)) time and O(d) memory.

    Parameters
    ----------
    eta : float, default=0.1
        The learning rate.
    step : {"normalised", "plain"}, default="normalised"
        Whether the learning rate is divided by the squared length of the row.
    fit_intercept : bool, default=True
        Whether a constant of 1 is learned from, too.
    epochs : int or "auto", default="auto"
        Passes of ``fit`` over the rows; "auto": until the loss no longer falls, at most 50. 1 with
        ``shuffle=False`` is the papers' pass over a stream, and what ``partial_fit`` does.
    shuffle : bool, default=True
        Whether ``fit`` takes the rows in a new random order in each pass.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        The inner product of rows: x.x', ``(gamma x.x' + coef0) ** degree``,
        ``exp(-gamma |x - x'|^2)``; columns of X; or what a callable returns for two matrices of
        rows, a value a pair. A polynomial kernel of at most 500 monomials is learned in them.
    gamma : float, default=None
        Of the kernels "poly" and "rbf"; None: 1 / n_features.
    degree : int, default=3
        Of the kernel "poly".
    coef0 : float, default=1.0
        Of the kernel "poly", at least 0.
    budget : int, default=None
        How many rows a kernel may keep. Past it, each new row takes the place of the old one that
        the others can replace best, and they take over its part. None: all that were learned from.
    label_order : array-like of shape (k,), default=None
        The labels from the lowest rank to the highest. None: the sorted labels of y.
    random_state : int, RandomState instance or None, default=0
        Seeds the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        The labels, lowest rank first.
    coef_ : ndarray of shape (d,)
        The weights w; in the dual ``dual_coef_``, one a kept row.
    thresholds_ : ndarray of shape (k-1,)
        The halves between neighbouring ranks, less ``intercept_``.
    intercept_ : float
        The weight of the constant.
    support_vectors_ : ndarray or CSR matrix of shape (n_kept, d)
        With a kernel that is not learned in its monomials: the rows that were kept. If precomputed,
        ``support_`` holds their columns instead.
    n_rounds_, n_mistakes_, rank_loss_ : int
        Rows seen, wrong guesses before the update, and the sum of their distances in ranks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PRank : learns where the thresholds are.

    References
    ----------
    B. Widrow and M. Hoff, Adaptive switching circuits, 1960; compared with PRank in K. Crammer and
    Y. Singer, Pranking with ranking, NIPS 2001.

    Examples
    --------
    >>> from rankwise.ordinal import WidrowHoff
    >>> model = WidrowHoff(epochs=20, label_order=["poor", "fair", "good"])
    >>> model.fit([[1, 0], [1, 1], [1, 2]], ["poor", "fair", "good"]).predict([[1, 0.2], [1, 3]])
    array(['poor', 'good'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMixin._parameter_constraints,
        "eta": [Interval(Real, 0, None, closed="neither")],
        "step": [StrOptions({"normalised", "plain"})],
        "fit_intercept": ["boolean"],
    }

    _directions = ("w",)

    def __init__(
        self,
        eta: float = 0.1,
        *,
        step: str = "normalised",
        fit_intercept: bool = True,
        epochs: int | str = "auto",
        shuffle: bool = True,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        budget: int | None = None,
        label_order: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.eta = eta
        self.step = step
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.label_order = label_order
        self.random_state = random_state

    def _start(self, n_ranks: int, width: int) -> State:
        return {
            "w": np.zeros(width),
            "intercept": np.zeros(1),
            "thresholds": np.arange(1, n_ranks) + 0.5,
            "counts": np.zeros(3, dtype=np.int64),
        }

    def _shapes(self, state: State, n_ranks: int, width: int) -> dict[str, tuple[int, ...]]:
        return {"w": (width,), "intercept": (1,), "thresholds": (n_ranks - 1,)}

    def _pass(self, stream: Stream, state: State) -> int:
        step = float(self.eta), self.step == "normalised", bool(self.fit_intercept)
        thresholds = state["thresholds"]
        bad, peak = widrow_hoff(*stream, *step, state["w"][None], state["intercept"], thresholds)
        k = len(thresholds) + 1
        if peak > _FAR * k:
            warn_user(
                f"WidrowHoff diverges: a score reached {peak:.1e} where ranks end at {k}; eta="
                f"{self.eta} must stay below 2, with step='plain' times the squared length of a "
                "row: lower eta, or use step='normalised'",
                ConvergenceWarning,
            )
        return bad

    def _learned(self, state: State) -> dict[str, Any]:
        return {
            "thresholds_": state["thresholds"] - state["intercept"],
            "coef_": state["w"].copy(),
            "intercept_": float(state["intercept"][0]),
        }
