"""The passes of PRank with any update, last, averaged or voted. `UPDATES` declares the updates.

The reference implementations are in `tests.reference`. A voter is a hypothesis that was replaced
after it had ranked at least one round rightly: the others have no vote.

Every pass begins with the same parameters: the rows; their ranks from 0, (m,) int64; the row of
each round, (m,) int64, or empty if rows are taken as they come; the rounds, mistakes and rank loss
so far, (3,) int64; and an array of m int64 that is filled with the rank predicted in each round,
before the update, or empty. Arrays that are learned are updated in place: a direction W, (1, d),
thresholds b, (k-1,), and W_late and b_late, the sums of their steps, each times its round, for
`average`; b_late is empty if means are not needed. ``memory``, (size,), is what the update keeps
between rounds. A pass returns -1, or a row whose score is not finite.
"""

from typing import NamedTuple

import numpy as np

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


class Update(NamedTuple):
    """The properties of an update that models, tests and documents need.

    Attributes
    ----------
    code : int
        Its number in the loops.
    fixed_steps : bool
        Whether thresholds move by 1 whatever the length of the rows, so that rows of an unusual
        length deserve a warning.
    needs_length : bool
        Whether the step reads the length of the direction (`direction_square`). A kernel in the
        dual keeps that of a single direction, not those of the members of OAPRank.
    scale_free : bool
        Whether the length of (w, b) means nothing, so that the members of OAPRank are scaled to
        length 1 before they are averaged.
    memory : int
        How many numbers it keeps between rounds, 0 before the first.
    """

    code: int
    fixed_steps: bool
    needs_length: bool
    scale_free: bool
    memory: int


UPDATES = {
    "perceptron": Update(
        PERCEPTRON, fixed_steps=True, needs_length=False, scale_free=False, memory=0
    ),
    "pa": Update(PA, fixed_steps=False, needs_length=False, scale_free=False, memory=0),
    "romma": Update(ROMMA, fixed_steps=False, needs_length=True, scale_free=True, memory=0),
}
# ROMMA's constraints contradict each other if their area is this small beside its largest value.
FLAT = 1e-12
# ROMMA's (w, b) grows. Past this squared length it is scaled by a power of two, which is exact.
LARGE, SMALLER = 2.0**200, 2.0**-50
# Rows that `member_ranks` takes together, so that each member is read from memory once for them.
TOGETHER = 16


@compiled(inner=True)
def average(last, late, rounds, out):
    """Fill ``out`` with the mean of the iterates held while predicting ``rounds`` rounds.

    All arrays are (n,). A step d taken after round t is part of the iterates of rounds t+1..T, so
    their mean is ``last - late/T`` with ``late`` the sum of t*d. Written with one division, which
    keeps the integer-valued thresholds in order: equal numerators give equal results.
    """
    for j in range(out.shape[0]):
        out[j] = (last[j] * rounds - late[j]) / rounds


@compiled(inner=True)
def nearest_score(score, square, rank, b):
    """Return the score after the smallest change of (w, b) with a margin of 1 at each threshold.

    ``square`` is the squared length of the row and b is (k-1,). The root of an increasing,
    piecewise linear function. It has a kink at each ``b[r] + 1`` below the true rank, where that
    threshold stops pulling upwards, and at each ``b[r] - 1`` from it on, where that threshold
    starts pulling downwards. Both kinds are in order: one walk over the kinks finds the piece.
    """
    low, high, total = 0, rank, 0.0
    for r in range(rank):
        total += b[r] + 1.0
    while True:
        found = (score + square * total) / (1.0 + square * (high - low))
        leave = b[low] + 1.0 if low < rank else np.inf
        enter = b[high] - 1.0 if high < b.shape[0] else np.inf
        if not (found > leave or found > enter):
            return found
        if leave <= enter:
            total -= leave
            low += 1
        else:
            total += enter
            high += 1


@compiled(inner=True)
def is_satisfied(update, rows, i, score, rank, guess, b, memory):
    """Return whether row i asks for no change of (w, b); b is (k-1,)."""
    if update != PA:
        return guess == rank
    return (rank == 0 or score - b[rank - 1] >= 1.0) and (
        rank == b.shape[0] or b[rank] - score >= 1.0
    )


@compiled(inner=True)
def take_step(update, rows, i, score, rank, w, b, w_late, b_late, rounds, memory):
    """Change (w, b) for row i, and the sums of the steps times ``rounds`` if means are needed."""
    averaged = b_late.shape[0] > 0
    keep, step, total = 1.0, 1.0, 0.0
    if update == ROMMA:
        score, keep, step = _relax(rows, i, score, rank, w, b, w_late, b_late)
    new = np.empty(b.shape[0])
    if update == PA:
        goal = nearest_score(score, row_square(rows, i), rank, b)
        for r in range(b.shape[0]):
            new[r] = min(b[r], goal - 1.0) if r < rank else max(b[r], goal + 1.0)
            total += b[r] - new[r]
    else:
        for r in range(b.shape[0]):
            side = 1.0 if rank > r else -1.0
            wrong = side if (score - b[r]) * side <= 0.0 else 0.0
            total += wrong
            new[r] = b[r] * keep - step * wrong
        for r in range(rank - 2, -1, -1):
            new[r] = min(new[r], new[r + 1])
        for r in range(rank + 1, b.shape[0]):
            new[r] = max(new[r], new[r - 1])
        total *= step
    for r in range(b.shape[0]):
        if averaged:
            b_late[r] += (new[r] - b[r]) * rounds
        b[r] = new[r]
    if keep != 1.0:
        for j in range(w.shape[0]):
            if averaged:
                w_late[j] += (keep - 1.0) * w[j] * rounds
            w[j] *= keep
    record_step(rows, i, keep, score, total)
    axpy(total, rows, i, w)
    if averaged:
        axpy(total * rounds, rows, i, w_late)


@compiled(inner=True)
def _relax(rows, i, score, rank, w, b, w_late, b_late):
    """Return the score and the factors of (w, b) and of the perceptron's step in ROMMA's."""
    square = direction_square(rows, w)
    for r in range(b.shape[0]):
        square += b[r] * b[r]
    if square > LARGE:
        for array in (w, b, w_late, b_late):
            for j in range(array.shape[0]):
                array[j] *= SMALLER
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


@compiled
def prank(rows, ranks, order, counts, guesses, W, b, W_late, b_late):
    """Run PRank over a stream."""
    w, w_late, averaged = W[0], W_late[0], b_late.shape[0] > 0
    w_mean, b_mean = np.empty(w_late.shape[0]), np.empty(b_late.shape[0])
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i
        rank = ranks[i]
        guess = rank_of(score, b)
        if guesses.shape[0] > 0:
            guesses[n] = guess
            if averaged and rounds > 0:
                # of rows taken here, which LLVM vectorises: 1.5x
                average(W[0], W_late[0], rounds, w_mean)
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
def margin(rows, ranks, order, counts, guesses, update, W, b, W_late, b_late, memory):
    """Run PRank with any update, given by its code."""
    w, w_late = W[0], W_late[0]
    w_mean, b_mean = np.empty(w_late.shape[0]), np.empty(b_late.shape[0])
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i
        rank = ranks[i]
        guess = rank_of(score, b)
        if guesses.shape[0] > 0:
            guesses[n] = guess
            if b_late.shape[0] > 0 and counts[0] > 0:
                average(w, w_late, counts[0], w_mean)
                average(b, b_late, counts[0], b_mean)
                # Rounding may swap two thresholds.
                for r in range(1, b_mean.shape[0]):
                    b_mean[r] = max(b_mean[r], b_mean[r - 1])
                guesses[n] = rank_of(dot(rows, i, w_mean), b_mean)
        counts[0] += 1
        counts[1] += guess != rank
        counts[2] += abs(guess - rank)
        if not is_satisfied(update, rows, i, score, rank, guess, b, memory):
            take_step(update, rows, i, score, rank, w, b, w_late, b_late, counts[0], memory)
            end_update(rows, W, W_late)
    return -1


@compiled
def voted(
    rows,
    ranks,
    order,
    counts,
    guesses,
    begin,
    update,
    most,
    none,
    memory,
    w,
    b,
    survived,
    W,
    B,
    won,
):
    """Run PRank over a stream and keep its hypotheses; the guesses are those of the voters.

    Parameters
    ----------
    rows, ranks, order, counts, guesses
        As in all passes.
    begin : int
        The first round to run.
    update : int
        The code of the update.
    most : int
        The number of hypotheses to keep besides the current one.
    none : (0,)
        In place of what means would need.
    memory : (size,)
        What the update keeps between rounds.
    w, b : (1, d) and (k-1,)
        The current direction and thresholds.
    survived : (1,) int64
        The rounds that they ranked rightly.
    W, B : (n, d) and (n, k-1)
        The directions and thresholds that were kept. The arrays may end with rows for others.
    won : (n, 2) int64
        For each, the rounds that it ranked rightly, at least 1, and the round that ended it; 0 for
        rows that are free.

    Returns
    -------
    int
        The first round not run, since the voters' arrays were full; all were run: their number.
    int
        -1, or a row with a score that is not finite.
    """
    n, votes = 0, survived[0]
    while n < W.shape[0] and won[n, 0] > 0:
        votes += won[n, 0]
        n += 1
    for t in range(begin, ranks.shape[0]):
        if n == W.shape[0] and n < most:
            return t, -1
        i = order[t] if order.shape[0] > 0 else t
        score = dot(rows, i, w[0])
        if not np.isfinite(score):
            return t, i
        rank = ranks[i]
        guess = rank_of(score, b)
        if guesses.shape[0] > 0:
            total = survived[0] * guess
            for m in range(n):
                vote = dot(rows, i, W[m])
                if not np.isfinite(vote):
                    return t, i
                total += won[m, 0] * rank_of(vote, B[m])
            # to the nearest rank, halves upwards
            guesses[t] = (2 * total + votes) // (2 * votes) if votes > 0 else guess
        counts[0] += 1
        if guess == rank:
            survived[0] += 1
            votes += 1
        else:
            counts[1] += 1
            counts[2] += abs(guess - rank)
        if is_satisfied(update, rows, i, score, rank, guess, b, memory):
            continue
        if survived[0] > 0:
            place = n if n < most else _weakest(won)
            if place < most and survived[0] >= won[place, 0]:
                votes -= won[place, 0]
                n = max(n, place + 1)
                for j in range(W.shape[1]):
                    W[place, j] = w[0, j]
                for r in range(b.shape[0]):
                    B[place, r] = b[r]
                won[place, 0], won[place, 1] = survived[0], counts[0]
            else:
                votes -= survived[0]
            survived[0] = 0
        take_step(update, rows, i, score, rank, w[0], b, none, none, counts[0], memory)
        end_update(rows, w, W)
    return ranks.shape[0], -1


@compiled(inner=True)
def _weakest(won):
    """Return the voter with the fewest votes, of equal ones the oldest."""
    found = 0
    for m in range(1, won.shape[0]):
        fewer = won[m, 0] < won[found, 0]
        if fewer or (won[m, 0] == won[found, 0] and won[m, 1] < won[found, 1]):
            found = m
    return found


@compiled
def member_ranks(rows, W, B, out):
    """Fill ``out[i, m]`` with the rank that member m gives row i, or -1 if its score is not finite.

    W is (n, d), B (n, k-1) and ``out`` (rows, n) int64.
    """
    for start in range(0, out.shape[0], TOGETHER):
        for m in range(out.shape[1]):
            for i in range(start, min(start + TOGETHER, out.shape[0])):
                score = dot(rows, i, W[m])
                out[i, m] = rank_of(score, B[m]) if np.isfinite(score) else -1
