"""Predictions of a model of contests, and their fit: residuals by pair, a test, calibration."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_whole
from rankwise._core.ids import find_ids
from rankwise.contests._counts import check_contests, check_covariates
from rankwise.contests._intervals import StrengthsMixin, ends_of
from rankwise.contests._loops.likelihood import (
    DAVIDSON,
    PLAIN,
    RAO_KUPPER,
    Cells,
    expected,
    moments,
)
from rankwise.contests._newton import PairLikelihood, bootstrap_fits, draw_counts, halved

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_SURE = 1e-3
_MUCH = 0.1
_MOST_BINS = 10_000


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
    # The square of a residual is on average V (1 - h), with the leverage h of a pair that met n
    # times and its true variance V. The estimated one is too small as well: p (1 - p) of an
    # estimate p is on average less by the variance of p, a share h / n. A square divided by it is
    # therefore (1 - h) / (1 - h / n) on average: as many parameters are lost as were learned if
    # pairs met often, and none if they met once.
    h, often = np.clip(values[:, 3] * variance, 0.0, 0.99), np.maximum(values[:, 0], 1.0)
    return Met(low, high, values, float((h * (1 - 1 / often) / (1 - h / often)).sum()))


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


class ContestsMixin(StrengthsMixin):
    """Predictions, effects and the fit of a `BradleyTerry`."""

    ties: str
    order_effect: bool
    effect_names_: list[str]
    effects_: Floats
    raters_: NDArray[Any]
    reliabilities_: Floats
    _rater_errors: Floats
    _kind: int
    _tie: float | None
    _cells: Cells
    _met: Met

    @property
    def n_contests_(self) -> float:
        """The sum of the weights of all contests."""
        check_is_fitted(self)
        return float(self._met.sums[:, 0].sum())

    @property
    def order_effect_(self) -> float:
        """What coming first adds to the advantage."""
        check_is_fitted(self)
        return float(self.effects_[0]) if self.order_effect else 0.0

    def effect_interval(self, level: float | None = None, *, kind: str = "sandwich") -> Floats:
        """Return the ends of the interval of each effect, in the order of ``effect_names_``."""
        check_is_fitted(self)
        n, d = len(self.items_), len(self.effects_)
        covariance = self._covariance(kind)[n : n + d, n : n + d]
        return ends_of(self.effects_, covariance, self._level(level))

    def reliability_interval(self, level: float | None = None) -> Floats:
        """Return the ends of the interval of each rater's reliability, strengths taken as known."""
        check_is_fitted(self)
        return ends_of(self.reliabilities_, np.diag(self._rater_errors**2), self._level(level))

    @property
    def random_raters_(self) -> NDArray[Any]:
        """Raters whose interval holds 0, a coin, and lies below 1, everyone's mean."""
        low, high = self.reliability_interval().T
        return self.raters_[(low <= 0) & (high < 1)]

    def predict_proba(
        self, first: ArrayLike, second: ArrayLike, *, covariates: ArrayLike | None = None
    ) -> Floats:
        """Return the probabilities of "first", "second" and "tie", of shape (m, 3).

        Parameters
        ----------
        first, second : array-like of shape (m,)
            Known items. With ``order_effect`` it matters who is named first.
        covariates : array-like of shape (m, d), default=None
            As in `fit`; needed if the model has learned with them.
        """
        check_is_fitted(self)
        columns = check_contests(first, second)
        codes = [
            find_ids(ids, self.items_, name)
            for ids, name in zip(columns, ("first", "second"), strict=True)
        ]
        names = self.effect_names_[self.order_effect :]
        z, _ = check_covariates(covariates, len(codes[0]), names)
        if self.order_effect:
            z = np.column_stack([np.ones(len(z)), z])
        return self._expected(codes[0], codes[1], z)

    def _params(self, n_effects: int) -> Floats:
        """Return strengths, the first effects and the parameter of ties, as one array."""
        if self.strengths_.shape != self.items_.shape or self.effects_.shape != (
            len(self.effect_names_),
        ):
            raise ValueError(
                f"strengths_ has the shape {self.strengths_.shape} and effects_ "
                f"{self.effects_.shape}: expected one for each of {len(self.items_)} items and "
                f"{len(self.effect_names_)} effects; fit the model again"
            )
        tie = [] if self._tie is None else [self._tie]
        return np.concatenate([self.strengths_, self.effects_[:n_effects], tie])

    def _expected(self, first: Indices, second: Indices, z: Floats) -> Floats:
        params = self._params(z.shape[1])
        cells = Cells(first, second, np.zeros((0, 4)), z, np.ones(len(first)))
        out = np.empty((len(first), 3))
        expected(cells, len(self.items_), params, self._kind, out)
        return out

    def _prefer(self, first: Indices, second: Indices) -> Floats:
        p = self._expected(first, second, np.zeros((len(first), 0)))
        return (1 + p[:, 0] - p[:, 1]) / 2

    def goodness_of_fit(self) -> GoodnessOfFit:
        """Return residuals by pair, and a test of whether one line of strengths explains them."""
        check_is_fitted(self)
        return goodness_of(self._met, self.items_)

    def calibration(self, n_bins: int = 10) -> tuple[Floats, Floats, Floats]:
        """Return what favourites were expected to get, what they got, and contests, by bins.

        Parameters
        ----------
        n_bins : int, default=10
            Bins of the expected share, from 1/2 to 1; those without a contest are left out.
        """
        check_is_fitted(self)
        if check_whole(n_bins, "n_bins") > _MOST_BINS:
            raise ValueError(f"n_bins={n_bins} is more than {_MOST_BINS:,}: give fewer")
        return calibration_of(self._met, n_bins)

    def bootstrap(self, n_samples: int = 1000, *, random_state: int = 0) -> Floats:
        """Return strengths learned from samples of the contests, of shape (n_samples, n).

        A sample draws as many contests as there were, by their counts (multinomial). Its fit starts
        from the model's own and takes four or five steps with the model's information, each a pass
        over the pairs; it is off by less than a thousandth of a standard error. Where these do not
        settle it, as for few contests, steps of Newton's method do.

        Parameters
        ----------
        n_samples : int, default=1000
            How many.
        random_state : int, default=0
            Seed of the draws.
        """
        check_is_fitted(self)
        check_whole(n_samples, "n_samples")
        check_whole(random_state, "random_state", 0)
        if len(self.raters_) or len(self.effects_) > self.order_effect:
            raise ValueError(
                "bootstrap is for contests without covariates and raters: use interval"
            )
        _, start = self._likelihood()
        of = PairLikelihood(self._cells, len(self.items_), self._kind)
        samples = draw_counts(self._cells.counts, n_samples, random_state)
        return bootstrap_fits(of, self._precision(len(start)), start, self._inverse, samples)

    def _likelihood(self) -> tuple[PairLikelihood, Floats]:
        cells = self._cells
        if self._kind == PLAIN:
            cells = cells._replace(counts=halved(cells.counts))
        of = PairLikelihood(cells, len(self.items_), self._kind, scaled=len(self.raters_) > 0)
        return of, self._params(len(self.effects_))

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not hasattr(self, "strengths_"):
            return
        n, cells, met = len(self.items_), self._cells, self._met
        m, d = len(cells.left), len(self.effects_)
        n_params = n + d + (self._tie is not None)
        codes = np.concatenate([cells.left, cells.right, met.left, met.right])
        shapes = (
            (cells.right.shape, (m,)),
            (cells.counts.shape, (m, 4)),
            (cells.z.shape, (m, d)),
            (cells.scale.shape, (m,)),
            (met.sums.shape, (len(met.left), 5)),
            (met.right.shape, met.left.shape),
            (self._inverse.shape, (n_params, n_params)),
            (self.effects_.shape, (len(self.effect_names_),)),
            (self.reliabilities_.shape, self.raters_.shape),
            (self._rater_errors.shape, self.raters_.shape),
        )
        good = all(found == wanted for found, wanted in shapes) and codes.dtype == np.int64
        if (
            not good
            or codes.min() < 0
            or codes.max() >= n
            or self._kind not in (PLAIN, DAVIDSON, RAO_KUPPER)
        ):
            raise ValueError("the contests of a BradleyTerry do not belong to its items")
