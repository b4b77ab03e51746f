"""The likelihood of contests: its maximum by Newton's method, raters, and how well it fits.

The log likelihood (`rankwise.contests._loops`) less precision / 2 times the sum of the squared
strengths is concave. A Newton step costs a pass over the pairs that have met and a Cholesky factor
of as many rows as there are items, whatever the number of contests was. Only differences of
strengths occur in the likelihood, so that the best ones add to 0.

A rater of scale a sees a times the difference of two items: 1 is like everyone, 0 answers at
random, less than 0 the wrong way round. Scales have a normal prior with mean 1 and variance 1.
Given the strengths the likelihood is concave in each scale, and given the scales in the strengths;
the two are improved by turns until scales no longer move.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.stats import chi2

from rankwise.contests._loops import (
    RAO_KUPPER,
    Cells,
    derivatives,
    expected,
    log_likelihood,
    scale_derivatives,
    score_spread,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Newton's decrement, in squared standard errors, below which nothing is left to gain; if items have
# less than the information 1 on average, times that.
_ENOUGH = 1e-9
_MAX_ITER = 100
_TURNS = 200
_STEADY = 1e-6
# The least mean scale that is made 1: raters who contradict each other may have the mean 0.
_LEAST = 0.1


class Likelihood(Protocol):
    """A log likelihood whose first n parameters are strengths, as Newton's method needs it."""

    @property
    def n(self) -> int:
        """The number of strengths."""

    def value(self, params: Floats) -> float:
        """Return the log likelihood, minus infinity where it is not defined."""

    def derivatives(self, params: Floats) -> tuple[Floats, Floats]:
        """Return the gradient, and the upper triangle of minus the Hessian."""

    def spread(self, params: Floats, inverse: Floats) -> tuple[Floats, Floats | float]:
        """Return the sum of the squared gradients of the rows with their leverage.

        And how much less than minus the Hessian these are by design, or 0: both upper triangles.
        """


class PairLikelihood(NamedTuple):
    """The log likelihood of pairs of n items; ``kind`` is the model of ties."""

    cells: Cells
    n: int
    kind: int

    def value(self, params: Floats) -> float:
        """Return the log likelihood, minus infinity where it is not defined."""
        if self.kind == RAO_KUPPER and params[-1] <= 0:
            return -np.inf
        return float(log_likelihood(self.cells, self.n, params, self.kind))

    def derivatives(self, params: Floats) -> tuple[Floats, Floats]:
        """Return the gradient, NaN if not defined, and the upper triangle of minus the Hessian."""
        p = len(params)
        if self.kind == RAO_KUPPER and params[-1] <= 0:
            return np.full(p, np.nan), np.eye(p)
        gradient, information = np.zeros(p), np.zeros((p, p))
        derivatives(self.cells, self.n, params, self.kind, gradient, information)
        return gradient, information

    def spread(self, params: Floats, inverse: Floats) -> tuple[Floats, Floats]:
        """Return the squared gradients of the rows, and what rows that are partly wins lack."""
        squares, less = np.zeros_like(inverse), np.zeros_like(inverse)
        variance = self.advantage_variance(inverse)
        score_spread(self.cells, self.n, params, self.kind, variance, squares, less)
        return squares, less

    def advantage_variance(self, inverse: Floats) -> Floats:
        """Return the variance of each cell's advantage, given that of the parameters."""
        i, j, _, z, scale = self.cells
        effects = slice(self.n, self.n + z.shape[1])
        variance = inverse[i, i] + inverse[j, j] - 2 * inverse[i, j]
        if z.shape[1]:
            variance += 2 * (z * (inverse[i, effects] - inverse[j, effects])).sum(axis=1)
            variance += np.einsum("ck,kl,cl->c", z, inverse[effects, effects], z)
        return scale**2 * variance


class Maximum(NamedTuple):
    """Maximum of the posterior.

    Attributes
    ----------
    params : ndarray of shape (p,)
        Strengths, effects of covariates, and the parameter of ties if there is one.
    value : float
        The log likelihood less the prior's share.
    inverse : ndarray of shape (p, p)
        The inverse of minus its second derivatives; with no prior, as if the sum of the strengths
        were known. 0 if it could not be computed.
    n_iter : int
        Newton steps.
    decrement : float
        What a further step would gain, times two: in squared standard errors. Infinite if the
        information could not be inverted.
    """

    params: Floats
    value: float
    inverse: Floats
    n_iter: int
    decrement: float


def initial_params(cells: Cells, n: int, tie: float | None) -> Floats:
    """Return where to start: strengths from the shares that items got."""
    up, down = cells.counts[:, :2].T + cells.counts[:, 2] / 2
    won = np.bincount(cells.left, up, n) + np.bincount(cells.right, down, n)
    lost = np.bincount(cells.left, down, n) + np.bincount(cells.right, up, n)
    strengths = np.log((won + 1) / (lost + 1))
    effects = np.zeros(cells.z.shape[1])
    return np.concatenate([strengths - strengths.mean(), effects, [] if tie is None else [tie]])


def prior_precision(prior: float | None, n: int, n_params: int) -> Floats:
    """Return one over the variance of each parameter's prior: the n strengths have one."""
    return np.where(np.arange(n_params) < n, 0.0 if prior is None else prior**-2.0, 0.0)


def maximise(of: Likelihood, precision: Floats, start: Floats) -> Maximum:
    """Find the strengths and effects of the highest posterior by Newton's method.

    Parameters
    ----------
    of : Likelihood
        Its logarithm is concave.
    precision : ndarray of shape (p,)
        One over the variance of the normal prior of each parameter; 0: none.
    start : ndarray of shape (p,)
        Where to start.
    """
    for search in (False, True):
        params, factor, n_iter, decrement = _climb(of, precision, start, search=search)
        value = log_posterior(of, precision, params)
        if np.isfinite(decrement + value):
            inverse = symmetric(np.triu(dpotri(factor)[0]))
            return Maximum(params, value, inverse, n_iter, decrement)
    return Maximum(params, value, np.zeros((len(start), len(start))), n_iter, decrement)


def _climb(
    of: Likelihood, precision: Floats, params: Floats, *, search: bool
) -> tuple[Floats, Floats, int, float]:
    """Take Newton steps until there is nothing left to gain.

    Return the parameters, the Cholesky factor of the information, the number of steps and the
    decrement. Without a line search, which is hardly ever needed, it ends with a decrement of
    infinity as soon as a step leaves more to gain than the one before it. So it does if the
    information can't be inverted.
    """
    n_iter, decrement, enough = 0, np.inf, _ENOUGH
    while decrement >= enough and n_iter < _MAX_ITER:
        before = decrement
        gradient, information = of.derivatives(params)
        gradient -= precision * params
        information[np.diag_indices_from(information)] += precision
        enough = _ENOUGH * min(float(np.trace(information)) / len(params), 1.0)
        # with the sum of the strengths observed too, the information has an inverse
        information[: of.n, : of.n] += np.trace(information[: of.n, : of.n]) / of.n**2
        n_iter += 1
        try:
            factor, _ = cho_factor(information, check_finite=False)
        except LinAlgError:
            return params, information, n_iter, np.inf
        step = cho_solve((factor, False), gradient, check_finite=False)
        decrement = float(gradient @ step)
        if not np.isfinite(decrement) or (decrement > before and not search):
            return params, information, n_iter, np.inf
        length = 1.0
        if search:
            value = log_posterior(of, precision, params)
            least = value - 1e-13 * (1.0 + abs(value))
            for length in 0.5 ** np.arange(35):
                gained = log_posterior(of, precision, params + length * step) - least
                if gained >= 1e-4 * length * decrement:
                    break
        params = params + length * step
    return params, factor, n_iter, decrement


def log_posterior(of: Likelihood, precision: Floats, params: Floats) -> float:
    """Return the log likelihood less the prior's share."""
    return of.value(params) - 0.5 * float(precision @ params**2)


def symmetric(upper: Floats) -> Floats:
    """Return the symmetric matrix of an upper triangle."""
    return upper + np.triu(upper, 1).T


def halved(counts: Floats) -> Floats:
    """Return counts in which a tie is half a win of each."""
    wins, losses, ties, soft = counts.T
    return np.column_stack([wins + ties / 2, losses + ties / 2, 0 * ties, soft + ties / 4])


def check_solved(best: Maximum) -> None:
    """Raise if Newton's method found no maximum, though there is one."""
    if not np.isfinite(best.decrement):
        raise ValueError(
            "the fit can't be computed: weights or covariates differ by too many orders of "
            "magnitude; drop the contests of the smallest weights, or rescale the covariates"
        )


def fit_raters(
    of: PairLikelihood, precision: Floats, start: Floats, rater: Indices | None
) -> tuple[Maximum, PairLikelihood, Floats, Floats, bool]:
    """Learn strengths and the scales of raters by turns.

    Parameters
    ----------
    of : PairLikelihood
        With raters, one cell a contest.
    precision, start
        As in `maximise`.
    rater : ndarray of shape (c,) or None
        The code of each cell's rater; None: there are none.

    Returns
    -------
    Maximum, likelihood, scales of the raters, their standard errors, and whether it converged
    """
    if rater is None:
        return maximise(of, precision, start), of, np.zeros(0), np.zeros(0), True
    weight = np.bincount(rater, of.cells.counts[:, :3].sum(axis=1))
    scales = np.ones(len(weight))
    change = np.inf
    for _ in range(_TURNS):
        of = of._replace(cells=of.cells._replace(scale=scales[rater]))
        best = maximise(of, precision, start)
        if change <= _STEADY or not np.isfinite(best.decrement):
            break
        start = best.params
        better = _scales(of, start, rater, scales)
        # Scales and strengths can be traded for each other: the mean contest has the scale 1.
        better /= max(float(weight @ better) / weight.sum(), _LEAST)
        change = float(np.abs(better - scales).max())
        scales = better
    # The information falls as a scale grows: a rater who contradicts the others by chance would
    # seem sure. For scales nearer to 0 than the mean, 1, it is that at 1.
    curvature = np.ones(len(scales))
    cells = of.cells._replace(scale=np.where(np.abs(scales) < 1, 1.0, scales)[rater])
    scale_derivatives(cells, of.n, best.params, of.kind, rater, 0 * scales, curvature)
    return best, of, scales, 1.0 / np.sqrt(curvature), change <= _STEADY


def _scales(of: PairLikelihood, params: Floats, rater: Indices, scales: Floats) -> Floats:
    """Return the best scale of each rater, given the strengths, by damped Newton steps."""
    for _ in range(50):
        gradient, curvature = 1.0 - scales, np.ones(len(scales))
        cells = of.cells._replace(scale=scales[rater])
        scale_derivatives(cells, of.n, params, of.kind, rater, gradient, curvature)
        step = np.clip(gradient / curvature, -1.0, 1.0)
        scales = scales + step
        if np.abs(step).max() < _STEADY / 10:
            break
    return scales


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
    """Goodness of fit: how well strengths alone explain the contests.

    Attributes
    ----------
    statistic : float
        Pearson's: the sum of z^2 over the pairs that have met.
    dof : float
        Its mean if the model holds: pairs less parameters, if pairs met often.
    pvalue : float
        The probability of a statistic as large if the model holds. The distribution is a scaled
        chi-squared with the mean and variance that the counts imply, so pairs may have met once.
    unexplained : float
        The share of the differences between pairs, without noise, that strengths do not explain:
        0 if strengths explain all, near 1 if winners go in circles.
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
        """Whether the model misses a large and significant part."""
        return self.pvalue < 1e-3 and self.unexplained > 0.1


class Met(NamedTuple):
    """Sums over the contests of each pair i < j: contests, share of i, and moments of the share.

    Attributes
    ----------
    left, right : ndarrays of shape (p,)
        Codes of the items.
    sums : ndarray of shape (p, 5)
        Contests, what i got, what was expected, its variance, and its fourth cumulant.
    n_free : float
        How much less the sum of z^2 is on average, since strengths were fitted to the same
        contests.
    """

    left: Indices
    right: Indices
    sums: Floats
    n_free: float


def sum_by_pair(of: PairLikelihood, params: Floats, inverse: Floats) -> Met:
    """Compare cells with what a model expects of them, and add them up by pair.

    ``inverse`` is that of the information, strengths first.
    """
    cells, n = of.cells, of.n
    wins, losses, ties, soft = cells.counts.T
    p = np.empty((len(wins), 3))
    expected(cells, n, params, of.kind, p)
    total, mean = wins + losses + ties, p[:, 0] + p[:, 2] / 2
    squares = np.column_stack([1 - mean, mean, 0.5 - mean]) ** 2
    variance = (p * squares).sum(axis=1)
    cumulant = (p * squares**2).sum(axis=1) - 3 * variance**2
    values = np.column_stack([np.ones(len(wins)), mean, mean, variance, cumulant]) * total[:, None]
    values[:, 1] = wins + ties / 2
    if soft.any():
        # Rows that are partly wins vary less than the model says.
        seen = float((cells.counts[:, :3] * squares).sum() - soft.sum())
        ratio = min(1.0, seen / float(values[:, 3].sum()))
        values[:, 3:] *= [ratio, ratio**2]
    swapped = cells.left > cells.right
    values[swapped, 1:3] = values[swapped, :1] - values[swapped, 1:3]
    low, high = np.minimum(cells.left, cells.right), np.maximum(cells.left, cells.right)
    keys = low * n + high
    if not (keys[1:] > keys[:-1]).all():
        keys, pair = np.unique(keys, return_inverse=True)
        sums = np.zeros((len(keys), 5))
        np.add.at(sums, pair, values)
        low, high, values = keys // n, keys % n, sums
    spread = np.diag(inverse)[low] + np.diag(inverse)[high] - 2 * inverse[low, high]
    # The square of a residual is on average V (1 - h), with the leverage h of a pair that met n
    # times and its true variance V. The estimated one is too small as well: p (1 - p) of an
    # estimate p is on average less by the variance of p, a share h / n. A square divided by it is
    # therefore (1 - h) / (1 - h / n) on average: as many parameters are lost as were learned if
    # pairs met often, and none if they met once.
    h, often = np.clip(values[:, 3] * spread, 0.0, 0.99), np.maximum(values[:, 0], 1.0)
    return Met(low, high, values, float((h * (1 - 1 / often) / (1 - h / often)).sum()))


def goodness_of(met: Met, items: NDArray[Any]) -> GoodnessOfFit:
    """Test whether pairs differ from what is expected by more than chance."""
    n, observed, fitted, variance, cumulant = met.sums.T
    variance = np.maximum(variance, 1e-12)
    z = (observed - fitted) / np.sqrt(variance)
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
    apart = float(((observed - n / 2) ** 2 / variance).sum()) - pairs
    excess = max(statistic - dof, 0.0)
    unexplained = min(excess / max(apart, excess, 1e-12), 1.0) if pvalue < 1 else 0.0
    residuals = Residuals(items[met.left], items[met.right], n, observed / n, fitted / n, z)
    return GoodnessOfFit(statistic, dof, pvalue, unexplained, residuals)
