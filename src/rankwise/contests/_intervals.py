"""What can be read off a fitted model of contests: effects, raters, probabilities, and the fit."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_whole
from rankwise._core.ids import find_ids
from rankwise.contests._columns import check_contests, check_covariates
from rankwise.contests._goodness_of_fit import GoodnessOfFit, Met, calibration_of, goodness_of
from rankwise.contests._loops.likelihood import DAVIDSON, PLAIN, RAO_KUPPER, Cells, expected
from rankwise.contests._newton import PairLikelihood, bootstrap_fits, draw_counts, halved
from rankwise.contests._strengths import StrengthsMixin, ends_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_BINS = 10_000


class ContestReadings(StrengthsMixin):
    """Methods of `BradleyTerry` that look at what it has learned."""

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

    def _expected(self, first: Indices, second: Indices, z: Floats) -> Floats:
        tie = [] if self._tie is None else [self._tie]
        params = np.concatenate([self.strengths_, self.effects_[: z.shape[1]], tie])
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
        tie = [] if self._tie is None else [self._tie]
        cells = self._cells
        if self._kind == PLAIN:
            cells = cells._replace(counts=halved(cells.counts))
        of = PairLikelihood(cells, len(self.items_), self._kind, scaled=len(self.raters_) > 0)
        return of, np.concatenate([self.strengths_, self.effects_, tie])

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
