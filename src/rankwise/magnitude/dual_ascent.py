r"""The dual of `rankwise.magnitude.ridge`, climbed point by point: no matrix is inverted.

.. math::

    \max_\alpha \; 2 \alpha \cdot y - \alpha' \left(K + \mathrm{diag}(1 / C c_i)\right) \alpha

with y and K centred within queries. A pass takes each point in turn and moves its coordinate by
``2 eta`` times the slope, or to the best place for it. O(m^2) a pass with a Gram matrix, O(entries)
with linear rows.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.extmath import row_norms

from rankwise._core._loops.rows import as_rows
from rankwise._core.queries import group_rows
from rankwise.magnitude._loops.dual_ascent import (
    Dual,
    Queries,
    along_means,
    ascend_gram,
    ascend_rows,
)
from rankwise.magnitude._loops.leave_pair_out import centre
from rankwise.magnitude.ridge import Matrix, Sample, Vector, penalty


class Pass(NamedTuple):
    """What one pass over the points has led to.

    Attributes
    ----------
    dual : float
        The value of the dual, at most that of the objective.
    gain : float
        By how much the pass raised it.
    alpha : ndarray of shape (m,)
        The coefficients of centred rows, changed by the next pass.
    """

    dual: float
    gain: float
    alpha: Vector


def gram_passes(
    K: Matrix, y: Vector, sample: Sample, C: float, eta: float | None = None
) -> Iterator[Pass]:
    """Yield pass after pass over a Gram matrix that `centre_gram` has centred."""
    ridge = np.minimum(penalty(C) / sample.cost, 1e290)
    curve = np.diagonal(K) + ridge
    step = _steps(curve, eta)
    dual, value = Dual(sample.centred(y), ridge, curve, step, np.zeros(len(y))), 0.0
    while True:
        gain = ascend_gram(K, dual)
        value += gain
        yield Pass(value, gain, dual.alpha)


def row_passes(
    X: Any, y: Vector, sample: Sample, C: float, w: Vector, eta: float | None = None
) -> Iterator[Pass]:
    """Yield pass after pass over linear rows, dense or CSR; ``w`` starts at 0 and is kept up."""
    means = sample.means(X)
    rows, centres = as_rows(X), as_rows(means)
    order, starts = group_rows(sample.codes, len(sample.totals))
    along = np.empty(len(y))
    along_means(rows, centres, order, starts, along, np.zeros(X.shape[1]))
    square = row_norms(means, squared=True)
    ridge = np.minimum(penalty(C) / sample.cost, 1e290)
    distance = row_norms(X, squared=True) - 2 * along + square[sample.codes]
    curve = np.maximum(distance, 0.0) + ridge
    step = _steps(curve, eta)
    queries = Queries(centres, order, starts, along, square)
    dual, value = Dual(sample.centred(y), ridge, curve, step, np.zeros(len(y))), 0.0
    while True:
        gain = ascend_rows(rows, queries, dual, w)
        value += gain
        yield Pass(value, gain, dual.alpha)


def centre_gram(K: Matrix, sample: Sample) -> Matrix:
    """Centre a Gram matrix within queries, in place, and return the means it had."""
    means = sample.means(K)
    grand = sample.means(np.ascontiguousarray(means.T))
    ones = np.ones(len(K))
    centre(K, sample.codes, means, grand, ones, np.zeros(len(K)), 0.0, True)
    return means


def of_raw_rows(alpha: Vector, sample: Sample) -> Vector:
    """Return the coefficients of rows that are not centred, from those of centred ones."""
    sums = np.bincount(sample.codes, weights=alpha, minlength=len(sample.totals))
    return alpha - sample.null**2 * sums[sample.codes]


def _steps(curve: Vector, eta: float | None) -> Vector:
    if eta is None:
        return 1.0 / curve
    if eta * curve.max() >= 1.0:
        raise ValueError(
            f"eta={eta} makes the steps overshoot for these rows and this C: it must be below "
            f"{1.0 / curve.max():.3g}, or None for the best step of each point"
        )
    return np.full(len(curve), 2.0 * eta)
