"""The PRank pass, last and averaged iterate. Twin: `tests.reference.prank`."""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core._loops.rows import axpy, check_stream, dot, end_update, rank_of, record_step
from rankwise._core._loops.shapes import check_shape, has_kernel_values, row_width
from rankwise._core.compilation import compiled


class Iterate(NamedTuple):
    """A direction and thresholds, and what their means need; updated in place.

    Attributes
    ----------
    w, b : (d,) and (k-1,)
        The direction and the thresholds.
    w_late, b_late : (d,) and (k-1,)
        The sums of their steps, each times its round, for `average`; empty if not wanted.
    W, W_late : (1, d)
        The directions again, as matrices of one row, for `end_update`.
    """

    w: np.ndarray
    b: np.ndarray
    w_late: np.ndarray
    b_late: np.ndarray
    W: np.ndarray
    W_late: np.ndarray


def as_iterate(rows: Any, w: Any, b: Any, w_late: Any, b_late: Any) -> Iterate:
    """Return the arrays as a record; refuse those that don't fit the rows or each other."""
    width = row_width(rows, learning=True)
    check_shape("b", b, None)
    check_shape("w", w, width)
    averaged = len(b_late) > 0
    check_shape("b_late", b_late, len(b) if averaged else 0)
    # A row that is removed leaves all directions, also one that is not used.
    check_shape("w_late", w_late, width if averaged or has_kernel_values(rows) else 0)
    return Iterate(w, b, w_late, b_late, w[None], w_late[None])


@compiled
def average(last, late, rounds, out):
    """Fill ``out`` with the mean of the iterates held while predicting ``rounds`` rounds.

    All arrays are (n,). A step d taken after round t is part of the iterates of rounds t+1..T, so
    their mean is ``last - late/T`` with ``late`` the sum of t*d. Written with one division, which
    keeps the integer-valued thresholds in order: equal numerators give equal results.
    """
    for j in range(last.shape[0]):
        out[j] = (last[j] * rounds - late[j]) / rounds


def prank(stream: Any, w: Any, b: Any, w_late: Any, b_late: Any) -> int:
    """Run PRank over a stream, updating all arrays in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks.
    w, b : (d,) and (k-1,)
        Direction and thresholds.
    w_late, b_late : (d,) and (k-1,), or empty
        See `Iterate`.

    Returns
    -------
    int
        -1, or the row whose score is not finite.
    """
    iterate = as_iterate(stream.rows, w, b, w_late, b_late)
    check_stream(stream, len(b) + 1)
    return _prank(stream, iterate)


@compiled
def _prank(stream, iterate):
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
