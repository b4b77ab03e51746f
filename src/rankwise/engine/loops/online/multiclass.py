"""The multiclass perceptron pass. Twin: `rankwise.testing.oracles.multiclass_perceptron`."""

from typing import Any

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.online.stream import check_stream
from rankwise.engine.loops.rows import axpy, dot, end_update
from rankwise.engine.loops.shapes import check_shape, row_width

UNIFORM, MAX, PROPORTIONAL = 0, 1, 2


def multiclass(stream: Any, update: int, W: Any) -> int:
    """Run the perceptron over a stream, updating in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks.
    update : int
        UNIFORM, MAX or PROPORTIONAL.
    W : (k, d)
        A direction for each rank.

    Returns
    -------
    int
        -1, or a row with a score that is not finite.
    """
    check_shape("W", W, None, row_width(stream.rows, learning=True))
    check_stream(stream, len(W))
    return _multiclass(stream, update, W, np.empty((2, len(W))))


@compiled
def _multiclass(stream, update, W, scratch):
    """``scratch``, (2, k), is for the scores of a row and for the shares of its rivals."""
    rows, ranks, order, counts, guesses = stream
    wanted = guesses.shape[0] > 0
    scores, shares = scratch[0], scratch[1]
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        guess = 0
        for r in range(W.shape[0]):
            scores[r] = dot(rows, i, W[r])
            if not np.isfinite(scores[r]):
                return i
            if scores[r] > scores[guess]:
                guess = r
        rank = ranks[i]
        if wanted:
            guesses[n] = guess
        rounds += 1
        if guess != rank:
            mistakes += 1
            loss += abs(guess - rank)
            _share(scores, rank, guess, update, shares)
            for r in range(W.shape[0]):
                if shares[r] != 0.0:
                    axpy(-shares[r], rows, i, W[r])
            axpy(1.0, rows, i, W[rank])
            end_update(rows, W, W[:0])
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1


@compiled
def _share(scores, rank, guess, update, shares):
    """Split a step of 1 among the classes that score at least as high as the true one.

    ``scores`` and ``shares``, which is filled, are (k,).
    """
    excess, rivals = 0.0, 0
    for r in range(scores.shape[0]):
        shares[r] = 0.0
        if r != rank and scores[r] >= scores[rank]:
            excess += scores[r] - scores[rank]
            rivals += 1
    if update == MAX:
        shares[guess] = 1.0
        return
    for r in range(scores.shape[0]):
        if r != rank and scores[r] >= scores[rank]:
            # Rivals that all tie with the true class exceed it by nothing: they share alike.
            proportional = update == PROPORTIONAL and excess > 0.0
            shares[r] = (scores[r] - scores[rank]) / excess if proportional else 1.0 / rivals
