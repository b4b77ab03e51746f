"""The multiclass perceptron pass. Reference: `tests.reference.multiclass_perceptron`."""

import numpy as np

from rankwise._core._loops.rows import axpy, dot, end_update
from rankwise._core.compilation import compiled
from rankwise.ordinal._loops.prank import average

UNIFORM, MAX, PROPORTIONAL = 0, 1, 2


@compiled
def multiclass(rows, ranks, order, counts, guesses, update, constant, W, c, W_late, c_late):
    """Run the perceptron over a stream, updating in place.

    Parameters
    ----------
    rows, ranks, order, counts, guesses
        As in the passes of PRank.
    update : int
        UNIFORM, MAX or PROPORTIONAL.
    constant : float
        The constant of each row, 1, or 0 if intercepts are not learned.
    W, c : (k, d) and (k,)
        A direction and an intercept for each rank.
    W_late, c_late : (k, d) and (k,)
        The sums of their steps, each times its round, for `average`; empty if means are not needed.

    Returns
    -------
    int
        -1, or a row with a score that is not finite.
    """
    averaged = c_late.shape[0] > 0
    scores, shares, mean = np.empty(W.shape[0]), np.empty(W.shape[0]), np.empty(W.shape[1])
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        for r in range(W.shape[0]):
            scores[r] = dot(rows, i, W[r]) + c[r]
            if not np.isfinite(scores[r]):
                return i
        guess = _largest(scores)
        if guesses.shape[0] > 0:
            guesses[n] = guess
            if averaged and counts[0] > 0:
                average(c, c_late, counts[0], shares)
                for r in range(W.shape[0]):
                    average(W[r], W_late[r], counts[0], mean)
                    shares[r] += dot(rows, i, mean)
                guesses[n] = _largest(shares)
        rank = ranks[i]
        counts[0] += 1
        if guess != rank:
            counts[1] += 1
            counts[2] += abs(guess - rank)
            _share(scores, rank, guess, update, shares)
            shares[rank] = -1.0
            for r in range(W.shape[0]):
                if shares[r] != 0.0:
                    axpy(-shares[r], rows, i, W[r])
                    c[r] -= shares[r] * constant
                    if averaged:
                        axpy(-shares[r] * counts[0], rows, i, W_late[r])
                        c_late[r] -= shares[r] * constant * counts[0]
            end_update(rows, W, W_late)
    return -1


@compiled(inner=True)
def _largest(scores):
    """Return the first place of the largest score."""
    best = 0
    for r in range(1, scores.shape[0]):
        if scores[r] > scores[best]:
            best = r
    return best


@compiled(inner=True)
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
