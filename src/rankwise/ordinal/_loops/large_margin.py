"""PRank with large-margin steps. Twins: `tests.reference.pa_prank` and ``romma_prank``."""

from typing import Any

import numpy as np

from rankwise._core._loops.rows import (
    axpy,
    check_stream,
    direction_square,
    dot,
    end_update,
    rank_of,
    record_step,
    row_square,
)
from rankwise._core.compilation import compiled
from rankwise.ordinal._loops.prank import as_iterate, average

PERCEPTRON, PA, ROMMA = 0, 1, 2
UPDATES = {"perceptron": PERCEPTRON, "pa": PA, "romma": ROMMA}
# ROMMA's constraints contradict each other if their area is this small beside its largest value.
FLAT = 1e-12
# ROMMA's (w, b) grows. Past this squared length it is scaled by a power of two, which is exact.
LARGE, SMALLER = 2.0**200, 2.0**-50


@compiled
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


@compiled
def is_satisfied(update, score, rank, guess, b):
    """Return whether the round asks for no change of (w, b); b is (k-1,)."""
    if update != PA:
        return guess == rank
    return (rank == 0 or score - b[rank - 1] >= 1.0) and (
        rank == b.shape[0] or b[rank] - score >= 1.0
    )


@compiled
def take_step(update, rows, i, score, rank, iterate, rounds):
    """Change (w, b) for row i, and the sums of the steps times ``rounds`` if means are wanted."""
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


@compiled
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


@compiled
def _scale(array, factor):
    for j in range(array.shape[0]):
        array[j] *= factor


@compiled
def mean_thresholds(b, b_late, rounds, out):
    """Fill ``out`` with the mean thresholds, kept in order where rounding would swap two."""
    average(b, b_late, rounds, out)
    for r in range(1, out.shape[0]):
        out[r] = max(out[r], out[r - 1])


def margin(stream: Any, update: int, w: Any, b: Any, w_late: Any, b_late: Any) -> int:
    """Run PRank with steps of PERCEPTRON, PA or ROMMA; the rest is as in `prank`."""
    iterate = as_iterate(stream.rows, w, b, w_late, b_late)
    check_stream(stream, len(b) + 1)
    return _margin(stream, update, iterate)


@compiled
def _margin(stream, update, iterate):
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
