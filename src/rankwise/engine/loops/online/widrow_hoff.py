"""The Widrow-Hoff pass. Twin: `rankwise.testing.oracles.widrow_hoff`."""

from typing import Any

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.online.stream import check_stream
from rankwise.engine.loops.rows import axpy, dot, end_update, rank_of
from rankwise.engine.loops.shapes import check_shape, row_width

# A score beyond this is lost: the row is not learned from.
LOST = 1e100


def widrow_hoff(stream: Any, eta: float, w: Any, thresholds: Any) -> tuple[int, float]:
    """Run Widrow-Hoff over a stream, updating in place.

    Parameters
    ----------
    stream : Stream
        The rows and ranks. A row that scores beyond LOST is not learned from: it would only carry
        the weights to infinity.
    eta : float
        The learning rate.
    w, thresholds : (d,) and (k-1,)
        The direction, which is learned, and the halves between ranks from 1.

    Returns
    -------
    bad : int
        -1, or the row whose score is not finite.
    peak : float
        The largest absolute score.
    """
    check_shape("w", w, row_width(stream.rows, learning=True))
    check_shape("thresholds", thresholds, None)
    check_stream(stream, len(thresholds) + 1)
    return _widrow_hoff(stream, eta, w[None], thresholds)


@compiled
def _widrow_hoff(stream, eta, W, thresholds):
    rows, ranks, order, counts, guesses = stream
    w = W[0]
    wanted = guesses.shape[0] > 0
    peak = 0.0
    rounds, mistakes, loss = counts[0], counts[1], counts[2]
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i, peak
        peak = max(peak, abs(score))
        guess = rank_of(score, thresholds)
        if wanted:
            guesses[n] = guess
        rounds += 1
        mistakes += guess != ranks[i]
        loss += abs(guess - ranks[i])
        if abs(score) < LOST:
            axpy(eta * (ranks[i] + 1 - score), rows, i, w)
            end_update(rows, W, W[:0])
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1, peak
