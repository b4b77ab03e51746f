"""Kernels: explicit maps of small polynomial kernels."""

from collections import Counter
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.engine.loops.inner import monomials

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf", "precomputed"}), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, 0, None, closed="left")],
}


def map_width(n_features: int, degree: int, coef0: float) -> int:
    """Return the number of columns of `polynomial_map`."""
    return comb(n_features + degree - (coef0 == 0), degree)


@lru_cache(maxsize=8)
def _terms(n_factors: int, degree: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the multisets of factors, and the roots of how often each occurs in the power."""
    terms = list(combinations_with_replacement(range(n_factors), degree))
    ways = [factorial(degree) // prod(map(factorial, Counter(t).values())) for t in terms]
    return np.array(terms), np.sqrt(np.array(ways, dtype=np.float64))


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
    mapped = np.empty((len(X), map_width(X.shape[1], degree, coef0)))
    monomials(factors, *_terms(factors.shape[1], degree), mapped)
    return mapped
