"""Strengths from rankings of any length."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator

from rankwise._core.ids import objects
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.votes import Votes, read_votes
from rankwise.contests._counts import PRIOR, check_groups, check_total
from rankwise.contests._intervals import StrengthsMixin
from rankwise.contests._likelihood import check_solved, maximise, prior_precision
from rankwise.contests._loops import rankings_derivatives, rankings_value

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# With more rankings, the leverage of one is not worth its time.
_MANY = 20_000
_MOST = 0.9


class RankingLikelihood(NamedTuple):
    """The log likelihood of votes about n items."""

    votes: Votes
    n: int

    def value(self, params: Floats) -> float:
        """Return it, minus infinity if a strength is not finite."""
        if not np.isfinite(params).all():
            return -np.inf
        return float(rankings_value(*self.votes[1:], params))

    def derivatives(self, params: Floats) -> tuple[Floats, Floats]:
        """Return the gradient, and the upper triangle of minus the Hessian."""
        gradient, information, _ = self._sums(params)
        return gradient, information

    def spread(self, params: Floats, inverse: Floats) -> tuple[Floats, float]:
        """Return the squared gradients of each ranking, as if it had been left out."""
        if len(self.votes.weight) > _MANY:
            return self._sums(params)[2], 0.0
        squares = np.zeros_like(inverse)
        for v in range(len(self.votes.weight)):
            items, slope = self._left_out(v, params, inverse)
            squares[np.ix_(items, items)] += self.votes.weight[v] * np.outer(slope, slope)
        return np.triu(squares), 0.0

    def _sums(self, params: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the sums over votes of gradients, minus Hessians, and squares of gradients."""
        sums = np.zeros(self.n), np.zeros((self.n, self.n)), np.zeros((self.n, self.n))
        rankings_derivatives(*self.votes[1:], params, *sums)
        return sums

    def _left_out(self, v: int, params: Floats, inverse: Floats) -> tuple[Indices, Floats]:
        """Return the items of a ranking, and its slope divided by one less its leverage."""
        part = slice(*self.votes.starts[v : v + 2])
        items, m = self.votes.items[part], part.stop - part.start
        alone = Votes([], np.arange(m), self.votes.levels[part], np.array([0, m]), np.ones(1))
        gradient, hessian = np.zeros(m), np.zeros((m, m))
        rankings_derivatives(*alone[1:], params[items], gradient, hessian, np.zeros((m, m)))
        hessian += np.triu(hessian, 1).T
        sizes, axes = np.linalg.eigh(inverse[np.ix_(items, items)])
        root = axes * np.sqrt(np.maximum(sizes, 0.0))
        leverage, axes = np.linalg.eigh(root.T @ hessian @ root)
        remaining = 1.0 - np.clip(leverage, 0.0, _MOST)
        return items, gradient + hessian @ root @ axes @ (axes.T @ (root.T @ gradient) / remaining)


class PlackettLuce(StrengthsMixin, BaseEstimator):
    r"""Strengths of items from rankings, complete or partial, with intervals and ranks.

    A ranking is a row of choices: the best of all, then the best of the rest, and so on. The item i
    of strength :math:`s_i` is chosen from those that are left with the probability

    .. math:: \frac{e^{s_i}}{\sum_{j \text{ left}} e^{s_j}}.

    Two items meet as in the model of Bradley and Terry. The log likelihood less
    :math:`\sum_i s_i^2 / (2\,\text{prior}^2)` is maximised; strengths add to 0.

    Parameters
    ----------
    prior : float or None, default=5.0
        Standard deviation of a normal prior of the strengths, see `BradleyTerry`.
    unlisted : {"ignored", "last"}, default="ignored"
        What a ranking says about items that it does not list: nothing, or that they come behind all
        that it does, as in the best k of all.
    level, n_draws, random_state
        As in `BradleyTerry`.

    Attributes
    ----------
    items_ : ndarray of shape (n,)
        The items, sorted where they can be.
    strengths_ : ndarray of shape (n,)
        Their strengths; they add to 0.
    p_best_ : ndarray of shape (n,)
        The posterior probability that each is the strongest, see `BradleyTerry`.
    n_rankings_ : float
        The sum of the weights.
    n_iter_ : int
        Steps of Newton's method.
    objective_ : float
        The log likelihood less the prior's share.

    See Also
    --------
    BradleyTerry : The same from contests of two.
    rankwise.aggregation.kemeny : The order that contradicts the rankings least, without a model.

    Notes
    -----
    A tie, a tuple in a ranking, means that the order of these items is not known. It has Efron's
    form, which is the sum over all their orders if they are equally strong: the r-th of t choices
    has r / t of the tied items' weight left out. The last group of a ranking is not a choice, tied
    or not. A step of Newton costs the sum of the squared lengths of the rankings and O(n^3). The
    sandwich takes a ranking, not a choice, as one observation, and counts each as if it had been
    left out of the fit; past 20,000 rankings, without that correction.

    References
    ----------
    R. L. Plackett, *The analysis of permutations*, Applied Statistics 1975.
    B. Efron, *The efficiency of Cox's likelihood function for censored data*, JASA 1977.

    Examples
    --------
    >>> from rankwise.contests import PlackettLuce
    >>> rankings = [["ann", "bob", "cid"], ["bob", "ann"], ["ann", ("bob", "cid")], ["cid", "ann"]]
    >>> model = PlackettLuce().fit(rankings * 10)
    >>> model.ranking().order
    array(['ann', 'bob', 'cid'], dtype=object)
    >>> print(f"{model.prefer('ann', 'cid'):.2f}")
    0.69
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StrengthsMixin._strength_constraints,
        "unlisted": "no_validation",
    }

    n_rankings_: float
    _votes: Votes
    n_iter_: int
    objective_: float

    def __init__(
        self,
        *,
        prior: float | None = PRIOR,
        unlisted: str = "ignored",
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.prior = prior
        self.unlisted = unlisted
        self.level = level
        self.n_draws = n_draws
        self.random_state = random_state

    @unchanged_on_error
    def fit(
        self,
        rankings: Iterable[Any],
        *,
        sample_weight: ArrayLike | None = None,
        items: Iterable[Any] | None = None,
    ) -> Self:
        """Learn from rankings.

        Parameters
        ----------
        rankings : list of orders
            Each best first, ties as tuples; not all items need be listed.
        sample_weight : array-like of shape (n_rankings,), default=None
            How often each ranking was given.
        items : iterable, default=None
            All items, also those that no ranking lists; None: those that occur.

        Returns
        -------
        self
        """
        self._validate_params()
        votes = read_votes(
            rankings,
            sample_weight,
            items,
            self.unlisted,
            name="items",
            weights_name="sample_weight",
        )
        n = len(votes.candidates)
        if n < 2:
            raise ValueError(f"rankings has one item only, {votes.candidates[0]!r}: give two")
        check_total(float(votes.weight.sum()))
        self.items_ = objects(votes.candidates)
        check_groups(*_beaten_pairs(votes), self.items_, self.prior)
        best = maximise(RankingLikelihood(votes, n), prior_precision(self.prior, n, n), np.zeros(n))
        check_solved(best)
        self._sandwich = None
        self.strengths_, self._inverse = best.params - best.params.mean(), best.inverse
        self.n_iter_, self.objective_ = best.n_iter, best.value
        self.n_rankings_ = float(votes.weight.sum())
        self._votes = votes._replace(candidates=[])
        return self

    def _has_evidence(self) -> bool:
        # files of version 0.2 hold no rankings
        return hasattr(self, "_votes")

    def _likelihood(self) -> tuple[RankingLikelihood, Floats]:
        return RankingLikelihood(self._votes, len(self.items_)), self.strengths_

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not hasattr(self, "_votes"):
            if hasattr(self, "strengths_") and self._sandwich is None:
                raise ValueError("a PlackettLuce without rankings has no sandwich covariance")
            return
        votes, n = self._votes, len(self.items_)
        total, starts = len(votes.items), votes.starts
        shapes = votes.levels.shape, votes.weight.shape, self._inverse.shape
        if (
            shapes != ((total,), (len(starts) - 1,), (n, n))
            or {column.dtype for column in votes[1:4]} != {np.dtype(np.int64)}
            or votes.weight.dtype != np.float64
            or starts[0] != 0
            or starts[-1] != total
            or (starts[1:] < starts[:-1]).any()  # differences could overflow
            or votes.items.min(initial=0) < 0
            or votes.items.max(initial=0) >= n
        ):
            raise ValueError("the rankings of a PlackettLuce do not belong to its items")

    def _prefer(self, first: Indices, second: Indices) -> Floats:
        return np.asarray(expit(self.strengths_[first] - self.strengths_[second]))


def _beaten_pairs(votes: Votes) -> tuple[Indices, Indices]:
    """Return winners and losers: each item, and those of the same and of the next rank."""
    winner: list[Indices] = []
    loser: list[Indices] = []

    def beats(one: Indices, other: Indices) -> None:
        winner.append(np.repeat(one, len(other)))
        loser.append(np.tile(other, len(one)))

    for start, stop in pairwise(votes.starts.tolist()):
        cuts = np.flatnonzero(np.diff(votes.levels[start:stop])) + 1
        groups = np.split(votes.items[start:stop], cuts)
        for group, behind in pairwise(groups):
            # one that is tied stands before the others for some of their choices
            beats(group, group)
            beats(group, behind)
    beaten = np.concatenate([np.empty(0, np.int64), *loser])
    winners = np.concatenate([np.empty(0, np.int64), *winner])
    apart = winners != beaten
    return winners[apart], beaten[apart]
