"""The Widrow-Hoff pass. Reference: `tests.reference.widrow_hoff`."""

import numpy as np

from rankwise._core._loops.rows import axpy, dot, end_update, row_square
from rankwise._core.compilation import compiled

# A score beyond this is lost: the row is not learned from.
LOST = 1e100


@compiled
def widrow_hoff(
    rows, ranks, order, counts, guesses, eta, normalised, constant, W, intercept, thresholds
):
    """Run Widrow-Hoff over a stream, updating in place.

    A row that scores beyond LOST is not learned from: it would only carry the weights to infinity.

    Parameters
    ----------
    rows, ranks, order, counts, guesses
        As in the passes of PRank.
    eta : float
        The learning rate.
    normalised : bool
        Whether it is divided by the squared length of the row, the constant included.
    constant : bool
        Whether each row has a constant of 1.
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
    peak = 0.0
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        projection = dot(rows, i, W[0])
        score = projection + intercept[0]
        if not np.isfinite(score):
            return i, peak
        peak = max(peak, abs(score))
        guess = 0
        for r in range(thresholds.shape[0]):
            guess += projection >= thresholds[r] - intercept[0]
        if guesses.shape[0] > 0:
            guesses[n] = guess
        counts[0] += 1
        counts[1] += guess != ranks[i]
        counts[2] += abs(guess - ranks[i])
        size = eta
        if normalised:
            square = row_square(rows, i) + constant
            size = eta / square if square > 0.0 else 0.0
        if abs(score) < LOST:
            move = size * (ranks[i] + 1 - score)
            axpy(move, rows, i, W[0])
            intercept[0] += move * constant
            end_update(rows, W, W[:0])
    return -1, peak
