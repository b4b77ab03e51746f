"""The Widrow-Hoff pass. Twin: `rankwise.testing.oracles.widrow_hoff`."""

import numpy as np

from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.prefetch import ask_ahead
from rankwise.engine.loops.rows import axpy, dot, rank_of, settle
from rankwise.engine.loops.shapes import check_records, check_shape, check_stream, row_width

LOST = 1e100


def widrow_hoff(rows, ranks, order, eta, w, thresholds, counts, peak, guesses):
    """Run Widrow-Hoff over rows in ``order`` (None: as they come), updating all arrays in place.

    ``peak[0]`` becomes the largest absolute score; the rest is as in `prank`. A row that scores
    beyond LOST is not learned from: it would only carry the weights to infinity.
    """
    check_shape("w", w, row_width(rows, learning=True))
    check_shape("thresholds", thresholds, None)
    check_stream(rows, ranks, order, len(thresholds) + 1)
    check_records(rows, counts, guesses)
    return _widrow_hoff(rows, ranks, order, eta, w, thresholds, counts, peak, guesses)


@compiled
def _widrow_hoff(rows, ranks, order, eta, w, thresholds, counts, peak, guesses):
    wanted = guesses.shape[0] > 0
    held = (w.reshape(1, -1),)
    rounds, mistakes, loss = counts
    for n in range(ranks.shape[0]):
        i = n if order is None else order[n]
        ask_ahead(rows, i)
        score = dot(rows, i, w)
        if not np.isfinite(score):
            return i
        peak[0] = max(peak[0], abs(score))
        guess = rank_of(score, thresholds)
        if wanted:
            guesses[n] = guess
        rounds += 1
        mistakes += guess != ranks[i]
        loss += abs(guess - ranks[i])
        if abs(score) < LOST:
            axpy(eta * (ranks[i] + 1 - score), rows, i, w)
            settle(rows, held)
    counts[0], counts[1], counts[2] = rounds, mistakes, loss
    return -1
