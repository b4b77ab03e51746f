"""Steps of boosting that are no closed formula: along a base ranker, to a root of one function."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]

# A smooth margin that rises by less than this for each unit of a step is not worth one.
TIE = 1e-12


def margin_step(plus: float, minus: float, log_gain: float, length: float, cap: float) -> float:
    r"""Return the step that makes the smooth margin :math:`-\log F / \sum |\alpha|` largest.

    F is the sum of the exponential loss over the pairs. The margin rises along the base ranker up
    to one point and falls from there on, for it is a concave function over a linear one.

    Parameters
    ----------
    plus, minus : float
        The shares in F of the pairs that the base ranker puts in the right order, and in the wrong.
    log_gain : float
        The logarithm of 1 / F, positive.
    length : float
        The sum of the sizes of the steps before.
    cap : float
        The largest size of a step.
    """
    right, wrong = max(plus, minus), min(plus, minus)
    rest = max(1.0 - right - wrong, 0.0)

    def rises(size: float) -> float:
        # the sign of the derivative of (log_gain - log z) / (length + size)
        up, down = right * math.exp(-size), wrong * math.exp(size)
        z = rest + up + down
        return (up - down) / z * (length + size) - (log_gain - math.log(z))

    if not rises(0.0) > TIE * length:
        return 0.0
    size = cap if rises(cap) >= 0 else float(brentq(rises, 0.0, cap, xtol=1e-14))
    return size if plus > minus else -size


def push_step(above: Floats, below: Floats, share: Floats, push: float, cap: float) -> float:
    r"""Return the step of least p-norm push over several queries.

    With :math:`n_q` and :math:`p_q` the shares of the base ranker in the factors of worse and
    better rows, and :math:`v_q` those of the queries in the whole, a step :math:`\alpha` multiplies
    it by

    .. math:: \sum_q v_q (1 - n_q + n_q e^{p \alpha}) (1 - p_q + p_q e^{-\alpha})^p ,

    whose logarithm is convex.

    Parameters
    ----------
    above, below : ndarrays of shape (2, n_queries)
        The shares of the worse rows, then of the better ones, above the cut and below.
    share : ndarray of shape (n_queries,)
        Those of the queries.
    push : float
        The power p.
    cap : float
        The largest size of a step.
    """

    def slope(step: float) -> float:
        worse, better = above[0] * math.exp(push * step), above[1] * math.exp(-step)
        all_worse, all_better = worse + below[0], better + below[1]
        logs = np.log(all_worse) + push * np.log(all_better)
        weight = share * np.exp(logs - logs.max())
        return float(weight @ (worse / all_worse - better / all_better))

    if slope(-cap) >= 0:
        return -cap
    return cap if slope(cap) <= 0 else float(brentq(slope, -cap, cap, xtol=1e-14))
