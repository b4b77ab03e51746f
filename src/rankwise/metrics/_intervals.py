"""Confidence intervals of means."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student


def mean_interval(
    values: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the mean over the first axis and the half-width of its Student-t interval.

    .. math:: t_{n-1,\,(1+\text{level})/2}\; s / \sqrt n

    Parameters
    ----------
    values : array-like of shape (n, ...)
        Independent trials along the first axis.
    level : float, default=0.95
        The confidence level, between 0 and 1.

    Returns
    -------
    mean, half_width : ndarrays of shape (...)
        With a single trial nothing is known of the spread: the half-width is infinite.

    Examples
    --------
    >>> from rankwise.metrics import mean_interval
    >>> mean, half_width = mean_interval([0.31, 0.35, 0.33])
    >>> print(f"{mean:.2f} ± {half_width:.2f}")
    0.33 ± 0.05
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must lie between 0 and 1, such as 0.95")
    trials = np.asarray(values, dtype=np.float64)
    if trials.ndim == 0 or not len(trials):
        raise ValueError("values is empty: a mean needs at least one trial along the first axis")
    mean = trials.mean(axis=0)
    if len(trials) == 1:
        return mean, mean * 0 + np.inf
    spread = trials.std(axis=0, ddof=1) / np.sqrt(len(trials))
    return mean, student.ppf((1 + level) / 2, len(trials) - 1) * spread
