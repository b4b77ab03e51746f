"""Generators of the papers' synthetic data."""

from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankwise._core.sklearn_private import Interval, validate_params

# A normal draw is far below 1e8.
_LARGEST_NOISE = 1e300
_CUTS = np.array([-1.0, -0.1, 0.25, 1.0])


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, _LARGEST_NOISE, closed="both")],
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


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_ranks": [Interval(Integral, 2, None, closed="left")],
        "ratio": [Interval(Real, 0, 1, closed="right")],
        "noise": [Interval(Real, 0, _LARGEST_NOISE, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_ellipses(
    n_samples: int = 50,
    *,
    n_ranks: int = 5,
    ratio: float = 0.6,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points of concentric ellipses, ranked from the centre outwards.

    Ellipse r has the semi-axes r/k and ``ratio`` r/k. A point of rank r is uniform between the
    ellipses r - 1 and r, and then moved by normal noise. Ranks come in random order, and none is
    more frequent than another by more than 1.

    Without noise the ranks are cut from ``x1^2 + (x2 / ratio)^2`` at 1/k^2, 4/k^2, ...: a quadratic
    model separates them. The cuts are not evenly spaced, which a regression on the ranks takes them
    to be.

    Parameters
    ----------
    n_samples : int, default=50
        How many points.
    n_ranks : int, default=5
        How many ranks k, at least 2.
    ratio : float, default=0.6
        The short semi-axis over the long one, in (0, 1].
    noise : float, default=0.0
        The standard deviation of the noise, alike in both coordinates.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        Their ranks, 1 to ``n_ranks``.

    Notes
    -----
    After the illustration in K. Crammer's slides on Pranking with ranking: five concentric ellipses
    and 50 points. The slides don't say how the points were drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import make_ellipses
    >>> X, y = make_ellipses(random_state=0)
    >>> X.shape, np.bincount(y)[1:].tolist()
    ((50, 2), [10, 10, 10, 10, 10])
    >>> radii = np.hypot(X[:, 0], X[:, 1] / 0.6)
    >>> bool(np.all(np.ceil(5 * radii) == y))
    True
    """
    random = check_random_state(random_state)
    y = 1 + random.permutation(n_samples) % n_ranks
    radii = np.sqrt(random.uniform((y - 1) ** 2, y**2)) / n_ranks
    angles = random.uniform(0, 2 * np.pi, n_samples)
    X = np.column_stack([radii * np.cos(angles), ratio * radii * np.sin(angles)])
    return X + noise * random.standard_normal(X.shape), y
