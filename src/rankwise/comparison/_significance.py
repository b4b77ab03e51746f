"""Is a difference sure? Paired tests over folds that share rows, corrected for their number."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Floats = NDArray[np.float64]
# A difference with a smaller p-value is taken for sure.
SURE = 0.05


def corrected_interval(
    values: Floats, test_share: float, *, level: float = 0.95
) -> tuple[float, float]:
    r"""Return the mean over folds and the half-width of its interval.

    Folds share most of what is learned from, so that their spread is too small. With J folds,
    :math:`n_2` rows tested and :math:`n_1` learned from in each, the variance of the mean is taken
    as :math:`(1/J + n_2/n_1) s^2`.

    Parameters
    ----------
    values : ndarray of shape (J,)
        A measure, or a difference of two, on each fold.
    test_share : float
        :math:`n_2 / n_1`.
    level : float, default=0.95
        The confidence level.

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the Generalization Error, Machine Learning 52, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.comparison._significance import corrected_interval
    >>> mean, half = corrected_interval(np.array([0.71, 0.74, 0.7, 0.73, 0.72]), 0.25)
    >>> print(f"{mean:.3f} ± {half:.3f}")
    0.720 ± 0.029
    """
    error = standard_error(values, test_share)
    if len(values) < 2:
        return float(values.mean()), np.inf
    return float(values.mean()), float(student.ppf((1 + level) / 2, len(values) - 1) * error)


def corrected_test(differences: Floats, test_share: float) -> float:
    """Return the two-sided p-value of a mean difference of zero, by the corrected paired t-test."""
    if len(differences) < 2:
        return 1.0
    error = standard_error(differences, test_share)
    mean = float(differences.mean())
    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2 * student.sf(abs(mean) / error, len(differences) - 1))


def holm(pvalues: Floats) -> Floats:
    """Return p-values that hold for all of several tests at once, by Holm's steps.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.comparison._significance import holm
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(pvalues, kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    found = np.empty(len(pvalues))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


def standard_error(values: Floats, test_share: float) -> float:
    """Return the standard error of a mean over splits that share rows, as in the interval."""
    spread = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return float(np.sqrt((1 / len(values) + test_share) * spread))
