"""The multiclass perceptron: the classification baseline."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from rankwise._core.learned_state import check_shape, learned_floats
from rankwise._core.ordinal import State, Stream
from rankwise._core.sklearn_private import StrOptions
from rankwise.ordinal._loops.multiclass import MAX, PROPORTIONAL, UNIFORM, multiclass
from rankwise.ordinal.online_kernel import KernelMixin

_UPDATES = {"uniform": UNIFORM, "max": MAX, "proportional": PROPORTIONAL}


class MulticlassPerceptron(KernelMixin, BaseEstimator):
    r"""Ultraconservative multiclass perceptron, which knows nothing of the order of the ranks.

    The classification baseline of the PRank papers. Each class r has a prototype
    :math:`w_r`, the highest score :math:`w_r \cdot x` wins (of equal ones the first class). At a
    mistake the true class's prototype gains x, and the rivals
    :math:`E = \{r \ne y : w_r \cdot x \ge w_y \cdot x\}` lose shares of it that sum to 1:

    - ``"uniform"``: 1/\|E\| each;
    - ``"max"``: all from the class that won;
    - ``"proportional"``: in proportion to :math:`w_r \cdot x - w_y \cdot x` (alike if all tie).

    One pass over m rows of d features costs O(m d k) time and O(d k) memory.

    Parameters
    ----------
    update : {"uniform", "max", "proportional"}, default="uniform"
        How the rivals share the blame.
    vote : {"averaged", None}, default="averaged"
        What predicts: the mean of the prototypes held when each round was predicted, or, None, the
        last ones, as in the papers. The mean is far more accurate where the classes overlap.
    fit_intercept : bool, default=True
        Whether each prototype has an intercept; without one, as in the papers, a constant column
        does the same.
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
    coef_ : ndarray of shape (k, d)
        The prototypes that predict; in the dual ``dual_coef_``, one number a kept row.
    intercept_ : ndarray of shape (k,)
        Their intercepts.
    support_vectors_ : ndarray or CSR matrix of shape (n_kept, d)
        With a kernel that is not learned in its monomials: the rows that were kept. If precomputed,
        ``support_`` holds their columns instead.
    n_rounds_, n_mistakes_, rank_loss_ : int
        Rows seen, wrong guesses before the update, and the sum of their distances in ranks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PRank : one direction and ordered thresholds instead of k prototypes.

    References
    ----------
    K. Crammer and Y. Singer, Ultraconservative online algorithms for multiclass problems, COLT
    2001; compared with PRank in Pranking with ranking, NIPS 2001.

    Examples
    --------
    >>> from rankwise.ordinal import MulticlassPerceptron
    >>> X, y = [[1, 0], [1, 1], [1, 2]], [1, 2, 4]
    >>> model = MulticlassPerceptron(update="max", epochs=20).fit(X, y)
    >>> model.predict(X)
    array([1, 2, 4])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMixin._parameter_constraints,
        "update": [StrOptions(set(_UPDATES))],
        "vote": [StrOptions({"averaged"}), None],
        "fit_intercept": ["boolean"],
    }

    _directions = ("W", "W_late")
    _own_directions = True

    def __init__(
        self,
        *,
        update: str = "uniform",
        vote: str | None = "averaged",
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
        self.update = update
        self.vote = vote
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

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each class; of equal ones the first wins.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k), or (n_samples,) for two ranks
            For two ranks the higher one's score less the lower one's.
        """
        return super().decision_function(X)

    def project(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores of the rows for each class: with ``coef_``, plus ``intercept_``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k)
        """
        products = super().project(X)
        intercept = learned_floats("intercept_", self.intercept_)
        check_shape("intercept_", intercept, len(self.classes_))
        return products + intercept

    def _start(self, n_ranks: int, width: int) -> State:
        late = n_ranks if self.vote == "averaged" else 0
        return {
            "W": np.zeros((n_ranks, width)),
            "c": np.zeros(n_ranks),
            "W_late": np.zeros((late, width)),
            "c_late": np.zeros(late),
            "counts": np.zeros(3, dtype=np.int64),
        }

    def _shapes(self, state: State, n_ranks: int, width: int) -> dict[str, tuple[int, ...]]:
        late = n_ranks if len(state["c_late"]) else 0
        return {
            "W": (n_ranks, width),
            "c": (n_ranks,),
            "W_late": (late, width),
            "c_late": (late,),
        }

    def _pass(self, stream: Stream, state: State) -> int:
        if (self.vote == "averaged") != (len(state["c_late"]) > 0):
            raise ValueError(
                f"vote={self.vote!r} was changed within a stream: set it before the first "
                "partial_fit, or fit again"
            )
        learned = (state[name] for name in ("W", "c", "W_late", "c_late"))
        return multiclass(*stream, _UPDATES[self.update], float(self.fit_intercept), *learned)

    def _learned(self, state: State) -> dict[str, Any]:
        coef, intercept = state["W"].copy(), state["c"].copy()
        if self.vote == "averaged":
            n = max(self.n_rounds_, 1)
            coef, intercept = ((state[x] * n - state[f"{x}_late"]) / n for x in ("W", "c"))
        return {"coef_": coef, "intercept_": intercept}

    def _guess(self, projections: NDArray[np.float64]) -> NDArray[np.intp]:
        return projections.argmax(axis=1)

    def _decide(self, projections: NDArray[np.float64]) -> NDArray[np.float64]:
        two = projections.shape[1] == 2
        return projections[:, 1] - projections[:, 0] if two else projections
