"""Significance of differences between methods, and advice on which method to use.

Tests over folds that share rows are paired and corrected for their number. Of several methods that
are statistically tied a simple one is advised, if it is expected to be as good: on a few hundred
rows a dozen methods differ by less than the folds can tell, and the one with the best mean is
partly the luckiest. What a method usually loses is known from other tables, so each mean is drawn
towards that, the more the noisier the folds are.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

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


def corrected_test(differences: Floats, test_share: float, n_tested: float) -> float:
    r"""Return the two-sided p-value of a mean difference of zero, by the corrected paired t-test.

    A fold of n rows measures in steps of 1/n, so that differences may be nearly the same by chance:
    the variance of rounding to a step, :math:`1/(12 n^2)`, is added to theirs. Where all are the
    same, their mean square, which is the variance if the true mean is 0, takes its place.
    """
    mean = float(differences.mean())
    if len(differences) < 2 or mean == 0.0:
        return 1.0
    variance = float(differences.var(ddof=1))
    # differences that are alike differ by rounding
    variance = mean**2 if variance <= (_ROUNDING * mean) ** 2 else variance + 1 / (12 * n_tested**2)
    error = np.sqrt((1 / len(differences) + test_share) * variance)
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


# How far the standing of a method goes up and down from table to table (log of losses). Of the
# values from 0.02 to 0.1 it gives the best advice on the tables of ``python -m benchmarks priors``.
_SPREAD = 0.07


def weigh(losses: Floats, usual: Floats, test_share: float, spread: float = _SPREAD) -> Floats:
    r"""Return what methods may be expected to lose, as logarithms with an arbitrary zero.

    A method is believed to lose :math:`\mu_m`, of which :math:`\log \mu_m` is normal around
    ``usual`` with the standard deviation :math:`\tau`, the same for all. The mean over the folds is
    :math:`\log \mu_m` with an error of the variance v, of all methods alike: the share of a fold
    that neither the method nor the fold explains (the residual of the two-way table of relative
    losses), corrected for folds that share rows as in `corrected_interval`. What is expected then
    is :math:`w \log \bar f_m + (1 - w) u_m` with :math:`w = \tau^2 / (\tau^2 + v)`. Takes O(m J).

    Parameters
    ----------
    losses : ndarray of shape (n_methods, n_folds)
        Positive in the mean.
    usual : ndarray of shape (n_methods,)
        The logarithm of what each loses on other tables, as a multiple of the best there.
    test_share : float
        Rows tested for each row learned from.
    spread : float, default=0.07
        The standard deviation :math:`\tau`.

    References
    ----------
    B. Efron and C. Morris, Stein's Estimation Rule and its Competitors, JASA 68, 1973.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.comparison._significance import weigh
    >>> losses = np.array([[0.30, 0.41, 0.28], [0.33, 0.37, 0.31], [0.62, 0.60, 0.66]])
    >>> (weigh(losses, np.array([0.3, 0.1, 0.4]), 0.5) - np.log(0.33)).round(2).tolist()
    [0.22, 0.08, 0.46]
    """
    means, variance = losses.mean(axis=1), _noise(losses, test_share)
    weight = spread**2 / (spread**2 + variance)
    return weight * np.log(means) + (1 - weight) * (usual + np.log(means.min()))


def _noise(losses: Floats, test_share: float) -> float:
    """Return the variance of the logarithm of a mean, of all methods alike."""
    relative = losses / losses.mean(axis=1)[:, None]
    left = relative - relative.mean(axis=0)
    n_methods, n_folds = losses.shape
    squares = float(np.sum(left**2))
    return squares / ((n_methods - 1) * (n_folds - 1)) * (1 / n_folds + test_share)


# A simpler method is taken if it is expected to lose at most so many standard errors more: where
# other tables tell what methods usually lose (``python -m benchmarks priors``), and elsewhere.
_SIMPLER, _SIMPLER_UNKNOWN = 0.25, 0.5


def expected_losses(
    losses: Mapping[str, Floats],
    usual: Mapping[str, float | None],
    test_share: float,
    spread: float = _SPREAD,
    simpler: float = _SIMPLER,
) -> tuple[dict[str, float], float]:
    """Return the logarithm of what each method may be expected to lose, and a tolerance.

    Where a mean is 0, logarithms don't exist: return the means themselves, and no tolerance.

    Parameters
    ----------
    losses : mapping of str to ndarray of shape (n_folds,)
        Of all methods that were tried.
    usual : mapping of str to float or None
        As in `weigh`. If it is not known of all that were tried, the folds alone decide.
    test_share, spread : float
        As in `weigh`.
    simpler : float
        The tolerance in standard errors of a difference, where it is known what is usual.
    """
    values = np.array([losses[name] for name in losses])
    means = values.mean(axis=1)
    if values.shape[0] < 2 or values.shape[1] < 2 or (means <= 0).any():
        return dict(zip(losses, means.tolist(), strict=True)), 0.0
    known = [usual.get(name) for name in losses]
    if None in known:
        expected = np.log(means)
        error, simpler = np.sqrt(2 * _noise(values, test_share)), _SIMPLER_UNKNOWN
    else:
        expected = weigh(values, np.array(known, float), test_share, spread)
        variance = _noise(values, test_share)
        error = np.sqrt(2 * variance * spread**2 / (spread**2 + variance))
    return dict(zip(losses, expected.tolist(), strict=True)), float(simpler * error)


if TYPE_CHECKING:
    from rankwise.comparison.runner import Comparison, Row


def advise(found: "Comparison") -> list[str]:
    """Return plain advice: which method and how good it is, and how sure that is."""
    best, measure = found.row(found.best), found.measures[0]
    low, high = measure.within(best.means[0] - best.halves[0], best.means[0] + best.halves[0])
    value = measure.meaning.format(f"{best.means[0]:.3f}")
    what = "ratings" if found.task.kind == "ratings" else "rows"
    first = (
        f"Use {best.name} ({best.about}): on unseen {what} {value} ({measure.name}, 95 % interval "
        f"{low:.3f} to {high:.3f})"
    )
    constant = next((row for row in found.rows if row.name == "constant" and not row.failure), None)
    if constant is not None and constant is not best:
        first += f"; a constant prediction scores {constant.means[0]:.3f}"
    leaks = [text for text in found.warnings if text.startswith("Leak?")]
    unsaved = (
        [] if found.model is not None else [f"rankwise can't save {best.name}: fit it yourself."]
    )
    return [*leaks, f"{first}.", _how_sure(found, best, constant), *unsaved]


def _how_sure(found: "Comparison", best: "Row", constant: "Row | None") -> str:
    if constant is best:
        return "No method is expected to do better than a constant prediction."
    doubt = ""
    if found.pair_interval is not None and found.pair_interval[0] <= 0.5:
        low, high = found.pair_interval
        doubt = (
            "Whether it is better than chance is open: it orders between "
            f"{low:.3f} and {high:.3f} of the pairs rightly (95 %). "
        )
    return doubt + _how_it_compares(found, best)


def _how_it_compares(found: "Comparison", best: "Row") -> str:
    first = found.rows[0]
    others = [row for row in found.rows if row is not best and not row.failure]
    if not others:
        return "Nothing else was tried."
    tied = [row for row in others if row.pvalue > SURE]
    if first is best:
        if tied:
            return f"{best.name} has the best mean; statistically tied: {_listed(tied)}."
        gap, tests = abs(others[0].means[0] - best.means[0]), len(others)
        corrected = f", corrected for {tests} tests" if tests > 1 else ""
        return (
            f"The next, {others[0].name}, is worse by {gap:.3f}, more than chance explains "
            f"({_p(others[0])}{corrected})."
        )
    text = f"{first.name} has the best mean ({found.measures[0].name} {first.means[0]:.3f}); "
    if best.pvalue <= SURE:
        text += f"{best.name} is worse ({best.means[0]:.3f}, {_p(best)})"
    else:
        text += f"{best.name} is statistically tied ({best.means[0]:.3f}, {_p(best)})"
    if not first.kept:
        text += f", and rankwise can't save {first.name}"
    elif found.by_experience:
        text += ", and the tie is broken by 17 other tables, on which it lost less"
    elif first.name in found.complex:
        text += " and simpler"
    ratio = first.fit_seconds / best.fit_seconds if best.fit_seconds else 1.0
    if ratio >= 1.5:
        text += f"; it is {ratio:.1f}x faster" if ratio < 10 else f"; it is {ratio:.0f}x faster"
    rest = [row for row in tied if row is not first]
    return text + (f". Also tied: {_listed(rest)}." if rest else ".")


def _p(row: "Row") -> str:
    return "p < 0.001" if row.pvalue < 0.001 else f"p = {row.pvalue:.2g}"


def _listed(rows: "list[Row]") -> str:
    """Return some methods with their means; a semicolon between them, as some have a comma."""
    named = "; ".join(f"{row.name} ({row.means[0]:.3f})" for row in rows[:3])
    return named + ("; and more" if len(rows) > 3 else "")
