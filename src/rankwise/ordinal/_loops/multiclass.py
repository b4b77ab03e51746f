"""The multiclass perceptron pass. Reference: `tests.reference.multiclass_perceptron`."""

from typing import NamedTuple

import numpy as np

from rankwise._core._loops.rows import axpy, dot, end_update
from rankwise._core.compilation import compiled
from rankwise.ordinal._loops.prank import average

UNIFORM, MAX, PROPORTIONAL = 0, 1, 2


class Prototypes(NamedTuple):
    """A direction and an intercept for each rank, and what their means need; updated in place.

    Attributes
    ----------
    W, c : (k, d) and (k,)
        The directions and the intercepts.
    W_late, c_late : (k, d) and (k,)
        The sums of their steps, each times its round, for `average`; empty if means are not needed.
    """

    W: np.ndarray
    c: np.ndarray
    W_late: np.ndarray
    c_late: np.ndarray


@compiled
def multiclass(stream, update, prototypes, constant):
    """Run the perceptron over a stream, updating in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks.
    update : int
        UNIFORM, MAX or PROPORTIONAL.
    prototypes : Prototypes
        What is learned.
    constant : float
        The constant of each row, 1, or 0 if intercepts are not learned.

    Returns
    -------
    int
        -1, or a row with a score that is not finite.
    """
    rows, ranks, order, counts, guesses = stream
    W, c, W_late, c_late = prototypes
    wanted, averaged = guesses.shape[0] > 0, c_late.shape[0] > 0
    scores, shares = np.empty(W.shape[0]), np.empty(W.shape[0])
    W_mean, c_mean = np.empty(W_late.shape), np.empty(c_late.shape)
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        if wanted and averaged and rounds > 0:
            average(c, c_late, rounds, c_mean)
            for r in range(W.shape[0]):
                average(W[r], W_late[r], rounds, W_mean[r])
            guesses[n] = _best(rows, i, W_mean, c_mean, scores)
        guess = _best(rows, i, W, c, scores)
        for r in range(W.shape[0]):
            if not np.isfinite(scores[r]):
                return i
        if wanted and not (averaged and rounds > 0):
            guesses[n] = guess
        rank = ranks[i]
        rounds += 1
        if guess != rank:
            mistakes += 1
            loss += abs(guess - rank)
            _share(scores, rank, guess, update, shares)
            shares[rank] = -1.0
            for r in range(W.shape[0]):
                if shares[r] != 0.0:
                    axpy(-shares[r], rows, i, W[r])
                    c[r] -= shares[r] * constant
                    if averaged:
                        axpy(-shares[r] * rounds, rows, i, W_late[r])
                        c_late[r] -= shares[r] * constant * rounds
            end_update(rows, W, W_late)
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1


@compiled(inner=True)
def _best(rows, i, W, c, scores):
    """Fill ``scores``, (k,), with those of row i; return the first of the largest."""
    best = 0
    for r in range(W.shape[0]):
        scores[r] = dot(rows, i, W[r]) + c[r]
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
