"""Kemeny's order: the one that the voters contradict least."""

from collections.abc import Iterable
from math import inf
from numbers import Real
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise._core._loops.linear_ordering import order_cost
from rankwise._core.arguments import check_word
from rankwise._core.linear_ordering import solve
from rankwise._core.ranking import Ranking, positions_of
from rankwise._core.votes import Floats, Indices, Votes, read_votes

METHODS = ("auto", "exact", "local")

# The largest component that "auto" proves without a time limit.
_PROVEN = 250
# Seconds, some thirty years.
_FOREVER = 1e9


def kemeny(
    rankings: Iterable[Any],
    *,
    method: str = "auto",
    time_limit: float | None = None,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    r"""Find the order with the smallest sum of Kendall distances to the rankings.

    With :math:`w_{ij}` the weight of the voters that put i before j, it minimises

    .. math:: \sum_{i \text{ before } j} w_{ji}.

    Only pairs count: a voter says nothing about a pair that it ties, or of which it has not ranked
    both.

    Parameters
    ----------
    rankings : list of orders
        Each a list of candidates, best first. A tuple in it is a tie. It may be partial.
    method : {"auto", "exact", "local"}, default="auto"
        "exact" continues until the order is proven to be optimal, or the time is up, or the proof
        would take more memory than is stated below. "local" is a local search: groups of ten
        candidates at most are optimal, for larger ones nothing is proven. "auto" is "exact" if
        there is a time limit or at most 250 candidates hang together in circular majorities, and
        otherwise "local".
    time_limit : float, default=None
        Seconds after which to stop: the order is then the best that was found, and the bound what
        was proven. It is kept to within a second for some thousand candidates; reading the
        rankings, in linear time, and a first look at them are always done, also with 0.
    weights : array-like of shape (n_rankings,), default=None
        How much each ranking counts, such as the number of voters that have cast it.
    candidates : list, default=None
        All candidates, in the order that ``positions`` follows. By default those that occur,
        sorted, or as they occur if they can't be sorted.
    unlisted : {"ignored", "last"}, default="ignored"
        Whether a voter says nothing about candidates that are not in the ranking, or puts them
        behind all others, tied.

    Returns
    -------
    Ranking
        With ``cost``, ``lower_bound`` (no order costs less) and ``optimal`` (whether that is
        proven). The bound is at least what majorities alone prove, the sum of
        :math:`\min(w_{ij}, w_{ji})` over all pairs; if the time is up before all pairs are
        counted, the order is Borda's and the bound is 0. If weights are not integers, optimal
        is to be read as within rounding: a millionth of the largest majority for each group.

    See Also
    --------
    kwiksort : A sort, fast and not far off.
    borda : By mean ranks, in linear time.
    kemeny_cost : The cost of any order.

    Notes
    -----
    The problem is NP-hard, and easy when voters agree. First the candidates fall into groups, the
    strongly connected components of the majority graph; groups of ten at most are solved by
    dynamic programming, larger ones by local search, a bound from circles of three, and a linear
    program with triangle inequalities, added as they are violated, whose reduced costs decide most
    pairs; branch and bound decides the rest. The local search takes O(n^2) time for each sweep, the
    circles and each search for triangles O(n^3).

    Memory is at most about 70 n^2 bytes and half a gigabyte: the linear program has 200,000
    triangles at most. A proof that needs more is given up, with the bound so far. (The tree of
    branch and bound is not counted; it is the solver's.) Ctrl-C is noticed within a second: what
    takes longer in the solver runs in a separate process.

    References
    ----------
    J. G. Kemeny, *Mathematics without numbers*, Daedalus 88, 1959.

    M. Grötschel, M. Jünger and G. Reinelt, *A cutting plane algorithm for the linear ordering
    problem*, Operations Research 32, 1984.

    Examples
    --------
    >>> from rankwise.aggregation import kemeny
    >>> votes = [["ash", "oak", "elm"], ["oak", "elm", "ash"], ["ash", ("oak", "elm")]]
    >>> kemeny([*votes, ["oak", "ash"]], weights=[2, 2, 2, 1])
    Ranking(order=['ash', 'oak', 'elm'], positions=array([1, 3, 2]), cost=5.0, lower_bound=5.0,
            optimal=True)
    """
    check_word(method, "method", METHODS)
    deadline = monotonic() + _check_limit(time_limit)
    votes = read_votes(rankings, weights, candidates, unlisted)
    try:
        wins = votes.wins(deadline)
    except TimeoutError:
        order = np.argsort(-votes.shares(), kind="stable")
        return as_ranking(votes, order, cost=votes.cost(order), lower_bound=0.0, optimal=False)
    limited = method == "auto" and time_limit is None
    max_proven = 0 if method == "local" else _PROVEN if limited else inf
    solution = solve(wins - wins.T, max_proven=max_proven, deadline=deadline)
    cost = float(order_cost(wins, solution.order))
    optimal = solution.lower_bound == solution.cost
    lower_bound = cost if optimal else cost - (solution.cost - solution.lower_bound)
    return as_ranking(votes, solution.order, cost=cost, lower_bound=lower_bound, optimal=optimal)


def kemeny_cost(
    order: Iterable[Any],
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    unlisted: str = "ignored",
) -> float:
    """Return the sum of Kendall distances from an order to the rankings.

    Parameters
    ----------
    order : list or Ranking
        An order of all candidates without ties, best first.
    rankings, weights, unlisted
        As in `kemeny`.

    Examples
    --------
    >>> from rankwise.aggregation import kemeny_cost
    >>> kemeny_cost(["a", "b", "c"], [["a", "b", "c"], ["c", ("a", "b")]])
    2.0
    """
    votes = read_votes(rankings, weights, order, unlisted, name="order")
    return float(order_cost(votes.wins(), np.arange(len(votes.candidates))))


def local_kemenisation(
    order: Iterable[Any],
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    unlisted: str = "ignored",
) -> Ranking:
    """Repair an order: no candidate stays right behind one that a majority puts behind it.

    The candidates are taken in the given order; each starts at the end of those before and moves up
    while a majority, of the voters that have ranked both, prefers it to the one above. The result
    is *locally optimal*: no swap of neighbours lowers the Kemeny cost. It is the one such order
    that agrees with the given one as far as possible, and never costs more. Whoever beats everyone
    is first, and a group whose members beat all others is before them.

    Parameters
    ----------
    order : list or Ranking
        An order of all candidates without ties, best first, such as another rule's.
    rankings, weights, unlisted
        As in `kemeny`.

    Returns
    -------
    Ranking
        With ``cost``, the Kemeny cost; positions are aligned with ``order``. O(n^2) after the
        counting of pairs.

    References
    ----------
    C. Dwork, R. Kumar, M. Naor and D. Sivakumar, *Rank aggregation methods for the web*, WWW 2001.

    Examples
    --------
    >>> from rankwise.aggregation import borda, local_kemenisation
    >>> votes = [["a", "b", "c"]] * 3 + [["b", "c", "a"]] * 2
    >>> borda(votes).order
    ['b', 'a', 'c']
    >>> local_kemenisation(borda(votes), votes)
    Ranking(order=['a', 'b', 'c'], positions=array([2, 1, 3]), cost=4.0)
    """
    votes = read_votes(rankings, weights, order, unlisted, name="order")
    wins = votes.wins()
    result = np.empty(len(wins), dtype=np.int64)
    for k in range(len(result)):
        above = result[:k]
        stays = np.flatnonzero(wins[k, above] <= wins[above, k])
        position = stays[-1] + 1 if len(stays) else 0
        result[position + 1 : k + 1] = result[position:k].copy()
        result[position] = k
    return as_ranking(votes, result, cost=float(order_cost(wins, result)))


def _check_limit(time_limit: Any) -> float:
    """Return the seconds that are allowed."""
    if time_limit is None:
        return inf
    number = isinstance(time_limit, Real) and not isinstance(time_limit, bool)
    if not number or not 0 <= time_limit < inf:
        raise ValueError(
            f"time_limit is {time_limit!r}: give a number of seconds, not negative, or None for no "
            "limit"
        )
    return float(min(time_limit, _FOREVER))


def pairwise_wins(
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> tuple[list[Any], Floats]:
    """Count, for each pair, the voters that put the one before the other.

    Parameters
    ----------
    rankings, weights, candidates, unlisted
        As in `kemeny`.

    Returns
    -------
    candidates : list
        The candidates, in the order of the rows and columns.
    wins : ndarray of shape (n, n)
        The number, or weight, of the voters that put the candidate of the row before that of the
        column.

    Examples
    --------
    >>> from rankwise.aggregation import pairwise_wins
    >>> candidates, wins = pairwise_wins([["a", "b", "c"], ["b", ("a", "c")], ["c", "a"]])
    >>> candidates
    ['a', 'b', 'c']
    >>> wins
    array([[0., 1., 1.],
           [1., 0., 2.],
           [1., 0., 0.]])
    """
    votes = read_votes(rankings, weights, candidates, unlisted)
    return votes.candidates, votes.wins()


def as_ranking(votes: Votes, order: Indices, **details: Any) -> Ranking:
    """Return an order of the candidates as a `Ranking`."""
    return Ranking([votes.candidates[i] for i in order], positions_of(order), **details)
