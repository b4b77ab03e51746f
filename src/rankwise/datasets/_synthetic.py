"""Generators of the papers' synthetic data."""

from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params

_CUTS = np.array([-1.0, -0.1, 0.25, 1.0])


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_herbrich(
    n_samples: int,
    *,
    noise: float = 0.125,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points of the unit square with five ranks cut from a saddle.

    A point's rank is the place of ``10 (x1 - .5) (x2 - .5) + e`` among the cuts -1, -.1, .25, 1,
    with e normal. A quadratic model separates the ranks but for the noise.

    Parameters
    ----------
    n_samples : int
        How many points.
    noise : float, default=0.125
        The standard deviation of e.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        Their ranks, 1 to 5.

    References
    ----------
    R. Herbrich, T. Graepel and K. Obermayer, Large margin rank boundaries for ordinal regression,
    2000; used with PRank in K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001.

    Examples
    --------
    >>> from rankwise.datasets import make_herbrich
    >>> X, y = make_herbrich(1000, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [1, 2, 3, 4, 5])
    """
    random = check_random_state(random_state)
    X = random.uniform(size=(n_samples, 2))
    saddle = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    y = 1 + np.searchsorted(_CUTS, saddle + noise * random.standard_normal(n_samples))
    return X, y
