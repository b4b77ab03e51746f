"""PRank with all its hypotheses kept to vote. Twin: `tests.reference.voted_prank`.

A voter is a hypothesis that was replaced after it had ranked at least one round rightly: the others
have no vote.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.rows import check_stream, dot, end_update, rank_of
from rankwise._core._loops.shapes import check_shape, row_count, row_width
from rankwise._core.compilation import compiled
from rankwise.ordinal._loops.large_margin import is_satisfied, take_step
from rankwise.ordinal._loops.prank import Iterate

# Rows that `elect` takes together, so that each voter is read from memory once for all of them.
TOGETHER = 16


class Voters(NamedTuple):
    """The current hypothesis and those that were kept.

    Attributes
    ----------
    w, b : (d,) and (k-1,)
        The current direction and thresholds.
    survived : (1,) int64
        The rounds that they ranked rightly.
    W, B : (n, d) and (n, k-1)
        The directions and thresholds that were kept. The arrays may end with room for others.
    voter_counts : (n, 2) int64
        For each, the rounds that it ranked rightly, at least 1, and the round that ended it; 0 for
        room.
    """

    w: NDArray[np.float64]
    b: NDArray[np.float64]
    survived: NDArray[np.int64]
    W: NDArray[np.float64]
    B: NDArray[np.float64]
    voter_counts: NDArray[np.int64]


def _check_voters(rows, voters, *, learning):
    width, n, cuts = row_width(rows, learning=learning), len(voters.voter_counts), len(voters.b)
    check_shape("b", voters.b, None)
    check_shape("w", voters.w, width)
    check_shape("survived", voters.survived, 1, kind=np.int64)
    check_shape("voter_counts", voters.voter_counts, None, 2, kind=np.int64)
    check_shape("W", voters.W, n, width)
    check_shape("B", voters.B, n, cuts)


@compiled
def mean_rank(total, votes, otherwise):
    """Return total / votes to the nearest whole number, halves upwards; without votes, the last."""
    return (2 * total + votes) // (2 * votes) if votes > 0 else otherwise


def elect(rows: Any, voters: Voters, out: Any) -> int:
    """Fill ``out``, (m,) int64, with the ranks that the voters elect for the rows.

    Returns
    -------
    int
        -1, or a row with a score that is not finite.
    """
    _check_voters(rows, voters, learning=False)
    check_shape("out", out, row_count(rows), kind=np.int64)
    return _elect(rows, voters, out)


@compiled
def _elect(rows, voters, out):
    w, b, survived, W, B, voter_counts = voters
    votes = survived[0]
    for m in range(W.shape[0]):
        votes += voter_counts[m, 0]
    total = np.empty(TOGETHER, dtype=np.int64)
    for start in range(0, out.shape[0], TOGETHER):
        stop = min(start + TOGETHER, out.shape[0])
        for i in range(start, stop):
            score = dot(rows, i, w)
            if not np.isfinite(score):
                return i
            out[i] = rank_of(score, b)
            total[i - start] = survived[0] * out[i]
        for m in range(W.shape[0]):
            for i in range(start, stop):
                score = dot(rows, i, W[m])
                if not np.isfinite(score):
                    return i
                total[i - start] += voter_counts[m, 0] * rank_of(score, B[m])
        for i in range(start, stop):
            out[i] = mean_rank(total[i - start], votes, out[i])
    return -1


def voted(stream: Any, update: int, voters: Voters, most: int) -> tuple[int, Voters]:
    """Run PRank over a stream and keep its hypotheses, updating all arrays in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks; its guesses are those of the voters.
    update : int
        The steps: PERCEPTRON, PA or ROMMA of `rankwise.ordinal._loops.large_margin`.
    voters : Voters
        What was learned so far.
    most : int
        How many hypotheses to keep beside the current one.

    Returns
    -------
    bad : int
        -1, or a row with a score that is not finite.
    voters : Voters
        The same arrays, or larger ones if these had no more room.
    """
    _check_voters(stream.rows, voters, learning=True)
    check_stream(stream, len(voters.b) + 1)
    none = np.empty(0)
    iterate = Iterate(voters.w, voters.b, none, none, voters.w[None], none[None])
    begin = 0
    while True:
        begin, bad = _voted(stream, begin, update, most, iterate, voters)
        if bad >= 0 or begin == len(stream.ranks):
            return bad, voters
        voters = _with_more_room(voters, most)


def _with_more_room(voters: Voters, most: int) -> Voters:
    n = len(voters.W)
    grown = {}
    for name in ("W", "B", "voter_counts"):
        old = getattr(voters, name)
        grown[name] = np.zeros((min(2 * n + 8, most), old.shape[1]), old.dtype)
        grown[name][:n] = old
    return voters._replace(**grown)


@compiled
def _voted(stream, begin, update, most, iterate, voters):
    """Run from round ``begin`` on; return the first round not run, for want of room, and -1.

    The second number is a row with a score that is not finite, if there is one.
    """
    rows, ranks, order, counts, guesses = stream
    w, b, survived, W, B, voter_counts = voters
    wanted = guesses.shape[0] > 0
    n, votes = 0, survived[0]
    while n < W.shape[0] and voter_counts[n, 0] > 0:
        votes += voter_counts[n, 0]
        n += 1
    weakest = -1
    for t in range(begin, ranks.shape[0]):
        if n == W.shape[0] and n < most:
            return t, -1
        i = order[t] if order.shape[0] > 0 else t
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return t, i
        rank = ranks[i]
        guess = rank_of(score, b)
        if wanted:
            total = survived[0] * guess
            for m in range(n):
                vote = dot(rows, i, W[m])
                if not np.isfinite(vote):
                    return t, i
                total += voter_counts[m, 0] * rank_of(vote, B[m])
            guesses[t] = mean_rank(total, votes, guess)
        counts[0] += 1
        if guess == rank:
            survived[0] += 1
            votes += 1
        else:
            counts[1] += 1
            counts[2] += abs(guess - rank)
        if is_satisfied(update, score, rank, guess, b):
            continue
        if survived[0] > 0:
            place = n
            if n < most:
                n += 1
                weakest = -1
            else:
                if weakest < 0:
                    weakest = _weakest(voter_counts, n)
                place = weakest
                if n == 0 or survived[0] < voter_counts[place, 0]:
                    place = -1
                    votes -= survived[0]
                else:
                    votes -= voter_counts[place, 0]
                    weakest = -1
            if place >= 0:
                for j in range(w.shape[0]):
                    W[place, j] = w[j]
                for r in range(b.shape[0]):
                    B[place, r] = b[r]
                voter_counts[place, 0], voter_counts[place, 1] = survived[0], counts[0]
            survived[0] = 0
        take_step(update, rows, i, score, rank, iterate, counts[0])
        end_update(rows, iterate.W, W)
    return ranks.shape[0], -1


@compiled
def _weakest(voter_counts, n):
    """Return the voter with the fewest votes, of equal ones the oldest; -1 without voters."""
    found = -1
    for m in range(n):
        if found < 0:
            found = m
            continue
        fewer = voter_counts[m, 0] < voter_counts[found, 0]
        alike = voter_counts[m, 0] == voter_counts[found, 0]
        if fewer or (alike and voter_counts[m, 1] < voter_counts[found, 1]):
            found = m
    return found
