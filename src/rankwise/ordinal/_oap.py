"""OAP: many PRank members, each shown a random part of the stream."""

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import poisson
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_word
from rankwise._core.ordinal import State, Stream
from rankwise._core.sklearn_private import Interval, StrOptions
from rankwise._core.threads import JOBS_CONSTRAINTS, Pool
from rankwise.ordinal._loops.kernel_rows import BudgetRows, KernelRows
from rankwise.ordinal._loops.oap import ONE, oap, oap_steps
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.ordinal._prank import UpdateMixin

# Members that stay in cache together, a multiple of the four that share a hash.
_BLOCK = 52


def vote(
    ranks: NDArray[np.int64], weighted: NDArray[np.int64], weights: Any, n_members: int
) -> NDArray[np.int64]:
    """Return the weighted mean rank of each row, or the plain one where all weights are 0.

    It is rounded to the nearest rank, halves upwards.

    Parameters
    ----------
    ranks, weighted : ndarrays of shape (n,)
        Sums over the members of their ranks, plain and weighted.
    weights : int or ndarray of shape (n,)
        The sum of the weights.
    n_members : int
        The number of members.
    """
    none = np.equal(weights, 0)
    total, count = np.where(none, ranks, weighted), np.where(none, n_members, weights)
    return (2 * total + count) // (2 * count)


def tail_probabilities(tau: float, sampling: str) -> NDArray[np.int64]:
    """Return the probabilities that a member sees a round more than 0, 1, ... times, in 1/ONE."""
    if sampling == "bernoulli":
        return np.array([max(1, round(tau * ONE))])
    tails = np.rint(poisson.sf(np.arange(20), tau) * ONE).astype(np.int64)
    tails[0] = max(1, tails[0])
    return tails[tails > 0]


class OAPRank(UpdateMixin, BaseEstimator):
    r"""Online aggregate PRank: many members see random parts of a stream and are combined.

    N copies of `PRank` run side by side; copy j is shown round t when an independent coin with
    probability :math:`\tau` falls so. Their diversity makes the combination better than each:

    - ``"bpm"``: the mean of the directions and of the thresholds, an estimate of the Bayes point
      (of members scaled to length 1 if ``update="romma"``, which leaves their lengths to chance);
    - ``"bagging"``: the mean of the members' ranks, rounded, halves upwards;
    - ``"voted"``: the same, weighted by the rounds that a member was shown and ranked rightly
      (equal weights while there are none).

    ``combine`` is read when predicting: one fit serves all three.

    With ``sampling="poisson"`` a member is shown a round as often as a Poisson number of mean
    :math:`\tau` says, one showing after the other: at 1 this is online bagging, whose members learn
    from what in the limit are bootstrap samples of the stream.

    One pass over m rows of d features costs O(m N (tau d + 1) + m tau N k) time, and O(N (d + k))
    memory. `predict` costs O(d) a row for "bpm" and O(N d) for the others, and so does each row of
    ``partial_fit_predict``. Other steps and samplings than the defaults cost some three times as
    much, and O(N d) for each row of ``partial_fit_predict``.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of members N.
    tau : float, default=0.3
        The probability that a member is shown a round, between 0 and 1; taken to the nearest
        multiple of 1/32768. With 1 every member is PRank. If "poisson", the mean number of times.
    combine : {"bpm", "bagging", "voted"}, default="bpm"
        How the members are combined.
    update : {"perceptron", "pa", "romma"}, default="perceptron"
        The step of the members, as in `PRank`. "romma" does not go with a kernel in the dual.
    sampling : {"bernoulli", "poisson"}, default="bernoulli"
        Whether a member is shown a round or not, or several times.
    epochs : int or "auto", default="auto"
        Passes of ``fit`` over the rows; "auto": until the loss no longer falls, at most 50. 1 with
        ``shuffle=False`` is the papers' pass over a stream, and what ``partial_fit`` does.
    shuffle : bool, default=True
        Whether ``fit`` takes the rows in a new random order in each pass.
    n_jobs : int, default=None
        Threads that work on the members, in blocks of about 50; None means 1, -1 all cores. The
        result does not depend on it.
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
    random_state : int, RandomState instance or None, default=None
        Seeds the coins and the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        The labels, lowest rank first.
    members_coef_ : ndarray of shape (N, d)
        The directions of the members.
    members_thresholds_ : ndarray of shape (N, k-1)
        Their thresholds.
    members_correct_ : ndarray of shape (N,)
        The rounds that each was shown and ranked rightly.
    coef_, thresholds_ : ndarrays of shape (d,) and (k-1,)
        Their means, which predict if ``combine="bpm"``.
    support_vectors_ : ndarray or CSR matrix of shape (n_kept, d)
        With a kernel that is not learned in its monomials: the rows that were kept. If precomputed,
        ``support_`` holds their columns instead.
    n_rounds_ : int
        Rows seen, each counted each time.
    n_mistakes_, rank_loss_ : int
        Wrong guesses of all members in the rounds that they were shown, as often as they were, and
        the sum of their distances in ranks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PRank : one member; averaged, it is cheaper and on long streams as good.

    References
    ----------
    E. Harrington, Online ranking/collaborative filtering using the perceptron algorithm, ICML 2003.

    N. Oza and S. Russell, Online bagging and boosting, AISTATS 2001: Poisson sampling.

    Examples
    --------
    >>> from rankwise.datasets import make_herbrich
    >>> from rankwise.metrics import mean_rank_loss
    >>> from rankwise.ordinal import OAPRank
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> X, y = make_herbrich(5000, random_state=0)
    >>> X = PolynomialFeatures(2).fit_transform(X)
    >>> model = OAPRank(random_state=0).fit(X[:4000], y[:4000])
    >>> for combine in ("bpm", "bagging", "voted"):
    ...     guesses = model.set_params(combine=combine).predict(X[4000:])
    ...     print(f"{combine:7} {mean_rank_loss(y[4000:], guesses):.1f}")
    bpm     0.2
    bagging 0.2
    voted   0.2
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **UpdateMixin._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "tau": [Interval(Real, 0, 1, closed="right")],
        "combine": [StrOptions({"bpm", "bagging", "voted"})],
        "update": [StrOptions(set(UPDATES))],
        "sampling": [StrOptions({"bernoulli", "poisson"})],
        "n_jobs": JOBS_CONSTRAINTS,
    }

    _directions = ("W",)
    # The arrays of the state with a row for each member.
    _member_state = ("W", "B", "correct", "memory")
    # The number of the first member: not 0 for a block of the members of a larger model.
    _first_member: int = 0

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        tau: float = 0.3,
        combine: str = "bpm",
        update: str = "perceptron",
        sampling: str = "bernoulli",
        epochs: int | str = "auto",
        shuffle: bool = True,
        n_jobs: int | None = None,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        budget: int | None = None,
        label_order: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.tau = tau
        self.combine = combine
        self.update = update
        self.sampling = sampling
        self.epochs = epochs
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.label_order = label_order
        self.random_state = random_state

    @available_if(lambda self: isinstance(self.combine, str) and self.combine == "bpm")
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how far inside each rank's place a row lies; only with ``combine="bpm"``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k), or (n_samples,) for two ranks
        """
        return super().decision_function(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label that the members agree on, always one of ``classes_``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        if check_word(self.combine, "combine", ("bpm", "bagging", "voted")) == "bpm":
            return super().predict(X)
        self._check_state()
        W, B, correct = (self._state[name] for name in ("W", "B", "correct"))
        weights = correct if self.combine == "voted" else np.zeros_like(correct)
        ranks = [
            vote(each.sum(axis=1), each @ weights, weights.sum(), len(B))
            for each in self._member_ranks(X, W, B)
        ]
        return self.classes_[np.concatenate(ranks)]

    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of the members that give each label to a row.

        These are not probabilities. The label that is predicted need not have the largest share:
        members who disagree on both sides of a rank meet there.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, k)
        """
        check_is_fitted(self)
        labels, members = np.arange(len(self.classes_)), (self._state["W"], self._state["B"])
        return np.concatenate(
            [(each[:, :, None] == labels).mean(axis=1) for each in self._member_ranks(X, *members)]
        )

    def agreement(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of the members that give each row the combined label.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Low where the members contradict each other: such a guess deserves less trust.
        """
        shares = self.vote_shares(X)
        return shares[self.predict(X)[:, None] == self.classes_]

    def diversity(self) -> float:
        """Return 1 minus the mean cosine between the (w, b) of two members.

        0: all members are the same; near 1: they have nothing in common. Members that learned
        nothing yet are left out; with fewer than two it is 0.
        """
        check_is_fitted(self)
        W, B = self._state["W"], self._state["B"]
        products = self._check_state().products(W, self._state) + B @ B.T
        lengths = np.sqrt(np.maximum(products.diagonal(), 0))
        active = np.flatnonzero(lengths)
        n = len(active)
        if n < 2:
            return 0.0
        cosines = products[np.ix_(active, active)] / np.outer(lengths[active], lengths[active])
        return float(1 - (cosines.sum() - n) / (n * (n - 1)))

    def _start(self, n_ranks: int, width: int) -> State:
        seed = check_random_state(self.random_state).randint(2**63 - 1, dtype=np.int64)
        return {
            "seed": np.array([seed], dtype=np.uint64),
            "W": np.zeros((self.n_estimators, width)),
            "B": np.zeros((self.n_estimators, n_ranks - 1)),
            "correct": np.zeros(self.n_estimators, dtype=np.int64),
            "counts": np.zeros(3, dtype=np.int64),
        }

    def _shapes(self, state: State, n_ranks: int, width: int) -> dict[str, tuple[int, ...]]:
        n = len(state["B"])
        shapes = {"seed": (1,), "W": (n, width), "B": (n, n_ranks - 1), "correct": (n,)}
        if "memory" in state:
            shapes["memory"] = (n, state["memory"].size // n)
        return shapes

    def _pass(self, stream: Stream, state: State) -> int:
        rows, ranks, order, _, guesses = stream
        dual = isinstance(rows, KernelRows | BudgetRows)
        update = UPDATES[self.update]
        if (update.needs_length or update.scale_free) and dual:
            raise ValueError(
                f"update={self.update!r} needs the lengths of the members, which a kernel in the "
                "dual does not keep: use update='pa', or kernel='poly' with at most 500 monomials"
            )
        (n_members, cuts), n = state["B"].shape, len(guesses)
        # Blocks of members; those that share the rows that a kernel keeps are one block.
        n_blocks = 1 if dual else -(-n_members // _BLOCK)
        parts = np.array_split(np.arange(0, n_members, 4), n_blocks)
        edges = [int(part[0]) for part in parts] + [n_members]
        bpm = self.combine == "bpm"
        sums = np.zeros((n_blocks, n if bpm else 0, cuts + 1))
        votes = np.zeros((n_blocks, 0 if bpm else n, 3), dtype=np.int64)
        counts = np.zeros((n_blocks, 3), dtype=np.int64)
        tails = tail_probabilities(self.tau, self.sampling)
        memory = self._memory(state, n_members)
        plain = self.update == "perceptron" and self.sampling == "bernoulli"
        blocks = []
        for i, (first, last) in enumerate(pairwise(edges)):
            W, B, correct = (state[name][first:last] for name in ("W", "B", "correct"))
            coins = state["seed"][0], state["counts"][0], self._first_member + first, tails
            totals = W.sum(axis=0)[None], B.sum(axis=0)
            steps = update.code, update.scale_free, np.empty(0), memory[first:last]
            others = totals if plain else steps
            blocks.append((counts[i], sums[i], votes[i], *coins, W, B, correct, *others))
        loop = oap if plain else oap_steps
        work = len(ranks) * state["W"].size * self.tau
        with Pool(self.n_jobs) as pool:
            found = pool.run(lambda i: loop(rows, ranks, order, *blocks[i]), n_blocks, work=work)
        state["counts"] += [len(ranks), *counts[:, 1:].sum(axis=0)]
        if n and bpm:
            total = sums.sum(axis=0)
            guesses[:] = (total[:, :1] >= total[:, 1:]).sum(axis=1)
        elif n:
            unweighted, weighted, weights = votes.sum(axis=0).T
            weights = weights if self.combine == "voted" else 0
            guesses[:] = vote(unweighted, weighted, weights, n_members)
        return max(found)

    def _learned(self, state: State) -> dict[str, Any]:
        W, B = state["W"], state["B"]
        lengths = np.ones((len(W), 1))
        if UPDATES[self.update].scale_free:
            lengths[:, 0] = np.sqrt((W * W).sum(axis=1) + (B * B).sum(axis=1))
            lengths[lengths == 0] = 1.0
        return {
            "coef_": (W / lengths).mean(axis=0),
            "members_coef_": W.copy(),
            "thresholds_": (B / lengths).mean(axis=0),
            "members_thresholds_": B.copy(),
            "members_correct_": state["correct"].copy(),
        }
