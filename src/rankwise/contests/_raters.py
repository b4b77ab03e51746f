"""How far each rater can be trusted: a scale of the advantage, learned with the strengths.

A rater of scale a sees a times the difference of two items: 1 is like everyone, 0 answers at
random, less than 0 the wrong way round. Scales have a normal prior with mean 1 and variance 1.
Given the strengths the likelihood is concave in each scale, and given the scales in the strengths;
the two are improved by turns until scales no longer move.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.contests._loops.likelihood import Cells, scale_derivatives
from rankwise.contests._newton import PairLikelihood, Solved, maximise

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_TURNS = 200
_STEADY = 1e-6
# The least mean scale that is made 1: raters who contradict each other may have the mean 0.
_LEAST = 0.1


class Rated(NamedTuple):
    """Strengths, and scales of the raters with their standard errors."""

    solved: Solved
    cells: Cells
    scales: Floats
    errors: Floats
    steady: bool


def fit_raters(
    cells: Cells, n: int, kind: int, precision: Floats, start: Floats, rater: Indices | None
) -> Rated:
    """Learn strengths and the scales of raters by turns.

    Parameters
    ----------
    cells : Cells
        One cell a contest.
    n, kind : int
        Items, and the model of ties.
    precision, start
        As in `rankwise.contests._newton.maximise`.
    rater : ndarray of shape (c,) or None
        The code of each cell's rater; None: there are none.
    """
    if rater is None:
        solved = maximise(PairLikelihood(cells, n, kind), precision, start)
        return Rated(solved, cells, np.zeros(0), np.zeros(0), steady=True)
    weight = np.bincount(rater, cells.counts[:, :3].sum(axis=1))
    scales = np.ones(len(weight))
    moved = np.inf
    for _ in range(_TURNS):
        cells = cells._replace(scale=scales[rater])
        solved = maximise(PairLikelihood(cells, n, kind, scaled=True), precision, start)
        if moved <= _STEADY or not np.isfinite(solved.decrement):
            break
        start = solved.params
        better = _scales(cells, n, kind, start, rater, scales)
        # Scales and strengths can be traded for each other: the mean contest has the scale 1.
        better /= max(float(weight @ better) / weight.sum(), _LEAST)
        moved = float(np.abs(better - scales).max())
        scales = better
    curvature = np.ones(len(scales))
    scale_derivatives(cells, n, solved.params, kind, rater, np.zeros(len(scales)), curvature)
    return Rated(solved, cells, scales, 1.0 / np.sqrt(curvature), moved <= _STEADY)


def _scales(
    cells: Cells, n: int, kind: int, params: Floats, rater: Indices, scales: Floats
) -> Floats:
    """Return the best scale of each rater, given the strengths, by damped Newton steps."""
    for _ in range(50):
        gradient, curvature = 1.0 - scales, np.ones(len(scales))
        cells = cells._replace(scale=scales[rater])
        scale_derivatives(cells, n, params, kind, rater, gradient, curvature)
        step = np.clip(gradient / curvature, -1.0, 1.0)
        scales = scales + step
        if np.abs(step).max() < _STEADY / 10:
            break
    return scales
