"""What all rules of aggregation share: the counts of pairs, and orders as results."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from rankwise._core.ranking import Ranking, positions_of
from rankwise._core.votes import Floats, Indices, Votes, read_votes


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


def as_ranking(votes: Votes, order: Indices, **found: Any) -> Ranking:
    """Return an order of the candidates as a `Ranking`."""
    return Ranking([votes.candidates[i] for i in order], positions_of(order), **found)
