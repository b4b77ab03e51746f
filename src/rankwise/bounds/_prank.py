r"""Bounds on the mistakes of PRank before it is run.

With :math:`z_r = +1` if a row's rank is above r and -1 otherwise, a ranker (w, b) of unit norm
:math:`\|w\|^2 + \|b\|^2 = 1` ranks a row with margin :math:`\min_r z_r (w \cdot x - b_r)`. Rank
loss is the sum over rounds of \|guess - truth\| in ranks, in one pass of ``PRank(vote=None)``.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from rankwise._core.arguments import is_finite_number
from rankwise._core.inputs import as_floats, refuse_masked
from rankwise._core.labels import found_labels, known_labels, to_ranks, warn_alphabetical
from rankwise.bounds._bound import Bound, check_rows, grow, shrink
from rankwise.metrics.scored_rows import exponent_of, scaled


def ranking_margin(
    X: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    thresholds: ArrayLike,
    *,
    labels: ArrayLike | None = None,
) -> float:
    r"""Return the smallest margin with which a ranker, scaled to unit norm, ranks the rows.

    .. math:: \gamma = \min_{t,r} \frac{z_r (w \cdot x_t - b_r)}{\sqrt{\|w\|^2 + \|b\|^2}}

    More than 0: every row is ranked rightly. Less than 0: some row is not.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their labels.
    coef : array-like of shape (n_features,)
        The direction w of a ranker, such as ``coef_`` of a fitted model.
    thresholds : array-like of shape (k-1,)
        Its thresholds b, in order.
    labels : array-like of shape (k,), default=None
        All labels, lowest rank first, such as ``classes_`` of a fitted model. None: 1..k if y
        holds no other, else the sorted labels of y, which must then be k.

    Examples
    --------
    >>> from rankwise.bounds import ranking_margin
    >>> ranking_margin([[-2.0], [0.0], [2.0]], [1, 2, 3], coef=[1.0], thresholds=[-1.0, 1.0])
    0.577...
    """
    return float(_margins(X, y, coef, thresholds, labels)[0].min())


def prank_mistake_bound(
    X: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    thresholds: ArrayLike,
    *,
    labels: ArrayLike | None = None,
) -> Bound:
    r"""Bound PRank's rank loss on a stream that a known ranker ranks without a mistake.

    .. math:: \frac{(k-1)(R^2+1)}{\gamma^2}

    with :math:`\gamma` the `ranking_margin` of that ranker and R the length of the longest row.
    It holds for rows in any order and for streams of any length. Where the margin is not positive
    the theorem is silent: the value is infinite, and `prank_regret_bound` still speaks.

    Parameters
    ----------
    X, y, coef, thresholds, labels
        As in `ranking_margin`.

    Returns
    -------
    Bound
        With the pieces ``margin``, ``radius``, ``n_ranks`` and ``n_rounds``. Vacuous at
        m (k-1) or more, the largest rank loss there is.

    References
    ----------
    K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001.

    Examples
    --------
    >>> from rankwise.bounds import prank_mistake_bound
    >>> X, y = [[-2.0], [0.0], [2.0]] * 20, [1, 2, 3] * 20
    >>> bound = prank_mistake_bound(X, y, coef=[1.0], thresholds=[-1.0, 1.0])
    >>> round(bound.value, 6), bound.trivial, bound.vacuous
    (30.0, 120.0, False)
    """
    margins, radius = _margins(X, y, coef, thresholds, labels)
    n_rounds, cuts = margins.shape
    margin = float(margins.min())
    value = _square(math.sqrt(cuts) * math.hypot(radius, 1) / margin) if margin > 0 else math.inf
    pieces = {"margin": margin, "radius": radius, "n_ranks": cuts + 1, "n_rounds": n_rounds}
    return Bound(value, float(n_rounds * cuts), pieces)


def prank_regret_bound(
    X: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    thresholds: ArrayLike,
    margin: float,
    *,
    labels: ArrayLike | None = None,
) -> Bound:
    r"""Bound PRank's rank loss on any stream, by how well some fixed ranker does on it.

    .. math::

        \left(\frac{A + \sqrt{A^2 + 4 g H}}{2 g}\right)^2, \qquad A^2 = (k-1)(R^2+1), \qquad
        H = \sum_{t,r} \max(0, g - z_r (w \cdot x_t - b_r)),

    for every ranker, scaled to unit norm, and every margin g > 0. With L the rank loss, each unit
    of it moves PRank's (w, b) towards the fixed ranker by at least g less its share of H, so their
    inner product is at least g L - H, while the squared length of (w, b) is at most
    :math:`A^2 L`; Cauchy-Schwarz gives :math:`g L - H \le A \sqrt L`. With H = 0 it is
    `prank_mistake_bound`.

    Parameters
    ----------
    X, y, coef, thresholds, labels
        As in `ranking_margin`.
    margin : float
        The margin g that is asked of the fixed ranker, on the scale of its unit norm.

    Returns
    -------
    Bound
        With the pieces ``margin``, ``hinge`` (H), ``radius``, ``n_ranks`` and ``n_rounds``. Vacuous
        at m (k-1) or more, the largest rank loss there is. It and H are infinite if no float can
        hold them.

    References
    ----------
    K. Crammer, Pranking with ranking, slides (the hard case); derived above.

    Examples
    --------
    >>> from rankwise.bounds import prank_regret_bound
    >>> X, y = [[-2.0], [0.0], [2.0]] * 20 + [[2.0]], [1, 2, 3] * 20 + [2]
    >>> bound = prank_regret_bound(X, y, coef=[1.0], thresholds=[-1.0, 1.0], margin=0.5)
    >>> print(f"{bound.value:.1f} of {bound.trivial:.0f}, H = {bound.pieces['hinge']:.2f}")
    44.2 of 122, H = 1.08
    """
    if not (is_finite_number(margin) and margin > 0):
        raise ValueError(f"margin={margin!r} must be a positive number, such as 0.1")
    margins, radius = _margins(X, y, coef, thresholds, labels)
    n_rounds, cuts = margins.shape
    g = float(margin)
    with np.errstate(over="ignore"):
        hinge = float(np.maximum(0.0, g - margins).sum())
        # H / g, which a float can hold even if it can't hold H
        misses = float(np.maximum(0.0, 1.0 - margins / g).sum())
    reach = math.sqrt(cuts) * math.hypot(radius, 1) / 2 / g
    value = _square(reach + math.hypot(reach, math.sqrt(misses)))
    pieces = {
        "margin": g,
        "hinge": hinge,
        "radius": radius,
        "n_ranks": cuts + 1,
        "n_rounds": n_rounds,
    }
    return Bound(value, float(n_rounds * cuts), pieces)


def _square(number: float) -> float:
    """Return the square, infinite where a float can't hold it."""
    return number * number


def _margins(
    X: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    thresholds: ArrayLike,
    labels: ArrayLike | None,
) -> tuple[NDArray[np.float64], float]:
    """Return the unit-norm margins of shape (m, k-1), and the length of the longest row."""
    rows, exponent = shrink(check_rows(X))
    w, b = as_floats(coef, "coef"), as_floats(thresholds, "thresholds")
    if w.shape != (rows.shape[1],):
        raise ValueError(
            f"coef must be a list of {rows.shape[1]} numbers, one a feature of X, but has the "
            f"shape {w.shape}"
        )
    if b.ndim != 1 or not len(b) or not (b[1:] >= b[:-1]).all():
        raise ValueError(f"thresholds={b.tolist()} must be one or more numbers in rising order")
    both = np.append(w, b)
    if not (both.any() and np.isfinite(both).all()):
        raise ValueError("coef and thresholds must be finite and not all zero: fit a ranker first")
    unit = exponent_of(both)
    w, b = scaled(w, unit), scaled(b, unit)
    norm = math.hypot(*w, *b)
    ranks = _ranks(y, len(b) + 1, labels)
    check_consistent_length(rows, ranks)
    sides = np.where(ranks[:, None] > np.arange(len(b)), 1.0, -1.0)
    if exponent < 0:
        # rows that are so short are nothing beside thresholds
        rows, exponent = check_rows(X), 0
    margins = sides * ((safe_sparse_dot(rows, w)[:, None] - scaled(b, exponent)) / norm)
    for side in (margins.min(), margins.max(), row_norms(rows).max()):
        grow(float(side), exponent)
    return scaled(margins, -exponent), grow(float(row_norms(rows).max()), exponent)


def _ranks(y: ArrayLike, k: int, labels: ArrayLike | None) -> NDArray[np.int64]:
    refuse_masked(labels, "labels")
    names, values = known_labels(y, labels, say="labels")
    if names is None and np.isin(values, np.arange(1, k + 1)).all():
        names = np.arange(1, k + 1)
    if names is None:
        names = found_labels(values, say="labels")
        warn_alphabetical(names, say="labels")
    if len(names) != k:
        raise ValueError(
            f"y has {len(names)} labels, but {k - 1} thresholds make {k} ranks: name all of them "
            "with labels=[...], for example model.classes_"
        )
    return to_ranks(values, names)
