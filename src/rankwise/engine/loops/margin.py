"""PRank with large-margin steps. Twins: `rankwise.testing.oracles.pa_prank` and ``romma_prank``."""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.prank import average, check_iterates
from rankwise.engine.loops.prefetch import ask_ahead
from rankwise.engine.loops.rows import (
    axpy,
    dot,
    held_length,
    lengthen,
    rank_of,
    settle,
    square,
)
from rankwise.engine.loops.shapes import check_records, check_stream

PERCEPTRON, PA, ROMMA = 0, 1, 2
FLAT = 1e-12
LARGE, SMALLER = 2.0**200, 2.0**-50


@compiled
def nearest_score(score, length, rank, b):
    """Return the score after the smallest change of (w, b) with a margin of 1 at each threshold.

    The root of an increasing, piecewise linear function. It has a kink at each ``b[r] + 1`` below
    the true rank, where that threshold stops pulling upwards, and at each ``b[r] - 1`` from it on,
    where that threshold starts pulling downwards. Both kinds are in order: one walk over the kinks
    finds the piece.
    """
    cuts = b.shape[0]
    low, high = 0, rank
    total = 0.0
    for r in range(rank):
        total += b[r] + 1.0
    while True:
        found = (score + length * total) / (1.0 + length * (high - low))
        leave = b[low] + 1.0 if low < rank else np.inf
        enter = b[high] - 1.0 if high < cuts else np.inf
        if not found > min(leave, enter):
            return found
        if leave <= enter:
            total -= leave
            low += 1
        else:
            total += enter
            high += 1


@compiled
def content(update, score, rank, guess, b):
    """Return whether the round asks for no change."""
    if update != PA:
        return guess == rank
    return (rank == 0 or score - b[rank - 1] >= 1.0) and (
        rank == b.shape[0] or b[rank] - score >= 1.0
    )


@compiled
def move(update, rows, i, score, rank, w, b, w_late, b_late, rounds):
    """Change (w, b), and the sums of the steps times ``rounds`` unless these are empty."""
    averaged = b_late.shape[0] > 0
    keep, step, total = 1.0, 1.0, 0.0
    if update == PA:
        goal = nearest_score(score, square(rows, i), rank, b)
        for r in range(b.shape[0]):
            new = min(b[r], goal - 1.0) if r < rank else max(b[r], goal + 1.0)
            total += b[r] - new
            if averaged:
                b_late[r] += (new - b[r]) * rounds
            b[r] = new
    else:
        if update == ROMMA:
            score, keep, step = _relax(rows, i, score, rank, w, b, w_late, b_late)
        before = b.copy() if averaged else b
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
        if averaged:
            for r in range(b.shape[0]):
                b_late[r] += (b[r] - before[r]) * rounds
        if keep != 1.0:
            if averaged:
                for j in range(w.shape[0]):
                    w_late[j] += (keep - 1.0) * w[j] * rounds
            for j in range(w.shape[0]):
                w[j] *= keep
        total *= step
    lengthen(rows, i, keep, score, total)
    axpy(total, rows, i, w)
    if averaged:
        axpy(total * rounds, rows, i, w_late)


@compiled
def _relax(rows, i, score, rank, w, b, w_late, b_late):
    """Return the score and the factors of (w, b) and of the perceptron's step in ROMMA's."""
    held = held_length(rows, w)
    for r in range(b.shape[0]):
        held += b[r] * b[r]
    if held > LARGE:
        w *= SMALLER
        b *= SMALLER
        w_late *= SMALLER
        b_late *= SMALLER
        lengthen(rows, i, SMALLER, score, 0.0)
        score *= SMALLER
        held *= SMALLER * SMALLER
    wrong, total, along = 0.0, 0.0, 0.0
    for r in range(b.shape[0]):
        side = 1.0 if rank > r else -1.0
        if (score - b[r]) * side <= 0.0:
            wrong += 1.0
            total += side
            along += side * (score - b[r])
    length = total * total * square(rows, i) + wrong
    area = length * held - along * along
    if not area > FLAT * length * held:
        return score, 0.0, wrong / length
    return score, (length * held - wrong * along) / area, held * (wrong - along) / area


@compiled
def mean_thresholds(b, b_late, rounds, out):
    """Fill ``out`` with the mean thresholds, kept in order where rounding would swap two."""
    average(b, b_late, rounds, out)
    for r in range(1, out.shape[0]):
        out[r] = max(out[r], out[r - 1])


def margin(rows, ranks, order, update, w, b, w_late, b_late, counts, guesses):
    """Run PRank with the steps of ``update`` over rows in ``order``; see `prank`."""
    check_iterates(rows, w, b, w_late, b_late)
    check_stream(rows, ranks, order, len(b) + 1)
    check_records(rows, counts, guesses)
    return _margin(rows, ranks, order, update, w, b, w_late, b_late, counts, guesses)


@compiled
def _margin(rows, ranks, order, update, w, b, w_late, b_late, counts, guesses):
    averaged = b_late.shape[0] > 0
    wanted = guesses.shape[0] > 0
    w_mean = np.empty_like(w_late)
    b_mean = np.empty_like(b_late)
    held = (w.reshape(1, -1), w_late.reshape(1, -1))
    rounds, mistakes, loss = counts
    for n in range(ranks.shape[0]):
        i = n if order is None else order[n]
        ask_ahead(rows, i)
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
        if not content(update, score, rank, guess, b):
            move(update, rows, i, score, rank, w, b, w_late, b_late, rounds)
            settle(rows, held)
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1
