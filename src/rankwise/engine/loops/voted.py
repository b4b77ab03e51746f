"""PRank with all its hypotheses kept to vote. Twin: `rankwise.testing.oracles.voted_prank`.

A voter is a hypothesis that was replaced after it had ranked at least one round rightly: the others
have no vote. ``lives`` has a row a voter: the rounds that it ranked rightly, and the round that
ended it.
"""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.margin import content, move
from rankwise.engine.loops.prefetch import ask_ahead
from rankwise.engine.loops.rows import dot, rank_of, settle
from rankwise.engine.loops.shapes import (
    check_records,
    check_shape,
    check_stream,
    row_count,
    row_width,
)

TOGETHER = 16


@compiled
def mean_rank(total, votes, otherwise):
    """Return total / votes to the nearest whole number, halves upwards; without votes, the last."""
    return (2 * total + votes) // (2 * votes) if votes > 0 else otherwise


def _check_voters(rows, w, b, survived, W, B, lives, *, learning):
    width = row_width(rows, learning=learning)
    check_shape("b", b, None)
    check_shape("w", w, width)
    check_shape("survived", survived, 1, kind=np.int64)
    check_shape("lives", lives, None, 2, kind=np.int64)
    check_shape("W", W, len(lives), width)
    check_shape("B", B, len(lives), len(b))


def elect(rows, w, b, survived, W, B, lives, out):
    """Fill ``out`` with the ranks that the voters and the current (w, b) elect for the rows.

    Some rows are taken together, so that the voters are read from memory once for all of them.

    Returns
    -------
    int
        -1, or a row with a score that is not finite.
    """
    _check_voters(rows, w, b, survived, W, B, lives, learning=False)
    check_shape("out", out, row_count(rows), kind=np.int64)
    return _elect(rows, w, b, survived, W, B, lives, out)


@compiled
def _elect(rows, w, b, survived, W, B, lives, out):
    votes = survived[0] + lives[:, 0].sum()
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
                total[i - start] += lives[m, 0] * rank_of(score, B[m])
        for i in range(start, stop):
            out[i] = mean_rank(total[i - start], votes, out[i])
    return -1


@compiled
def _weakest(lives, n):
    """Return the voter with the fewest votes, of equal ones the oldest."""
    found = 0
    for m in range(1, n):
        fewer = lives[m, 0] < lives[found, 0]
        if fewer or (lives[m, 0] == lives[found, 0] and lives[m, 1] < lives[found, 1]):
            found = m
    return found


@compiled
def _larger(array, n):
    grown = np.zeros((n, array.shape[1]), dtype=array.dtype)
    grown[: array.shape[0]] = array
    return grown


def voted(rows, ranks, order, update, w, b, survived, W, B, lives, most, counts, guesses):
    """Run PRank over rows in ``order`` (None: as they come) and keep its hypotheses.

    Parameters
    ----------
    rows, ranks, order : the stream; ranks from 0
    update : the steps, of `rankwise.engine.loops.margin`
    w, b : direction (d,) and thresholds (k-1,), updated in place
    survived : rounds that they ranked rightly, updated in place
    W, B, lives : directions (n, d), thresholds (n, k-1) and lives (n, 2) of the voters, which may
        end with room for others, all 0
    most : how many voters to keep
    counts : rounds, mistakes and rank loss so far, updated in place
    guesses : filled with the ranks elected before each update; empty: not wanted

    Returns
    -------
    bad : int
        -1, or a row with a score that is not finite.
    W, B, lives
        The arrays, with more room if it was needed.
    """
    voters = w, b, survived, W, B, lives
    _check_voters(rows, *voters, learning=True)
    check_stream(rows, ranks, order, len(b) + 1)
    check_records(rows, counts, guesses)
    return _voted(rows, ranks, order, update, *voters, most, counts, guesses)


@compiled
def _voted(rows, ranks, order, update, w, b, survived, W, B, lives, most, counts, guesses):
    wanted = guesses.shape[0] > 0
    n = int(np.count_nonzero(lives[:, 0]))
    votes = survived[0] + lives[:, 0].sum()
    weakest = -1
    none = np.empty(0)
    rounds, mistakes, loss = counts
    for t in range(ranks.shape[0]):
        i = t if order is None else order[t]
        ask_ahead(rows, i)
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i, W, B, lives
        rank = ranks[i]
        guess = rank_of(score, b)
        if wanted:
            total = survived[0] * guess
            for m in range(n):
                said = dot(rows, i, W[m])
                if not np.isfinite(said):
                    return i, W, B, lives
                total += lives[m, 0] * rank_of(said, B[m])
            guesses[t] = mean_rank(total, votes, guess)
        rounds += 1
        if guess == rank:
            survived[0] += 1
            votes += 1
        mistakes += guess != rank
        loss += abs(guess - rank)
        if content(update, score, rank, guess, b):
            continue
        if survived[0] > 0:
            place = n
            if n < most:
                if n == W.shape[0]:
                    room = min(2 * n + 8, most)
                    W, B, lives = _larger(W, room), _larger(B, room), _larger(lives, room)
                n += 1
                weakest = -1
            else:
                if weakest < 0 and n > 0:
                    weakest = _weakest(lives, n)
                place = weakest
                if n == 0 or survived[0] < lives[place, 0]:
                    place = -1
                    votes -= survived[0]
                else:
                    votes -= lives[place, 0]
                    weakest = -1
            if place >= 0:
                W[place], B[place] = w, b
                lives[place, 0], lives[place, 1] = survived[0], rounds
            survived[0] = 0
        move(update, rows, i, score, rank, w, b, none, none, rounds)
        settle(rows, (w.reshape(1, -1), W[:n]))
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1, W, B, lives
