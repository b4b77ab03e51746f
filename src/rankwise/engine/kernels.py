"""Kernels: explicit maps of small polynomial kernels."""

from itertools import combinations_with_replacement
from math import factorial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf", "precomputed"}), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, 0, None, closed="left")],
}


def polynomial_map(
    X: NDArray[np.float64], *, degree: int, gamma: float = 1.0, coef0: float = 1.0
) -> NDArray[np.float64]:
    r"""Map rows so that inner products are :math:`(\gamma\, x \cdot x' + c_0)^p`.

    By the multinomial theorem, a column a multiset of p factors out of the d features and the
    constant: :math:`\binom{d+p}{p}` columns, or :math:`\binom{d+p-1}{p}` when c_0 = 0.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    degree : int
        The power p.
    gamma, coef0 : float
        The scale, more than 0, and the constant, at least 0.
    """
    if degree < 1 or gamma <= 0 or coef0 < 0:
        raise ValueError(
            f"degree={degree}, gamma={gamma}, coef0={coef0}: a polynomial kernel has an explicit "
            "map for degree >= 1, gamma > 0 and coef0 >= 0"
        )
    factors = np.sqrt(gamma) * X
    if coef0 > 0:
        factors = np.hstack([np.full((len(X), 1), np.sqrt(coef0)), factors])
    terms = list(combinations_with_replacement(range(factors.shape[1]), degree))
    mapped = np.empty((len(X), len(terms)))
    for column, term in enumerate(terms):
        repeats = np.unique(term, return_counts=True)[1]
        ways = factorial(degree) // np.prod([factorial(n) for n in repeats.tolist()])
        mapped[:, column] = np.sqrt(ways) * factors[:, term].prod(axis=1)
    return mapped
