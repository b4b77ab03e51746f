"""The passes of PRank: perceptron, passive-aggressive and ROMMA steps, last, averaged or voted.

The reference implementations are in `tests.reference`. A voter is a hypothesis that was replaced
after it had ranked at least one round rightly: the others have no vote.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.rows import (
    axpy,
    direction_square,
    dot,
    end_update,
    rank_of,
    record_step,
    row_square,
)
from rankwise._core.compilation import compiled

PERCEPTRON, PA, ROMMA = 0, 1, 2
UPDATES = {"perceptron": PERCEPTRON, "pa": PA, "romma": ROMMA}
# ROMMA's constraints contradict each other if their area is this small beside its largest value.
FLAT = 1e-12
# ROMMA's (w, b) grows. Past this squared length it is scaled by a power of two, which is exact.
LARGE, SMALLER = 2.0**200, 2.0**-50
# Rows that `elect` takes together, so that each voter is read from memory once for all of them.
TOGETHER = 16


class Iterate(NamedTuple):
    """A direction and thresholds, and what their means need; updated in place.

    Attributes
    ----------
    w, b : (d,) and (k-1,)
        The direction and the thresholds.
    w_late, b_late : (d,) and (k-1,)
        The sums of their steps, each times its round, for `average`; empty if means are not needed.
    W, W_late : (1, d)
        The directions again, as matrices of one row, for `end_update`.
    """

    w: np.ndarray
    b: np.ndarray
    w_late: np.ndarray
    b_late: np.ndarray
    W: np.ndarray
    W_late: np.ndarray


class Voters(NamedTuple):
    """The current hypothesis and those that were kept.

    Attributes
    ----------
    w, b : (d,) and (k-1,)
        The current direction and thresholds.
    survived : (1,) int64
        The rounds that they ranked rightly.
    W, B : (n, d) and (n, k-1)
        The directions and thresholds that were kept. The arrays may end with rows for others.
    voter_counts : (n, 2) int64
        For each, the rounds that it ranked rightly, at least 1, and the round that ended it; 0 for
        rows that are free.
    """

    w: NDArray[np.float64]
    b: NDArray[np.float64]
    survived: NDArray[np.int64]
    W: NDArray[np.float64]
    B: NDArray[np.float64]
    voter_counts: NDArray[np.int64]


@compiled(inner=True)
def average(last, late, rounds, out):
    """Fill ``out`` with the mean of the iterates held while predicting ``rounds`` rounds.

    All arrays are (n,). A step d taken after round t is part of the iterates of rounds t+1..T, so
    their mean is ``last - late/T`` with ``late`` the sum of t*d. Written with one division, which
    keeps the integer-valued thresholds in order: equal numerators give equal results.
    """
    for j in range(last.shape[0]):
        out[j] = (last[j] * rounds - late[j]) / rounds


@compiled(inner=True)
def nearest_score(score, square, rank, b):
    """Return the score after the smallest change of (w, b) with a margin of 1 at each threshold.

    ``square`` is the squared length of the row and b is (k-1,). The root of an increasing,
    piecewise linear function. It has a kink at each ``b[r] + 1`` below the true rank, where that
    threshold stops pulling upwards, and at each ``b[r] - 1`` from it on, where that threshold
    starts pulling downwards. Both kinds are in order: one walk over the kinks finds the piece.
    """
    cuts = b.shape[0]
    low, high = 0, rank
    total = 0.0
    for r in range(rank):
        total += b[r] + 1.0
    while True:
        found = (score + square * total) / (1.0 + square * (high - low))
        leave = b[low] + 1.0 if low < rank else np.inf
        enter = b[high] - 1.0 if high < cuts else np.inf
        if not (found > leave or found > enter):
            return found
        if leave <= enter:
            total -= leave
            low += 1
        else:
            total += enter
            high += 1


@compiled(inner=True)
def is_satisfied(update, score, rank, guess, b):
    """Return whether the round asks for no change of (w, b); b is (k-1,)."""
    if update != PA:
        return guess == rank
    return (rank == 0 or score - b[rank - 1] >= 1.0) and (
        rank == b.shape[0] or b[rank] - score >= 1.0
    )


@compiled(inner=True)
def take_step(update, rows, i, score, rank, iterate, rounds):
    """Change (w, b) for row i, and the sums of the steps times ``rounds`` if means are needed."""
    w, b, w_late, b_late, _, _ = iterate
    averaged = b_late.shape[0] > 0
    keep, step, total = 1.0, 1.0, 0.0
    if update == PA:
        goal = nearest_score(score, row_square(rows, i), rank, b)
        for r in range(b.shape[0]):
            new = min(b[r], goal - 1.0) if r < rank else max(b[r], goal + 1.0)
            total += b[r] - new
            if averaged:
                b_late[r] += (new - b[r]) * rounds
            b[r] = new
    else:
        if update == ROMMA:
            score, keep, step = _relax(rows, i, score, rank, iterate)
        before = np.empty(b_late.shape[0])
        for r in range(b_late.shape[0]):
            before[r] = b[r]
        for r in range(b.shape[0]):
            side = 1.0 if rank > r else -1.0
            wrong = (score - b[r]) * side <= 0.0
            b[r] *= keep
            if wrong:
                total += side
                b[r] -= step * side
        for r in range(rank - 2, -1, -1):
            b[r] = min(b[r], b[r + 1])
        for r in range(rank + 1, b.shape[0]):
            b[r] = max(b[r], b[r - 1])
        for r in range(b_late.shape[0]):
            b_late[r] += (b[r] - before[r]) * rounds
        if keep != 1.0:
            if averaged:
                for j in range(w.shape[0]):
                    w_late[j] += (keep - 1.0) * w[j] * rounds
            for j in range(w.shape[0]):
                w[j] *= keep
        total *= step
    record_step(rows, i, keep, score, total)
    axpy(total, rows, i, w)
    if averaged:
        axpy(total * rounds, rows, i, w_late)


@compiled(inner=True)
def _relax(rows, i, score, rank, iterate):
    """Return the score and the factors of (w, b) and of the perceptron's step in ROMMA's."""
    b = iterate.b
    square = direction_square(rows, iterate.w)
    for r in range(b.shape[0]):
        square += b[r] * b[r]
    if square > LARGE:
        _scale(iterate.w, SMALLER)
        _scale(b, SMALLER)
        _scale(iterate.w_late, SMALLER)
        _scale(iterate.b_late, SMALLER)
        record_step(rows, i, SMALLER, score, 0.0)
        score *= SMALLER
        square *= SMALLER * SMALLER
    wrong, total, along = 0.0, 0.0, 0.0
    for r in range(b.shape[0]):
        side = 1.0 if rank > r else -1.0
        if (score - b[r]) * side <= 0.0:
            wrong += 1.0
            total += side
            along += side * (score - b[r])
    row = total * total * row_square(rows, i) + wrong
    area = row * square - along * along
    if not area > FLAT * row * square:
        return score, 0.0, wrong / row
    return score, (row * square - wrong * along) / area, square * (wrong - along) / area


@compiled(inner=True)
def _scale(array, factor):
    for j in range(array.shape[0]):
        array[j] *= factor


@compiled(inner=True)
def mean_thresholds(b, b_late, rounds, out):
    """Fill ``out`` with the mean thresholds, kept in order where rounding would swap two."""
    average(b, b_late, rounds, out)
    for r in range(1, out.shape[0]):
        out[r] = max(out[r], out[r - 1])


@compiled(inner=True)
def mean_rank(total, votes, otherwise):
    """Return total / votes to the nearest whole number, halves upwards; without votes, the last."""
    return (2 * total + votes) // (2 * votes) if votes > 0 else otherwise


@compiled
def prank(stream, iterate):
    """Run PRank over a stream, updating the iterate in place.

    Returns
    -------
    int
        -1, or the row whose score is not finite.
    """
    rows, ranks, order, counts, guesses = stream
    w, b, w_late, b_late, W, W_late = iterate
    averaged = b_late.shape[0] > 0
    wanted = guesses.shape[0] > 0
    w_mean = np.empty(w_late.shape[0])
    b_mean = np.empty(b_late.shape[0])
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i
        rank = ranks[i]
        guess = rank_of(score, b)
        if wanted:
            guesses[n] = guess
            if averaged and rounds > 0:
                average(w, w_late, rounds, w_mean)
                average(b, b_late, rounds, b_mean)
                guesses[n] = rank_of(dot(rows, i, w_mean), b_mean)
        rounds += 1
        if guess != rank:
            mistakes += 1
            loss += abs(guess - rank)
            total = 0.0
            for r in range(b.shape[0]):
                side = 1.0 if rank > r else -1.0
                if (score - b[r]) * side <= 0.0:
                    total += side
                    b[r] -= side
                    if averaged:
                        b_late[r] -= side * rounds
            record_step(rows, i, 1.0, score, total)
            axpy(total, rows, i, w)
            if averaged:
                axpy(total * rounds, rows, i, w_late)
            end_update(rows, W, W_late)
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1


@compiled
def margin(stream, update, iterate):
    """Run PRank with steps of PERCEPTRON, PA or ROMMA; the rest is as in `prank`."""
    rows, ranks, order, counts, guesses = stream
    w, b, w_late, b_late, W, W_late = iterate
    averaged = b_late.shape[0] > 0
    wanted = guesses.shape[0] > 0
    w_mean = np.empty(w_late.shape[0])
    b_mean = np.empty(b_late.shape[0])
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i
        rank = ranks[i]
        guess = rank_of(score, b)
        if wanted:
            guesses[n] = guess
            if averaged and rounds > 0:
                average(w, w_late, rounds, w_mean)
                mean_thresholds(b, b_late, rounds, b_mean)
                guesses[n] = rank_of(dot(rows, i, w_mean), b_mean)
        rounds += 1
        mistakes += guess != rank
        loss += abs(guess - rank)
        if not is_satisfied(update, score, rank, guess, b):
            take_step(update, rows, i, score, rank, iterate, rounds)
            end_update(rows, W, W_late)
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1


@compiled
def elect(rows, voters, out):
    """Fill ``out``, (m,) int64, with the ranks that the voters elect for the rows.

    Returns
    -------
    int
        -1, or a row with a score that is not finite.
    """
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


@compiled
def voted(stream, begin, update, most, iterate, voters):
    """Run PRank over a stream and keep its hypotheses, updating all arrays in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks; its guesses are those of the voters.
    begin : int
        The first round to run.
    update : int
        The steps: PERCEPTRON, PA or ROMMA.
    most : int
        How many hypotheses to keep beside the current one.
    iterate : Iterate
        The arrays w and b of the voters, without means.
    voters : Voters
        What was learned so far.

    Returns
    -------
    int
        The first round not run, since the voters' arrays were full; all were run: their number.
    int
        -1, or a row with a score that is not finite.
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


@compiled(inner=True)
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
