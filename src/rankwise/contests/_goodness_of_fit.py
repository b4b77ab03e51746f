"""Does a model of strengths fit what was seen? Residuals by pair, a test, and calibration."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from rankwise.contests._loops.likelihood import Cells, moments

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_SURE = 1e-3
_MUCH = 0.1


class Residuals(NamedTuple):
    """Pairs that have met, the first being the one before the other in ``items_``.

    Attributes
    ----------
    first, second : ndarrays
        The two items.
    n : ndarray
        How often they met.
    observed, expected : ndarrays
        The share that the first one got, a tie being half, and what the model says.
    z : ndarray
        Their difference in standard errors.
    """

    first: NDArray[Any]
    second: NDArray[Any]
    n: Floats
    observed: Floats
    expected: Floats
    z: Floats


class GoodnessOfFit(NamedTuple):
    """How well one line of strengths explains the contests.

    Attributes
    ----------
    statistic : float
        Pearson's: the sum of z^2 over the pairs that have met.
    dof : float
        What it is on average if the model holds: pairs less parameters, if pairs met often.
    pvalue : float
        The probability of as much, if the model holds. The distribution is a scaled chi-squared of
        the mean and the variance that the counts imply, so that pairs may have met but once.
    unexplained : float
        The share of what pairs differ by that strengths do not explain, noise taken off: 0 if
        strengths are all there is, near 1 if winners go in circles.
    residuals : Residuals
        Pair by pair.
    """

    statistic: float
    dof: float
    pvalue: float
    unexplained: float
    residuals: Residuals

    @property
    def is_bad(self) -> bool:
        """Whether it is sure that something is missing, and much."""
        return self.pvalue < _SURE and self.unexplained > _MUCH


class Met(NamedTuple):
    """Sums over the contests of each pair i < j: contests, share of i, and moments of the share.

    Attributes
    ----------
    left, right : ndarrays of shape (p,)
        Codes of the items.
    sums : ndarray of shape (p, 5)
        Contests, what i got, what was expected, its variance, and its fourth cumulant.
    n_free : float
        How much less the sum of z^2 is on average, since strengths were learned from the same
        contests.
    """

    left: Indices
    right: Indices
    sums: Floats
    n_free: float


def met_of(cells: Cells, n: int, params: Floats, kind: int, inverse: Floats) -> Met:
    """Compare cells with what a model expects of them, and add them up by pair.

    ``inverse`` is that of the information, strengths first.
    """
    values = np.empty((len(cells.left), 5))
    moments(cells, n, params, kind, values)
    wins, losses, ties, soft = cells.counts.T
    if soft.any():
        # Rows that are partly wins vary less than the model says.
        mean = values[:, 2] / values[:, 0]
        seen = wins * (1 - mean) ** 2 + losses * mean**2 + ties * (0.5 - mean) ** 2 - soft
        ratio = min(1.0, float(seen.sum() / values[:, 3].sum()))
        values[:, 3:] *= [ratio, ratio**2]
    swapped = cells.left > cells.right
    if swapped.any():
        values[swapped, 1:3] = values[swapped, :1] - values[swapped, 1:3]
    low, high = np.minimum(cells.left, cells.right), np.maximum(cells.left, cells.right)
    keys = low * n + high
    if not (keys[1:] > keys[:-1]).all():
        keys, place = np.unique(keys, return_inverse=True)
        sums = np.zeros((len(keys), 5))
        np.add.at(sums, place, values)
        low, high, values = keys // n, keys % n, sums
    variance = np.diag(inverse)[low] + np.diag(inverse)[high] - 2 * inverse[low, high]
    return Met(low, high, values, _taken_off(values[:, 0], values[:, 3] * variance))


def _taken_off(n: Floats, leverage: Floats) -> float:
    r"""Return how much less Pearson's statistic is on average than the number of pairs.

    With the leverage h of a pair that met n times, the square of its residual is on average
    V (1 - h), where V is its true variance. The estimated one is too small as well: p (1 - p) of an
    estimate p is on average less by the variance of p, a share h / n. A square divided by it is
    therefore (1 - h) / (1 - h / n) on average: as many parameters are lost as were learned if pairs
    met often, and none if they met once.
    """
    h, often = np.clip(leverage, 0.0, 0.99), np.maximum(n, 1.0)
    return float((h * (1 - 1 / often) / (1 - h / often)).sum())


def goodness_of(met: Met, items: NDArray[Any]) -> GoodnessOfFit:
    """Test whether pairs differ from what is expected by more than chance."""
    n, got, hoped, variance, cumulant = met.sums.T
    variance = np.maximum(variance, 1e-12)
    z = (got - hoped) / np.sqrt(variance)
    statistic, pairs = float((z**2).sum()), len(n)
    dof = max(pairs - met.n_free, 0.0)
    pvalue = 1.0
    if dof > 0.01 * pairs:
        spread = float((2.0 + cumulant / variance**2).clip(min=0.05).sum()) * dof / pairs
        scale = spread / (2 * dof)
        # less than one pair's worth of surprise can't be tested
        if scale < dof:
            pvalue = float(chi2.sf(statistic / scale, dof / scale))
    # How far the shares are from 1/2, in the same units, less what chance adds.
    apart = float(((got - n / 2) ** 2 / variance).sum()) - pairs
    left_over = max(statistic - dof, 0.0)
    unexplained = min(left_over / max(apart, left_over, 1e-12), 1.0) if pvalue < 1 else 0.0
    residuals = Residuals(items[met.left], items[met.right], n, got / n, hoped / n, z)
    return GoodnessOfFit(statistic, dof, pvalue, unexplained, residuals)


def calibration_of(met: Met, n_bins: int) -> tuple[Floats, Floats, Floats]:
    """Return what favourites were expected to get, what they got, and contests, by bins."""
    n, got, hoped, _, _ = met.sums.T
    turned = hoped < n / 2
    got, hoped = np.where(turned, n - got, got), np.where(turned, n - hoped, hoped)
    share = np.clip(hoped / n, 0.5, 1.0)
    bins = np.minimum((2 * n_bins * (share - 0.5)).astype(np.int64), n_bins - 1)
    sums = np.zeros((n_bins, 3))
    np.add.at(sums, bins, np.column_stack([hoped, got, n]))
    sums = sums[sums[:, 2] > 0]
    return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2], sums[:, 2]
