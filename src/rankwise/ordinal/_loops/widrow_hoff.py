"""The Widrow-Hoff pass. Twin: `tests.reference.widrow_hoff`."""

from typing import Any, NamedTuple

import numpy as np

from rankwise._core._loops.rows import axpy, check_stream, dot, end_update, row_square
from rankwise._core._loops.shapes import check_shape, row_width
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


def widrow_hoff(
    stream: Any, step: Step, w: Any, intercept: Any, thresholds: Any
) -> tuple[int, float]:
    """Run Widrow-Hoff over a stream, updating in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks. A row that scores beyond LOST is not learned from: it would only carry
        the weights to infinity.
    step : Step
        How a row is learned from.
    w, intercept : (d,) and (1,)
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
    check_shape("w", w, row_width(stream.rows, learning=True))
    check_shape("intercept", intercept, 1)
    check_shape("thresholds", thresholds, None)
    check_stream(stream, len(thresholds) + 1)
    return _widrow_hoff(stream, step, w[None], intercept, thresholds)


@compiled
def _widrow_hoff(stream, step, W, intercept, thresholds):
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
