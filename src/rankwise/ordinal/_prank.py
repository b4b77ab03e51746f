"""PRank: the perceptron that ranks."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise._core.ordinal import State, Stream
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise.ordinal._loops.prank import UPDATES, margin, prank, voted
from rankwise.ordinal._supports import larger
from rankwise.ordinal.online_kernel import KernelMixin

_ALL = np.iinfo(np.int64).max
_KEPT = ("W", "B", "voter_counts")


class UpdateMixin(KernelMixin):
    """A model whose parameter ``update`` names one of `UPDATES`."""

    _fixed_steps = frozenset(name for name, update in UPDATES.items() if update.fixed_steps)

    update: str

    def _memory(self, state: State, *members: int) -> NDArray[np.float64]:
        """Return what the update keeps between rounds, part of the state; zeros if it is new."""
        shape = (*members, UPDATES[self.update].memory)
        memory = state.pop("memory", None)
        if memory is None or memory.shape != shape:
            memory = np.zeros(shape)
        if memory.size:
            state["memory"] = memory
        return memory


class PRank(UpdateMixin, BaseEstimator):
    r"""Online ordinal ranking by one direction and ordered thresholds.

    A row x is projected on the direction w; its rank is the first r with
    :math:`w \cdot x < b_r`, else k. At a mistake, the thresholds on the wrong side of the score
    are each moved by 1 towards it, and the score towards them:

    .. math::

        \tau_r = z_r \,[\,(w \cdot x - b_r) z_r \le 0\,], \qquad
        w \leftarrow w + \sum_r \tau_r\, x, \qquad b \leftarrow b - \tau,

    with :math:`z_r = +1` if the true rank is above r and -1 otherwise. Thresholds stay ordered.
    If some unit-norm (w, b) ranks the stream with margin :math:`\gamma` and rows are at most R
    long, the sum of rank errors is at most :math:`(k-1)(R^2+1)/\gamma^2`, however long the stream;
    `rankwise.bounds` computes it.

    Two other updates look for a large margin. ``"pa"`` (passive-aggressive) is the smallest change
    of (w, b) with :math:`z_r (w \cdot x - b_r) \ge 1` for every r, in each round that does not have
    it yet, mistake or not. For a new score s the best thresholds are :math:`\min(b_r, s - 1)` below
    the true rank and :math:`\max(b_r, s + 1)` from it on, which are in order; what is left is

    .. math::

        \min_s \; \frac{(s - w \cdot x)^2}{\|x\|^2} + \sum_{r<y} \max(0,\, b_r + 1 - s)^2
        + \sum_{r \ge y} \max(0,\, s + 1 - b_r)^2,

    whose derivative is increasing and piecewise linear; its root is found in O(k), and x enters w
    with the sum of the steps of the thresholds.

    ``"romma"`` (relaxed online maximum margin) takes, at a mistake, the shortest v' = (w', b') with
    :math:`v' \cdot v \ge \|v\|^2` and, summed over the n wrong thresholds,
    :math:`v' \cdot u = \sum z_r (w' \cdot x - b'_r) \ge n`. With
    :math:`p = v \cdot u \le 0` and :math:`D = \|u\|^2 \|v\|^2 - p^2` it is

    .. math::

        v' = \frac{\|u\|^2 \|v\|^2 - n p}{D}\, v + \frac{\|v\|^2 (n - p)}{D}\, u,

    or :math:`n u / \|u\|^2` if D is 0: at first, and when the two contradict each other. A
    threshold that moves past others takes them along, which keeps the order and the constraint of
    the round. The mistake bound above is for the perceptron.

    One pass over m rows of d features costs O(m (d + k)) time and O(d + k) memory. For CSR rows d
    is the number of entries, but a mistake of "romma" costs all features.

    With ``vote="voted"`` every hypothesis is kept with its count v of rounds that it ranked
    rightly, and the ranks h that they give to x are combined to :math:`\sum v h / \sum v`, rounded
    to the nearest rank, halves upwards. A hypothesis that was replaced before it was ever right has
    no vote and is not kept; before the first vote, the current hypothesis decides. V
    voters take O(V (d + k)) memory, and as much time for each row of ``predict`` and of
    ``partial_fit_predict``. A call of ``partial_fit`` copies the voters: prefer chunks to single
    rows.

    The thresholds move by 1 whatever the scale of x: standardise the features. A constant column
    is not needed.

    Parameters
    ----------
    update : {"perceptron", "pa", "romma"}, default="perceptron"
        The step. "pa" makes far fewer mistakes when the ranks are nearly separable, and bears
        long rows best; noise makes it restless, as every row gets its margin: average it. "romma"
        gains less there, and its last iterate bears noise better. Its (w, b) grows with noise, so
        its average leans to the latest rounds; it is scaled down when very large, which changes no
        guess.
    vote : {"averaged", "voted", None}, default="averaged"
        What predicts: "averaged", the mean of the (w, b) held when each round was predicted, which
        costs about a tenth more time than None, the last (w, b), and is far more accurate on all
        but the shortest streams, and those whose truth changes; "voted", all (w, b) by their
        counts of right guesses.
    max_voters : int, default=None
        How many hypotheses "voted" keeps: the current one, and those with the largest counts,
        since they weigh most; of equal ones the latest, which have learned from more rows. None:
        all, as many as there are updates at most. It may be changed within a stream; voters that
        were dropped don't return.
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
        The direction that predicts; if voted, the current one. In the dual ``dual_coef_``, one
        number a kept row.
    thresholds_ : ndarray of shape (k-1,)
        The thresholds that predict, in order; if voted, the current ones.
    voters_correct_ : ndarray of shape (V,)
        If voted, the rounds that each hypothesis kept ranked rightly; the last entry is the current
        one's.
    support_vectors_ : ndarray or CSR matrix of shape (n_kept, d)
        With a kernel that is not learned in its monomials: the rows that were kept. If precomputed,
        ``support_`` holds their columns instead.
    n_rounds_ : int
        Rows seen, each counted each time.
    n_mistakes_, rank_loss_ : int
        Wrong guesses of the last iterate, which drive the updates and which the mistake bound
        counts, and the sum of their distances in ranks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    WidrowHoff : regression on the ranks.
    MulticlassPerceptron : classification that ignores their order.

    References
    ----------
    K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001.

    Y. Freund and R. Schapire, Large margin classification using the perceptron algorithm, Machine
    Learning 37, 1999: voting; for PRank in E. Harrington, Online ranking/collaborative filtering
    using the perceptron algorithm, ICML 2003.

    K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006. Y. Li and P. Long, The
    relaxed online maximum margin algorithm, Machine Learning 46, 2002.

    Examples
    --------
    >>> from rankwise.datasets import make_herbrich
    >>> from rankwise.metrics import mean_rank_loss
    >>> from rankwise.ordinal import PRank
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> X, y = make_herbrich(5000, random_state=0)
    >>> model = make_pipeline(PolynomialFeatures(2), PRank()).fit(X[:4000], y[:4000])
    >>> print(f"{mean_rank_loss(y[4000:], model.predict(X[4000:])):.1f} ranks off on average")
    0.1 ranks off on average
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMixin._parameter_constraints,
        "update": [StrOptions(set(UPDATES))],
        "vote": [StrOptions({"averaged", "voted"}), None],
        "max_voters": [Interval(Integral, 1, None, closed="left"), None],
    }

    _directions = ("w", "w_late", "W")

    def __init__(
        self,
        *,
        update: str = "perceptron",
        vote: str | None = "averaged",
        max_voters: int | None = None,
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
        self.max_voters = max_voters
        self.epochs = epochs
        self.shuffle = shuffle
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.label_order = label_order
        self.random_state = random_state

    @available_if(lambda self: not self._votes())
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how far inside each rank's place a row lies; the argmax is ``predict``.

        Absent if voted: the voters have no common line.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k), or (n_samples,) for two ranks
            ``min(s - b_(r-1), b_r - s)`` for rank r; for two ranks ``s - b_1``, where more than 0
            means the higher one.
        """
        return super().decision_function(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of each row, always one of ``classes_``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        if not self._votes():
            return super().predict(X)
        self._check_state()
        state = self._state
        votes = np.append(state["voter_counts"][:, 0], state["survived"])
        W, B = np.vstack([state["W"], state["w"]]), np.vstack([state["B"], state["b"]])
        n = votes.sum()
        # to the nearest rank, halves upwards
        found = [
            (2 * (each @ votes) + n) // (2 * n) if n else each[:, -1]
            for each in self._member_ranks(X, W, B)
        ]
        return self.classes_[np.concatenate(found)]

    def _votes(self) -> bool:
        """Return whether voters predict: those that were learned, or would be."""
        if hasattr(self, "_state"):
            return "W" in self._state
        return isinstance(self.vote, str) and self.vote == "voted"

    def _start(self, n_ranks: int, width: int) -> State:
        cuts, averaged = n_ranks - 1, self.vote == "averaged"
        state = {
            "w": np.zeros(width),
            "b": np.zeros(cuts),
            "counts": np.zeros(3, dtype=np.int64),
        }
        if self.vote == "voted":
            return state | {
                "survived": np.zeros(1, dtype=np.int64),
                "W": np.zeros((0, width)),
                "B": np.zeros((0, cuts)),
                "voter_counts": np.zeros((0, 2), dtype=np.int64),
            }
        return state | {
            "w_late": np.zeros(width * averaged),
            "b_late": np.zeros(cuts * averaged),
        }

    def _shapes(self, state: State, n_ranks: int, width: int) -> dict[str, tuple[int, ...]]:
        cuts = n_ranks - 1
        shapes: dict[str, tuple[int, ...]] = {"w": (width,), "b": (cuts,)}
        if "memory" in state:
            shapes["memory"] = (state["memory"].size,)
        if "W" in state:
            n = len(state["voter_counts"])
            kept = {"W": (n, width), "B": (n, cuts), "voter_counts": (n, 2)}
            return shapes | {"survived": (1,)} | kept
        late = cuts if len(state["b_late"]) else 0
        # With a budget, a row that is removed leaves every direction, also one that is not used.
        return shapes | {
            "w_late": (width if late or "supports" in state else 0,),
            "b_late": (late,),
        }

    def _pass(self, stream: Stream, state: State) -> int:
        held = "voted" if "W" in state else "averaged" if len(state["b_late"]) else None
        if held != self.vote:
            raise ValueError(
                f"vote={self.vote!r} was changed within a stream: set it before the first "
                "partial_fit, or fit again"
            )
        if self.vote == "voted":
            return self._voted_pass(stream, state)
        iterate = state["w"][None], state["b"], state["w_late"][None], state["b_late"]
        if self.update == "perceptron":
            state.pop("memory", None)  # that another update has left
            return int(prank(*stream, *iterate))
        update = UPDATES[self.update].code
        return int(margin(*stream, update, *iterate, self._memory(state)))

    def _voted_pass(self, stream: Stream, state: State) -> int:
        update = UPDATES[self.update].code
        most = min(self.max_voters or _ALL, _ALL) - 1
        surplus = len(state["W"]) - most
        if surplus > 0:
            kept = np.sort(np.lexsort(state["voter_counts"].T[::-1])[surplus:])
            state.update({name: state[name][kept] for name in _KEPT})
        memory = self._memory(state)
        current = np.empty(0), memory, state["w"][None], state["b"], state["survived"]
        begin = 0
        while True:
            voters = (state[name] for name in _KEPT)
            begin, bad = voted(*stream, begin, update, most, *current, *voters)
            if bad >= 0 or begin == len(stream[1]):
                return bad
            n = min(2 * len(state["W"]) + 8, most)
            state.update({name: larger(state[name], n, state[name].shape[1]) for name in _KEPT})

    def _learned(self, state: State) -> dict[str, Any]:
        if self.vote == "averaged":
            n = max(self.n_rounds_, 1)
            w, b = ((state[x] * n - state[f"{x}_late"]) / n for x in ("w", "b"))
            return {"coef_": w, "thresholds_": np.maximum.accumulate(b)}
        learned = {"coef_": state["w"].copy(), "thresholds_": state["b"].copy()}
        if self.vote == "voted":
            n = int(np.count_nonzero(state["voter_counts"][:, 0]))
            state.update({name: state[name][:n].copy() for name in _KEPT})
            learned["voters_correct_"] = np.append(state["voter_counts"][:, 0], state["survived"])
        return learned
