"""Intervals of strengths and ranks, the probability of being the best, and the bootstrap.

Draws from the posterior are made by elliptical slice sampling. The base is a Student t distribution
at the maximum, whose tails are heavier than those of the posterior: a normal one of a random scale.
With a point of the base and another draw of it, the next point lies on the ellipse through both, at
an angle that is drawn from a slice of the ratio of the posterior and the base. No step is rejected
and nothing needs to be tuned.

References
----------
I. Murray, R. P. Adams and D. J. C. MacKay, *Elliptical slice sampling*, AISTATS 2010.
R. Nishihara, I. Murray and R. P. Adams, *Parallel MCMC with generalized elliptical slice sampling*,
JMLR 2014.
"""

import csv
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_level, check_word, shortened
from rankwise._core.files import replacing
from rankwise._core.ids import find_ids
from rankwise._core.ranking import Ranking
from rankwise._core.sklearn_private import Interval
from rankwise.contests._likelihood import (
    Likelihood,
    PairLikelihood,
    halved,
    log_posterior,
    maximise,
    prior_precision,
    symmetric,
)
from rankwise.contests._loops import PLAIN, largest_gaps, refit, resample

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Steps before the first draw; then each is one.
_FIRST = 100
# Degrees of freedom of the base of the draws.
_DOF = 2.0
# The largest standard error of a strength at which the posterior is taken as normal: two standard
# errors away the information of a contest has changed by a factor of at most e^0.6.
_NORMAL = 0.3
# Up to this number, contests of a sample are drawn one by one.
_MOST_DRAWN = 2**22
# Precision of the prior that keeps the parameters of a sample finite: a standard deviation of 100.
_WEAK = 1e-4


def sandwich(of: Likelihood, precision: Floats, params: Floats, inverse: Floats) -> Floats:
    """Return the inverse information times the squared gradients of the rows times the inverse.

    The prior's precision counts as a row. If the squares are less on average than the model
    expects, as residuals of few rows are, the rest of it is added.
    """
    squares, less = of.spread(params, inverse)
    information = of.derivatives(params)[1] - less
    for matrix in (squares, information):
        matrix[np.diag_indices_from(matrix)] += precision
    squares, expected = symmetric(squares), symmetric(information)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = float(np.vdot(inverse, squares) / np.vdot(inverse, expected))
        return inverse @ (squares + max(1.0 - ratio, 0.0) * expected) @ inverse


def centred(covariance: Floats, n: int) -> Floats:
    """Return the covariance of parameters of which n, the strengths, add to 0."""
    covariance = covariance.copy()
    covariance[:n] -= covariance[:n].mean(axis=0)
    covariance[:, :n] -= covariance[:, :n].mean(axis=1, keepdims=True)
    return (covariance + covariance.T) / 2


def draw_errors(covariance: Floats, n_draws: int, seed: int) -> Floats:
    """Return draws of normal errors of strengths, of shape (n_draws, n); their sum is free."""
    n = len(covariance)
    factor, _ = covariance_factor(covariance, n)
    noise = np.random.default_rng(seed).standard_normal((n_draws, n))
    return np.ascontiguousarray(noise @ factor.T)


def covariance_factor(covariance: Floats, n: int) -> tuple[Floats, float]:
    """Return a square root of a covariance whose n strengths add to 0, and one number more.

    The mean of the strengths gets a variance, so that the matrix can be factored: the number.
    """
    spread = float(np.trace(covariance[:n, :n])) / n**2 or 1.0
    covariance = covariance.copy()
    covariance[:n, :n] += spread
    errors = np.sqrt(np.diag(covariance))
    scaled = covariance / errors[:, None] / errors
    scaled[np.diag_indices_from(scaled)] += 1e-10
    try:
        root = cholesky(scaled, lower=True)
    except LinAlgError:
        # a singular matrix that rounding has made indefinite
        values, vectors = eigh(scaled)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return errors[:, None] * root, spread


def rank_bounds(
    strengths: Floats, covariance: Floats, model: Floats, draws: Floats, level: float
) -> Indices:
    """Return the best and the worst rank of each item, for all items at once.

    The differences of all pairs are tested together: the limit is the quantile of the largest one
    of ``draws`` in units of its standard error. An item's best rank is behind those that are surely
    better. From few rows some standard errors are too small by chance, and these pairs would have
    the largest differences: each is at least that of the model's covariance, which is scaled down
    if its trace is the larger one.
    """
    per_error = _per_error(covariance)
    most = np.where(np.eye(len(strengths), dtype=np.bool_), 0.0, per_error).max(axis=1)
    gaps = np.empty(len(draws))
    largest_gaps(draws, np.argsort(draws, axis=1), per_error, most, gaps)
    share = min(1.0, float(np.trace(covariance) / np.trace(model)))
    per_error = np.minimum(per_error, _per_error(share * model))
    # two standard errors above, since the same seed errs in the same direction for all data
    upper = min(1.0, level + 2 * np.sqrt(level * (1 - level) / len(gaps)))
    limit = np.quantile(gaps, upper, method="higher") / per_error
    difference = strengths[:, None] - strengths[None, :]
    np.fill_diagonal(limit, np.inf)
    better = (difference > limit).sum(axis=0)
    worse = (difference > limit).sum(axis=1)
    return np.column_stack([1 + better, len(strengths) - worse]).astype(np.int64)


def _per_error(covariance: Floats) -> Floats:
    variance = np.diag(covariance)
    squares = variance[:, None] + variance[None, :] - 2 * covariance
    np.fill_diagonal(squares, 1.0)
    return 1.0 / np.sqrt(np.maximum(squares, 1e-300))


def draw_posterior(
    of: Likelihood, precision: Floats, params: Floats, covariance: Floats, n_draws: int, seed: int
) -> Floats:
    """Return draws of the strengths from their posterior, which add to 0: (n_draws, n).

    Parameters
    ----------
    of, precision
        The likelihood and the prior, as in `rankwise.contests._likelihood.maximise`.
    params : ndarray of shape (p,)
        Maximum of the posterior.
    covariance : ndarray of shape (p, p)
        Of the normal distribution there; that of the strengths adds to 0.
    n_draws, seed : int
        The number of draws, and the seed of the generator.
    """
    n = of.n
    factor, spread = covariance_factor(covariance, n)
    random = np.random.default_rng(seed)
    draws = np.empty((_FIRST + n_draws, n))
    half = (_DOF + len(params)) / 2

    def ratio(point: Floats) -> tuple[float, Floats]:
        errors = factor @ point
        mean = errors[:n].mean()
        errors[:n] -= mean
        base = -half * np.log1p(point @ point / _DOF) + 0.5 * mean**2 / spread
        return log_posterior(of, precision, params + errors) - base, params + errors

    now = np.zeros(len(params))
    height, _ = ratio(now)
    for draw in draws:
        scale = np.sqrt((_DOF + now @ now) / 2 / random.standard_gamma(half))
        other = scale * random.standard_normal(len(params))
        least = height - random.exponential()
        angle = random.uniform(0.0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while True:
            new = np.cos(angle) * now + np.sin(angle) * other
            height, drawn = ratio(new)
            # a slice that is as thin as rounding ends at the point itself
            if height >= least or high - low < 1e-10:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = random.uniform(low, high)
        now, draw[:] = new, drawn[:n]
    return draws[_FIRST:]


def draw_counts(counts: Floats, n_samples: int, seed: int) -> Iterator[Floats]:
    """Yield the counts of samples of as many contests, drawn by their counts.

    All of them are one array, which is overwritten.
    """
    random = np.random.default_rng(seed)
    often = counts * [1, 1, 1, 0]
    total = max(round(float(often.sum())), 1)
    # For some contests a pair it is quicker to draw them one by one.
    few = total <= min(20 * counts.size, _MOST_DRAWN)
    single = few and bool((often == np.floor(often)).all())
    times = often.ravel().astype(np.int64) * single
    cells = np.arange(counts.size, dtype=np.uint16 if counts.size <= 2**16 else np.int32)
    rows = np.repeat(cells, times)
    drawn = np.empty(counts.shape)
    for _ in range(n_samples):
        if single:
            resample(rows, random.integers(2**63), drawn.reshape(-1))
        else:
            drawn[:] = random.multinomial(total, often.ravel() / often.sum()).reshape(-1, 4)
        yield drawn


def bootstrap_fits(
    of: PairLikelihood,
    precision: Floats,
    start: Floats,
    inverse: Floats,
    n_samples: int,
    seed: int,
) -> Floats:
    """Return the strengths of samples of the contests, of shape (n_samples, n).

    ``start`` is the fit to all of them and ``inverse`` that of its information. An item or an
    effect that a sample left without a finite estimate stays where a prior of standard deviation
    100 puts it, and a sample without ties has no parameter of ties. For `PLAIN` a tie is half a win
    of each.
    """
    precision, fits = np.maximum(precision, _WEAK), []
    for drawn in draw_counts(of.cells.counts, n_samples, seed):
        params = start.copy()
        sample = of._replace(cells=of.cells._replace(counts=drawn))
        kind = of.kind if drawn[:, 2].any() else PLAIN
        if kind != of.kind or not refit(sample.cells, of.n, kind, precision[0], inverse, params):
            counts = halved(drawn) if kind == PLAIN else drawn
            sample = PairLikelihood(sample.cells._replace(counts=counts), of.n, kind)
            p = len(start) - (of.kind != kind)
            params = maximise(sample, precision[:p], start[:p]).params
        fits.append(params[: of.n])
    strengths = np.array(fits)
    return strengths - strengths.mean(axis=1, keepdims=True)


class StrengthsMixin:
    """Items on a line, each with its strength, and how sure that is.

    A model sets ``items_``, ``strengths_`` and, for all its parameters with the strengths first,
    ``_inverse`` (of minus the second derivatives of the log posterior).
    """

    _strength_constraints: ClassVar[dict[str, Any]] = {
        "prior": [Interval(Real, 1e-6, 1e6, closed="both"), None],
        "level": [Interval(Real, 0, 1, closed="neither")],
        "n_draws": [Interval(Integral, 100, None, closed="left")],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    items_: NDArray[Any]
    strengths_: Floats
    level: float
    prior: float | None
    n_draws: int
    random_state: int
    _inverse: Floats
    _validate_params: Callable[[], None]

    # computed when it is needed; files of version 0.2 hold it
    _sandwich: Floats | None = None

    def covariance(self, kind: str = "sandwich") -> Floats:
        """Return the covariance of the strengths, of shape (n, n); its rows add to 0.

        Parameters
        ----------
        kind : {"sandwich", "model"}, default="sandwich"
            "model" is the inverse of the information, right if the model is. "sandwich" also holds
            if contests vary more or less than the model says; each is counted as if it had been
            left out of the fit (HC3), and all of them, on average, at least as the model expects.
        """
        check_is_fitted(self)
        n = len(self.items_)
        return self._covariance(kind)[:n, :n]

    def _covariance(self, kind: str) -> Floats:
        check_word(kind, "kind", ("sandwich", "model"))
        if kind == "model":
            return centred(self._inverse, len(self.items_))
        if self._sandwich is None:
            self._validate_params()
            of, params = self._likelihood()
            precision = prior_precision(self.prior, of.n, len(params))
            self._sandwich = sandwich(of, precision, params, self._inverse)
        return centred(self._sandwich, len(self.items_))

    def interval(self, level: float | None = None, *, kind: str = "sandwich") -> Floats:
        """Return the ends of each strength's interval, of shape (n, 2).

        Each holds its strength with the probability ``level``; strengths add to 0, so that an
        interval is about the distance from the mean item. It is normal. Where the standard error
        by the model is above 0.3, as of an item of few contests or one that hardly ever lost, the
        posterior is skewed: the interval then also spans the posterior quantiles of ``n_draws``
        draws, unless ``prior`` is None.

        Parameters
        ----------
        level : float, default=None
            The confidence level; None: the model's.
        kind : {"sandwich", "model"}, default="sandwich"
            See `covariance`.
        """
        check_is_fitted(self)
        level = self._level(level)
        low, high = normal_interval(self.strengths_, self.covariance(kind), level).T
        skewed = np.diag(self.covariance("model")) > _NORMAL**2
        if self.prior is not None and skewed.any():
            lower, upper = np.quantile(self._draws(), [(1 - level) / 2, (1 + level) / 2], axis=0)
            low = np.where(skewed, np.minimum(low, lower), low)
            high = np.where(skewed, np.maximum(high, upper), high)
        return np.column_stack([low, high])

    def rank_interval(self, level: float | None = None, *, kind: str = "sandwich") -> Indices:
        """Return the best and the worst rank of each item, of shape (n, 2), from 1.

        All of them hold at once with the probability ``level``. The differences of all pairs are
        tested together, by the largest one in ``n_draws`` draws of the joint normal; an item's best
        rank is behind those that are surely better, its worst before those that are surely worse.
        No difference has a smaller standard error than by the model's covariance, scaled down to
        the trace of the sandwich if that is less: few contests or rankings leave some too small.

        Parameters
        ----------
        level : float, default=None
            The confidence level; None: the model's.
        kind : {"sandwich", "model"}, default="sandwich"
            See `covariance`.
        """
        covariance, model = self.covariance(kind), self.covariance("model")
        draws = draw_errors(covariance, self.n_draws, self.random_state)
        return rank_bounds(self.strengths_, covariance, model, draws, self._level(level))

    @property
    def p_best_(self) -> Floats:
        """The posterior probability that each item is the strongest: its share of ``n_draws``.

        It is that of the model and its prior, which may be a flat one, and not of the sandwich.
        """
        check_is_fitted(self)
        best = self._draws().argmax(axis=1)
        return np.bincount(best, minlength=len(self.items_)) / len(best)

    def _draws(self) -> Floats:
        """Return ``n_draws`` draws of the strengths from their posterior."""
        covariance = self._covariance("model")
        if not self._has_evidence():
            return self.strengths_ + draw_errors(covariance, self.n_draws, self.random_state)
        self._validate_params()
        of, params = self._likelihood()
        precision = prior_precision(self.prior, of.n, len(params))
        return draw_posterior(of, precision, params, covariance, self.n_draws, self.random_state)

    def _has_evidence(self) -> bool:
        """Return whether `_likelihood` is there; draws are from the normal approximation if not."""
        return True

    def _likelihood(self) -> tuple[Likelihood, Floats]:
        """Return the likelihood of the fit, and the parameters that maximise it."""
        raise NotImplementedError

    def ranking(self) -> Ranking:
        """Return the items, strongest first; equal ones as in ``items_``."""
        check_is_fitted(self)
        by_code = Ranking.from_scores(self.strengths_)
        return Ranking(order=self.items_[by_code.order], positions=by_code.positions)

    def prefer(self, u: Any, v: Any) -> Any:
        """Return the probability that u goes before v, half of a tie's included.

        Parameters
        ----------
        u, v : ids, or lists or arrays of ids
            Two items, or as many on each side. It serves as the comparator of `quicksort`.

        Returns
        -------
        float, or ndarray of shape (m,)
        """
        check_is_fitted(self)
        many = [isinstance(ids, list | np.ndarray) or hasattr(ids, "__array__") for ids in (u, v)]
        if many[0] != many[1]:
            raise ValueError(
                f"u={shortened(u)} and v={shortened(v)} must be two items or two lists"
            )
        pairs = [
            find_ids(ids if many[0] else [ids], self.items_, name)
            for ids, name in ((u, "u"), (v, "v"))
        ]
        if len(pairs[0]) != len(pairs[1]):
            raise ValueError(f"u has {len(pairs[0])} items, but v has {len(pairs[1])}")
        probabilities = self._prefer(*pairs)
        return probabilities if many[0] else float(probabilities[0])

    def _prefer(self, first: Indices, second: Indices) -> Floats:
        raise NotImplementedError

    def table(self, level: float | None = None) -> dict[str, Any]:
        """Return what is known of each item as columns, strongest first.

        They are ``item``, ``strength``, ``low``, ``high``, ``rank``, ``best_rank``, ``worst_rank``
        and ``p_best``.
        """
        (low, high), (best, worst) = self.interval(level).T, self.rank_interval(level).T
        ranking = Ranking.from_scores(self.strengths_)
        columns = {
            "item": self.items_,
            "strength": self.strengths_,
            "low": low,
            "high": high,
            "rank": ranking.positions,
            "best_rank": best,
            "worst_rank": worst,
            "p_best": self.p_best_,
        }
        return {name: column[ranking.order] for name, column in columns.items()}

    def to_csv(self, path: str | Path, level: float | None = None) -> None:
        """Write `table` as csv; the file is complete or absent."""
        columns = self.table(level)
        with (
            replacing(Path(path)) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))

    def _level(self, level: float | None) -> float:
        return check_level(self.level if level is None else level)

    def _check_loaded(self) -> None:
        """Raise if arrays of a loaded model do not belong together."""
        if not hasattr(self, "strengths_"):
            return
        n, p = len(self.items_), len(self._inverse)
        stored = self._inverse if self._sandwich is None else self._sandwich
        shapes = self.strengths_.shape, self._inverse.shape, stored.shape
        if shapes != ((n,), (p, p), (p, p)) or p < n or n < 2:
            raise ValueError(f"{n} items do not match arrays of the shapes {shapes}")


def normal_interval(values: Floats, covariance: Floats, level: float) -> Floats:
    """Return the ends of normal intervals of values, of shape (n, 2)."""
    half = ndtri((1 + level) / 2) * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return np.column_stack([values - half, values + half])
