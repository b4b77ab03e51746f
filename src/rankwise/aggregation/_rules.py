"""Rules that need no search: scores, an assignment, a random walk, a sort."""

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from rankwise._core._loops.linear_ordering import order_cost
from rankwise._core.arguments import check_whole, check_word
from rankwise._core.ranking import Ranking
from rankwise._core.votes import Floats, Indices, Votes, read_votes
from rankwise.aggregation._kemeny import as_ranking
from rankwise.preference.sorting import QuickSort

# The smallest restart probability: below it, those who always lose are lost in rounding.
_LEAST = 1e-6
# Shares are known to this relative error.
_ROUNDING = 1e-11
# States of a walk that are eliminated together.
_BLOCK = 64
CHAINS = ("MC1", "MC2", "MC3", "MC4")


def borda(
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    """Order by the share of comparisons won less those lost, over all voters.

    For complete rankings that is the order of the mean ranks, Borda's count. A voter who ranks r
    candidates compares each with r - 1 others, where a tie is neither won nor lost; a candidate
    that a voter has not ranked is not compared by that voter. A candidate without comparison
    stands at 0, between those that win more and those that lose more.

    Parameters
    ----------
    rankings, weights, candidates, unlisted
        As in `kemeny`.

    Returns
    -------
    Ranking
        Equal shares in the order of the candidates. Time is linear in the length of the rankings.

    Examples
    --------
    >>> from rankwise.aggregation import borda
    >>> borda([["a", "b", "c"], ["b", "a", "c"], ["b", "c"]])
    Ranking(order=['b', 'a', 'c'], positions=array([2, 1, 3]))
    """
    votes = read_votes(rankings, weights, candidates, unlisted)
    return _by_score(votes, votes.shares())


def copeland(
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    """Order by the number of candidates that a majority puts behind, less those before.

    The majority of a pair is among the voters that have ranked both, and not tied them. O(n^2).

    Parameters
    ----------
    rankings, weights, candidates, unlisted
        As in `kemeny`.

    Returns
    -------
    Ranking
        Equal numbers in the order of the candidates.

    Examples
    --------
    >>> from rankwise.aggregation import copeland
    >>> copeland([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]]).order
    ['a', 'b', 'c']
    """
    votes = read_votes(rankings, weights, candidates, unlisted)
    wins = votes.wins()
    return _by_score(votes, np.sign(wins - wins.T).sum(axis=1))


def footrule(
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    """Find the order with the smallest sum of distances between places.

    The distance of an order to a vote is the sum of ``|place - rank|`` over the candidates of the
    vote, those of a tie at their mean rank. The ranks of a vote of r candidates out of n are
    stretched over all places: rank k becomes ``(k - 1/2) n / r + 1/2``, the middle of its share.
    Candidates that a voter has not ranked don't count for that voter.

    For complete rankings without ties, the Kemeny cost of the result is at most twice the best.

    Parameters
    ----------
    rankings, weights, candidates, unlisted
        As in `kemeny`.

    Returns
    -------
    Ranking
        With ``cost``, the sum of distances, which is minimal. The assignment of candidates to
        places takes O(n^3) time, ten seconds for 3,000 candidates, in which Ctrl-C is not seen;
        memory is 40 n^2 bytes.

    References
    ----------
    C. Dwork, R. Kumar, M. Naor and D. Sivakumar, *Rank aggregation methods for the web*, WWW 2001.

    Examples
    --------
    >>> from rankwise.aggregation import footrule
    >>> ranking = footrule([["a", "b", "c"], ["b", "a", "c"], ["b", "c", "a"]])
    >>> ranking.order, ranking.cost
    (['b', 'a', 'c'], 4.0)
    """
    votes = read_votes(rankings, weights, candidates, unlisted)
    n = len(votes.candidates)
    costs = _place_costs(votes)
    who, where = linear_sum_assignment(costs)
    order = np.empty(n, dtype=np.int64)
    order[where] = who
    cost = float(costs[who, where].sum())
    return as_ranking(votes, order, cost=cost, lower_bound=cost, optimal=True)


def markov_chain(
    rankings: Iterable[Any],
    *,
    chain: str = "MC4",
    teleport: float = 0.05,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    """Order by how often a random walk towards better candidates visits each.

    From a candidate P, a step of the four chains of Dwork et al. is:

    - MC1: to one drawn from all that some voter ranks as high as P or higher, P among them, each as
      often as there are such voters;
    - MC2: draw a voter who has ranked P, then one that this voter ranks as high as P or higher, P
      among them;
    - MC3: draw a voter who has ranked P, then any that this voter has ranked, and go there if it is
      ranked higher;
    - MC4: draw any candidate, and go there if a majority of the voters that have ranked both
      prefers it.

    Otherwise the walk stays. Voters are drawn by their weights. Now and then the walk restarts
    anywhere, so that those who always lose are distinguished, too.

    Parameters
    ----------
    rankings, weights, candidates, unlisted
        As in `kemeny`.
    chain : {"MC1", "MC2", "MC3", "MC4"}, default="MC4"
        How the walk goes.
    teleport : float, default=0.05
        The probability of a restart, from 1e-6 to 1.

    Returns
    -------
    Ranking
        Equal shares in the order of the candidates. One linear system, O(n^3): a few seconds for
        3,000 candidates; memory is 35 n^2 bytes.

    References
    ----------
    C. Dwork, R. Kumar, M. Naor and D. Sivakumar, *Rank aggregation methods for the web*, WWW 2001.

    W. Grassmann, M. Taksar and D. Heyman, *Regenerative analysis and steady state distributions
    for Markov chains*, Operations Research 33, 1985: the solution of the system.

    Examples
    --------
    >>> from rankwise.aggregation import markov_chain
    >>> votes = [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]]
    >>> markov_chain(votes).order
    ['a', 'b', 'c']
    >>> markov_chain(votes, chain="MC2").order
    ['a', 'b', 'c']
    """
    check_word(chain, "chain", CHAINS)
    if isinstance(teleport, bool) or not (isinstance(teleport, Real) and _LEAST <= teleport <= 1):
        raise ValueError(f"teleport is {teleport!r}: give a number from {_LEAST} to 1")
    votes = read_votes(rankings, weights, candidates, unlisted)
    moves = _majority_moves(votes.wins()) if chain == "MC4" else _voter_moves(votes, chain)
    moves *= 1 - float(teleport)
    visits = _expected_visits(moves, float(teleport))
    # Candidates in the same position have the same share but for rounding.
    order = np.argsort(visits)
    shares = np.empty(len(order))
    shares[order] = np.cumsum(np.diff(np.log(visits[order]), prepend=-np.inf) > _ROUNDING)
    return _by_score(votes, shares)


def kwiksort(
    rankings: Iterable[Any],
    *,
    repeats: int = 1,
    random_state: int | np.random.RandomState | None = None,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    """Sort by majorities with randomised QuickSort.

    Each candidate is compared with a random pivot and goes before it if a majority of the voters
    that have ranked both says so; a coin decides without a majority. For complete rankings,
    the better of this and a random voter's ranking costs at most 11/7 of the best order, in
    expectation.

    Parameters
    ----------
    rankings, weights, candidates, unlisted
        As in `kemeny`.
    repeats : int, default=1
        Number of sorts; keep the order with the smallest Kemeny cost.
    random_state : int, RandomState instance or None, default=None
        Draws pivots and coins.

    Returns
    -------
    Ranking
        With ``cost``, the Kemeny cost. O(n log n) comparisons, after O(n^2) for the majorities.

    References
    ----------
    N. Ailon, M. Charikar and A. Newman, *Aggregating inconsistent information: ranking and
    clustering*, Journal of the ACM 55, 2008.

    Examples
    --------
    >>> from rankwise.aggregation import kwiksort
    >>> kwiksort([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], random_state=0).order
    ['a', 'b', 'c']
    """
    check_whole(repeats, "repeats")
    votes = read_votes(rankings, weights, candidates, unlisted)
    random = check_random_state(random_state)
    wins = votes.wins()
    orders = [_quicksort(wins, random) for _ in range(int(repeats))]
    costs = [float(order_cost(wins, order)) for order in orders]
    best = int(np.argmin(costs))
    return as_ranking(votes, orders[best], cost=costs[best])


def _by_score(votes: Votes, scores: Floats) -> Ranking:
    return as_ranking(votes, np.argsort(-scores, kind="stable"))


def _majority_moves(wins: Floats) -> Floats:
    return (wins < wins.T) / len(wins)


def _voter_moves(votes: Votes, chain: str) -> Floats:
    """Return the chances to go from the candidate of a row to that of a column, by voters."""
    n = len(votes.candidates)
    moves, voters = np.zeros((n, n)), np.zeros(n)
    for start, stop, weight in zip(votes.starts, votes.starts[1:], votes.weight, strict=False):
        items, levels = votes.items[start:stop], votes.levels[start:stop]
        if chain == "MC3":
            chances = (levels < levels[:, None]) / max(len(items), 1)
        else:
            chances = (levels <= levels[:, None]).astype(np.float64)
            if chain == "MC2":
                chances /= chances.sum(axis=1, keepdims=True)
        moves[np.ix_(items, items)] += weight * chances
        voters[items] += weight
    total = moves.sum(axis=1) if chain == "MC1" else voters
    return moves / np.where(total > 0, total, 1.0)[:, None]


def _expected_visits(moves: Floats, stop: float) -> Floats:
    """Return how often a walk from a random state visits each state before it stops.

    Elimination as of Grassmann, Taksar and Heyman, in blocks: the chance to leave a state is the
    sum of the chances to go elsewhere, so nothing is subtracted, and every result has its relative
    accuracy, however rare the visits. O(n^3).

    Parameters
    ----------
    moves : ndarray of shape (n, n)
        The chance of a step from the state of a row to that of a column; the diagonal is ignored.
    stop : float
        The chance to stop at a state.
    """
    n = len(moves)
    A = np.column_stack([moves, np.full(n, stop)])
    leave = np.empty(n)
    for start in range(0, n, _BLOCK):
        end = min(start + _BLOCK, n)
        beyond = A[start:end, end:].sum(axis=1)
        for k in range(start, end):
            leave[k] = beyond[k - start] + A[k, k + 1 : end].sum()
            A[k + 1 :, k] /= leave[k]
            A[k + 1 :, k + 1 : end] += np.outer(A[k + 1 :, k], A[k, k + 1 : end])
            beyond[k + 1 - start :] += A[k + 1 : end, k] * beyond[k - start]
            A[k, end:] += A[k, start:k] @ A[start:k, end:]
        A[end:, end:] += A[end:, start:end] @ A[start:end, end:]
    visits = np.full(n, 1 / n)
    for k in range(n):
        visits[k] = (visits[k] + visits[:k] @ A[:k, k]) / leave[k]
    for k in reversed(range(n)):
        visits[k] += visits[k + 1 :] @ A[k + 1 :, k]
    return visits


def _place_costs(votes: Votes) -> Floats:
    """Return what it costs, in footrule distance, to have each candidate at each place.

    As a function of the place it is a sum of ``weight |place - rank|``: its slope between two
    places rises by twice the weight where the rank lies, in two parts if that is between places.
    """
    n, sizes = len(votes.candidates), np.diff(votes.starts)
    weight = np.repeat(votes.weight, sizes)
    rank = (votes.ranks() - 0.5) * np.repeat(n / np.maximum(sizes, 1), sizes) + 0.5
    below = np.floor(rank).astype(np.int64)
    rest = rank - below
    rises = np.zeros((n, n + 2))
    np.add.at(rises, (votes.items, below), 2 * weight * (1 - rest))
    np.add.at(rises, (votes.items, below + 1), 2 * weight * rest)
    total = np.bincount(votes.items, weight, minlength=n)
    costs = np.empty((n, n))
    costs[:, 0] = np.bincount(votes.items, weight * np.abs(rank - 1), minlength=n)
    slopes = np.cumsum(rises, axis=1)[:, 1:n] - total[:, None]
    costs[:, 1:] = costs[:, :1] + np.cumsum(slopes, axis=1)
    return costs


def _quicksort(wins: Floats, random: Any) -> Indices:
    sort = QuickSort(len(wins), random.permutation(len(wins)))
    while len((pairs := sort.plan())[0]):
        ahead = wins[pairs] - wins[pairs[::-1]]
        coins = random.random_sample(len(ahead)) < 0.5
        sort.take(np.where(ahead == 0, coins, ahead > 0))
    return sort.order
