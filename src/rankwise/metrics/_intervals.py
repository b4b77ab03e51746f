"""Confidence intervals of means."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from rankwise._core.arguments import check_level
from rankwise._core.inputs import as_floats
from rankwise.metrics.validation import exponent_of, scaled


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
    check_level(level)
    trials = as_floats(values, "values")
    if trials.ndim == 0 or not len(trials):
        raise ValueError("values is empty: a mean needs at least one trial along the first axis")
    if not np.isfinite(trials).all():
        bad = trials[~np.isfinite(trials)][0]
        raise ValueError(f"values contains {bad}: drop the trial or correct it")
    exponent = exponent_of(trials) if trials.size else 0
    trials = scaled(trials, exponent)
    mean, half_width = trials.mean(axis=0), np.full(trials.shape[1:], np.inf)[()]
    if len(trials) > 1:
        spread = trials.std(axis=0, ddof=1) / np.sqrt(len(trials))
        half_width = student.ppf((1 + level) / 2, len(trials) - 1) * spread
    with np.errstate(over="ignore"):
        mean, half_width = scaled(mean, -exponent), scaled(half_width, -exponent)
    if len(trials) > 1 and not np.isfinite(half_width).all():
        raise ValueError("the interval is larger than a float can hold: scale the values")
    return mean, half_width
