"""The Widrow-Hoff pass. Reference: `tests.reference.widrow_hoff`."""

from typing import NamedTuple

import numpy as np

from rankwise._core._loops.rows import axpy, dot, end_update, row_square
from rankwise._core.compilation import compiled

# A score beyond this is lost: the row is not learned from.
LOST = 1e100


class Step(NamedTuple):
    """How a row is learned from.

    Attributes
    ----------
    eta : float
        The learning rate.
    normalised : bool
        Whether it is divided by the squared length of the row, the constant included.
    intercept : bool
        Whether each row has a constant of 1.
    """

    eta: float
    normalised: bool
    intercept: bool


@compiled
def widrow_hoff(stream, step, W, intercept, thresholds):
    """Run Widrow-Hoff over a stream, updating in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks. A row that scores beyond LOST is not learned from: it would only carry
        the weights to infinity.
    step : Step
        How a row is learned from.
    W, intercept : (1, d) and (1,)
        The direction and the weight of the constant, which are learned.
    thresholds : (k-1,)
        The halves between ranks from 1.

    Returns
    -------
    bad : int
        -1, or the row whose score is not finite.
    peak : float
        The largest absolute score.
    """
    rows, ranks, order, counts, guesses = stream
    w = W[0]
    wanted = guesses.shape[0] > 0
    peak = 0.0
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        projection = dot(rows, i, w)
        score = projection + intercept[0]
        if not np.isfinite(score):
            return i, peak
        peak = max(peak, abs(score))
        guess = 0
        for r in range(thresholds.shape[0]):
            guess += projection >= thresholds[r] - intercept[0]
        if wanted:
            guesses[n] = guess
        rounds += 1
        mistakes += guess != ranks[i]
        loss += abs(guess - ranks[i])
        size = step.eta
        if step.normalised:
            square = row_square(rows, i) + step.intercept
            size = step.eta / square if square > 0.0 else 0.0
        if abs(score) < LOST:
            move = size * (ranks[i] + 1 - score)
            axpy(move, rows, i, w)
            intercept[0] += move * step.intercept
            end_update(rows, W, W[:0])
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1, peak
