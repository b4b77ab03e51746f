"""The PRank pass, last and averaged iterate. Twin: `rankwise.testing.oracles.prank`."""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.prefetch import ask_ahead
from rankwise.engine.loops.rows import axpy, dot, lengthen, rank_of, settle
from rankwise.engine.loops.shapes import (
    check_records,
    check_shape,
    check_stream,
    is_faced,
    row_width,
)


@compiled
def average(last, late, rounds, out):
    """Fill ``out`` with the mean of the iterates held while predicting ``rounds`` rounds.

    A step d taken after round t is part of the iterates of rounds t+1..T, so their mean is
    ``last - late/T`` with ``late`` the sum of t*d. Written with one division, which keeps the
    integer-valued thresholds in order: the division of equal numerators gives equal results.
    """
    for j in range(last.shape[0]):
        out[j] = (last[j] * rounds - late[j]) / rounds


def check_iterates(rows, w, b, w_late, b_late):
    """Refuse directions and thresholds that don't fit the rows or each other."""
    width = row_width(rows, learning=True)
    check_shape("b", b, None)
    check_shape("w", w, width)
    averaged = len(b_late) > 0
    check_shape("b_late", b_late, len(b) if averaged else 0)
    # a row that is let go leaves all directions, the empty one too
    check_shape("w_late", w_late, width if averaged or is_faced(rows) else 0)


def prank(rows, ranks, order, w, b, w_late, b_late, counts, guesses):
    """Run PRank over rows in ``order`` (None: as they come), updating all arrays in place.

    Parameters
    ----------
    rows, ranks, order : the stream; ranks from 0
    w, b : direction (d,) and thresholds (k-1,)
    w_late, b_late : round-weighted sums of the steps, for `average`; empty: not kept
    counts : rounds, mistakes and rank loss so far
    guesses : filled with the ranks predicted before each update; empty: not wanted

    Returns
    -------
    int
        -1, or the row whose score is not finite.
    """
    check_iterates(rows, w, b, w_late, b_late)
    check_stream(rows, ranks, order, len(b) + 1)
    check_records(rows, counts, guesses)
    return _prank(rows, ranks, order, w, b, w_late, b_late, counts, guesses)


@compiled
def _prank(rows, ranks, order, w, b, w_late, b_late, counts, guesses):
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
            lengthen(rows, i, 1.0, score, total)
            axpy(total, rows, i, w)
            if averaged:
                axpy(total * rounds, rows, i, w_late)
            settle(rows, held)
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1
