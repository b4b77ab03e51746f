"""Distance between two rankings, and agreement of many."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from rankwise._core._loops.inversions import count_inversions
from rankwise._core.linear_ordering import components
from rankwise._core.votes import Floats, Indices, Votes, read_votes

MOST_VOTERS = 10**15
# How many ranks are permuted at most, and how often those of all voters are.
_MOST_RANKS, _LEAST_DRAWS, _MOST_DRAWS = 10**7, 999, 9_999


def kendall_distance(a: Iterable[Any], b: Iterable[Any]) -> int:
    """Count the pairs that two rankings put in opposite orders.

    A pair that either of them ties, or does not rank, is not counted.

    Parameters
    ----------
    a, b : list or Ranking
        Orders, best first; ties as tuples; may be partial.

    Returns
    -------
    int
        In O(n log n).

    Examples
    --------
    >>> from rankwise.aggregation import kendall_distance
    >>> kendall_distance(["a", "b", "c", "d"], ["b", "a", ("d", "c")])
    1
    """
    first, second = _common(a, b)
    return int(count_inversions(np.argsort(second[np.lexsort((second, first))], kind="stable")))


def footrule_distance(a: Iterable[Any], b: Iterable[Any]) -> float:
    """Return Spearman's footrule: the sum of the distances between ranks.

    Only candidates that both rank are counted, with their ranks among these; those of a tie are at
    their mean rank. It is at least the Kendall distance of complete orders, and at most twice that.

    Parameters
    ----------
    a, b : list or Ranking
        Orders, best first; ties as tuples; may be partial.

    Examples
    --------
    >>> from rankwise.aggregation import footrule_distance
    >>> footrule_distance(["a", "b", "c", "d"], ["b", "a", ("d", "c")])
    3.0
    """
    return float(np.abs(np.subtract(*(_mean_ranks(levels) for levels in _common(a, b)))).sum())


@dataclass(frozen=True)
class Concordance:
    """Agreement of voters.

    Attributes
    ----------
    n_voters, n_candidates : int
        How many there are.
    w : float or None
        Kendall's coefficient of concordance, corrected for ties: 1 if all rankings are the same,
        about 1 / n_voters if they are drawn at random. None if a ranking is partial, or all tie
        everything.
    pvalue : float or None
        Of w if rankings were random, from the chi-squared approximation. With at most 10,000 ranks
        in all, the larger of this and the share of random permutations of each ranking that agree
        at least as much (999 to 9,999 draws): with few voters, or many ties, the approximation is
        too small.
    tau : float or None
        Over pairs of voters and pairs of candidates that both order: the share on which they agree
        less the share on which they don't. None without such pairs.
    condorcet_winner : object or None
        The candidate whom a majority prefers to each other one, if there is one.
    largest_cycle : int
        The most candidates that hang together in circular majorities; 1 if there is none.
    """

    n_voters: int
    n_candidates: int
    w: float | None
    pvalue: float | None
    tau: float | None
    condorcet_winner: Any
    largest_cycle: int


def concordance(
    rankings: Iterable[Any],
    *,
    weights: ArrayLike | None = None,
    candidates: Iterable[Any] | None = None,
    unlisted: str = "ignored",
) -> Concordance:
    """Say how much the voters agree, and whether their majorities form an order.

    Parameters
    ----------
    rankings, candidates, unlisted
        As in `kemeny`; of two voters at least.
    weights : array-like of shape (n_rankings,), default=None
        The number of voters that have cast each ranking.

    Returns
    -------
    Concordance

    Notes
    -----
    With R_i the sum of the ranks of candidate i over m voters, and T the sum of t^3 - t over all
    ties of t candidates, ``W = 12 sum (R_i - mean)^2 / (m^2 (n^3 - n) - m T)``.

    References
    ----------
    M. G. Kendall and B. Babington Smith, *The problem of m rankings*, Annals of Mathematical
    Statistics 10, 1939.

    Examples
    --------
    >>> from rankwise.aggregation import concordance
    >>> report = concordance([["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]])
    >>> print(f"{report.w:.2f} {report.tau:.2f} {report.condorcet_winner}")
    0.44 0.11 a
    """
    votes = read_votes(rankings, weights, candidates, unlisted)
    if (votes.weight != np.rint(votes.weight)).any():
        raise ValueError("weights must be integers here: numbers of voters")
    m, n = int(votes.weight.sum()), len(votes.candidates)
    if m > MOST_VOTERS:
        raise ValueError(
            f"weights add up to {m:.1e} voters, more than a float can count: give at most "
            f"{MOST_VOTERS:.0e} in all"
        )
    if m < 2:
        raise ValueError("rankings has one voter: agreement needs two or more")
    w = _coefficient(votes, m)
    wins = votes.wins()
    both = np.triu(wins + wins.T, 1)
    pairs = (both * (both - 1)).sum() / 2
    agree = (wins * (wins - 1)).sum() / 2
    ahead = np.flatnonzero((wins > wins.T).sum(axis=1) == n - 1)
    return Concordance(
        n_voters=m,
        n_candidates=n,
        w=w,
        pvalue=None if w is None else _pvalue(votes, w, m),
        tau=float(2 * agree / pairs - 1) if pairs else None,
        condorcet_winner=votes.candidates[ahead[0]] if len(ahead) else None,
        largest_cycle=max(map(len, components(wins - wins.T))),
    )


def _common(a: Iterable[Any], b: Iterable[Any]) -> tuple[Indices, Indices]:
    """Return the levels in both orders of the candidates that both have."""
    votes = read_votes([a, b], None, None, "ignored")
    levels = np.full((2, len(votes.candidates)), -1)
    voter = np.repeat([0, 1], np.diff(votes.starts))
    levels[voter, votes.items] = votes.levels
    first, second = levels[:, (levels >= 0).all(axis=0)]
    return first, second


def _mean_ranks(levels: Indices) -> Floats:
    _, tie, sizes = np.unique(levels, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[tie]


def _coefficient(votes: Votes, m: int) -> float | None:
    n, sizes = len(votes.candidates), np.diff(votes.starts)
    if (sizes < n).any():
        return None
    voter = np.repeat(np.arange(len(sizes)), sizes)
    tied = np.bincount(voter * n + votes.levels).astype(np.float64)
    ties = votes.weight @ np.bincount(
        np.arange(len(tied)) // n, tied**3 - tied, minlength=len(sizes)
    )
    scale = m**2 * (n**3 - n) - m * ties
    sums = votes.weight @ _rank_table(votes)
    return float(12 * np.square(sums - sums.mean()).sum() / scale) if scale > 0 else None


def _rank_table(votes: Votes) -> Floats:
    """Return the rank of each candidate in each complete ranking."""
    table = np.empty((len(votes.weight), len(votes.candidates)))
    table[np.repeat(np.arange(len(table)), table.shape[1]), votes.items] = votes.ranks()
    return table


def _pvalue(votes: Votes, w: float, m: int) -> float:
    n = len(votes.candidates)
    pvalue = float(chi2.sf(m * (n - 1) * w, n - 1))
    n_draws = min(_MOST_DRAWS, _MOST_RANKS // (m * n))
    if n_draws < _LEAST_DRAWS:
        return pvalue
    rankings = np.repeat(_rank_table(votes), votes.weight.astype(int), axis=0)
    random, sums = np.random.default_rng(0), np.zeros((n_draws, n))
    for ranking in rankings:
        sums += random.permuted(np.broadcast_to(ranking, sums.shape), axis=1)
    # ranks are halves at least, so that these sums are exact
    squares, drawn = (np.square(s - m * (n + 1) / 2).sum(-1) for s in (rankings.sum(0), sums))
    return max(pvalue, float((1 + (drawn >= squares).sum()) / (1 + n_draws)))
