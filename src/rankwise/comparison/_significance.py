"""Is a difference sure? Paired tests over folds that share rows, corrected for their number."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Floats = NDArray[np.float64]
# A difference with a smaller p-value is taken for sure.
SURE = 0.05
_ROUNDING = 1e-12


def corrected_interval(
    values: Floats, test_share: float, *, level: float = 0.95
) -> tuple[float, float]:
    r"""Return the mean over folds and the half-width of its interval.

    Folds share most of what is learned from, so that their spread is too small. With J folds,
    :math:`n_2` rows tested and :math:`n_1` learned from in each, the variance of the mean is taken
    as :math:`(1/J + n_2/n_1) s^2`. Folds that are dealt out again test the same rows again: the
    degrees of freedom are those of the :math:`1 + n_1/n_2` test sets that share no row.

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
    quantile = student.ppf((1 + level) / 2, _degrees_of_freedom(len(values), test_share))
    return float(values.mean()), float(quantile * error)


def corrected_test(differences: Floats, test_share: float) -> float:
    """Return the two-sided p-value of a mean difference of zero, by the corrected paired t-test.

    Where all differences are the same, their mean square, which is the variance if the true mean is
    0, takes the place of the variance.
    """
    mean = float(differences.mean())
    if len(differences) < 2 or mean == 0.0:
        return 1.0
    error = standard_error(differences, test_share)
    # differences that are alike differ by rounding
    if error <= _ROUNDING * abs(mean):
        error = abs(mean) * float(np.sqrt(1 / len(differences) + test_share))
    degrees = _degrees_of_freedom(len(differences), test_share)
    return float(2 * student.sf(abs(mean) / error, degrees))


def _degrees_of_freedom(n_folds: int, test_share: float) -> float:
    """Return one less than the number of test sets that share no row."""
    return min(n_folds - 1, 1 / test_share) if test_share > 0 else n_folds - 1


def adjust_for_best(pvalues: Floats) -> Floats:
    """Return p-values against the best of several methods that hold for all of them at once.

    The best one is chosen by the same data, so any pair of methods may have been the one that is
    tested: Holm's steps count all pairs of the methods that are left.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.comparison._significance import adjust_for_best
    >>> adjust_for_best(np.array([0.001, 0.04, 0.03])).tolist()
    [0.006, 0.09, 0.09]
    """
    order = np.argsort(pvalues, kind="stable")
    n_left = np.arange(len(pvalues) + 1, 1, -1)
    steps = pvalues[order] * (n_left * (n_left - 1) / 2)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def standard_error(values: Floats, test_share: float) -> float:
    """Return the standard error of a mean over splits that share rows, as in the interval."""
    spread = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return float(np.sqrt((1 / len(values) + test_share) * spread))
