"""The multiclass perceptron pass. Twin: `rankwise.testing.oracles.multiclass_perceptron`."""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.prefetch import ask_ahead
from rankwise.engine.loops.rows import axpy, dot, settle
from rankwise.engine.loops.shapes import check_records, check_shape, check_stream, row_width

UNIFORM, MAX, PROPORTIONAL = 0, 1, 2


def multiclass(rows, ranks, order, update, W, counts, guesses):
    """Run the perceptron over rows in ``order`` (None: as they come), updating in place.

    ``update`` is UNIFORM, MAX or PROPORTIONAL; W is (k, d); the rest is as in `prank`.
    """
    check_shape("W", W, None, row_width(rows, learning=True))
    check_stream(rows, ranks, order, len(W))
    check_records(rows, counts, guesses)
    return _multiclass(rows, ranks, order, update, W, counts, guesses)


@compiled
def _multiclass(rows, ranks, order, update, W, counts, guesses):
    wanted = guesses.shape[0] > 0
    k = W.shape[0]
    scores = np.empty(k)
    shares = np.empty(k)
    rounds, mistakes, loss = counts
    for n in range(ranks.shape[0]):
        i = n if order is None else order[n]
        ask_ahead(rows, i)
        guess = 0
        for r in range(k):
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
            for r in range(k):
                if shares[r] != 0.0:
                    axpy(-shares[r], rows, i, W[r])
            axpy(1.0, rows, i, W[rank])
            settle(rows, (W,))
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1


@compiled
def _share(scores, rank, guess, update, shares):
    """Split a step of 1 among the classes that score at least as high as the true one."""
    shares[:] = 0.0
    if update == MAX:
        shares[guess] = 1.0
        return
    excess = 0.0
    if update == PROPORTIONAL:
        for r in range(scores.shape[0]):
            excess += max(0.0, scores[r] - scores[rank])
    rivals = 0
    for r in range(scores.shape[0]):
        rivals += r != rank and scores[r] >= scores[rank]
    for r in range(scores.shape[0]):
        if r != rank and scores[r] >= scores[rank]:
            # Rivals that all tie with the true class exceed it by nothing: they share alike.
            shares[r] = (scores[r] - scores[rank]) / excess if excess > 0.0 else 1.0 / rivals
