"""Fit strengths to counts of contests by Newton's method, and reliabilities of raters.

The log likelihood (`rankwise.contests._loops.likelihood`) less precision / 2 times the sum of
the squared strengths is concave. A Newton step costs a pass over the pairs that have met and a
Cholesky factor of as many rows as there are items, whatever the number of contests was. Only
differences of strengths occur in the likelihood, so that the best ones add to 0.

A rater of scale a sees a times the difference of two items: 1 is like everyone, 0 answers at
random, less than 0 the wrong way round. Scales have a normal prior with mean 1 and variance 1.
Given the strengths the likelihood is concave in each scale, and given the scales in the strengths;
the two are improved by turns until scales no longer move.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from rankwise.contests._loops.intervals import refit
from rankwise.contests._loops.likelihood import (
    PLAIN,
    RAO_KUPPER,
    Cells,
    derivatives,
    log_likelihood,
    plain_derivatives,
    plain_value,
    resample,
    scale_derivatives,
    score_spread,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Newton's decrement, in squared standard errors, below which nothing is left to gain; if items have
# less than the information 1 on average, times that.
_ENOUGH = 1e-9
_MAX_ITER = 100
# So many rows are drawn equally often to a thousandth.
_MOST_DRAWN = 2**22
# Precision of the prior that keeps the parameters of a sample finite: a standard deviation of 100.
_WEAK = 1e-4
_TURNS = 200
_STEADY = 1e-6
# The least mean scale that is made 1: raters who contradict each other may have the mean 0.
_LEAST = 0.1


class Likelihood(Protocol):
    """What Newton's method asks of a log likelihood whose first n parameters are strengths."""

    @property
    def n(self) -> int:
        """How many strengths there are."""

    def allows(self, params: Floats) -> bool:
        """Whether the log likelihood is defined there."""

    def value(self, params: Floats) -> float:
        """Return the log likelihood."""

    def derivatives(self, params: Floats, gradient: Floats, curvature: Floats) -> None:
        """Add slopes, and minus second derivatives to an upper triangle."""

    def spread(self, params: Floats, inverse: Floats, squares: Floats) -> Floats | float:
        """Add the squared slopes of the rows to an upper triangle, with their leverage.

        Returns how much less than the curvature these are by design, an upper triangle or 0.
        """


class PairLikelihood(NamedTuple):
    """That of pairs of n items; ``kind`` is the model of ties, ``scaled`` if scales are not 1."""

    cells: Cells
    n: int
    kind: int
    scaled: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether strengths are all there is."""
        return self.kind == PLAIN and not self.scaled and not self.cells.z.shape[1]

    def allows(self, params: Floats) -> bool:
        """Whether the parameter of ties is one."""
        return bool(self.kind != RAO_KUPPER or params[-1] > 0)

    def value(self, params: Floats) -> float:
        """Return the log likelihood."""
        if self.is_plain:
            return float(plain_value(*self.cells[:3], params))
        return float(log_likelihood(self.cells, self.n, params, self.kind))

    def derivatives(self, params: Floats, gradient: Floats, curvature: Floats) -> None:
        """Add slopes and curvature."""
        if self.is_plain:
            plain_derivatives(*self.cells[:3], params, gradient, curvature)
            return
        derivatives(self.cells, self.n, params, self.kind, gradient, curvature)

    def spread(self, params: Floats, inverse: Floats, squares: Floats) -> Floats:
        """Add squared slopes."""
        less = np.zeros_like(squares)
        score_spread(self.cells, self.n, params, self.kind, inverse, squares, less)
        return less


class Solved(NamedTuple):
    """Where the posterior is highest.

    Attributes
    ----------
    params : ndarray of shape (p,)
        Strengths, effects of covariates, and the parameter of ties if there is one.
    value : float
        The log likelihood less the prior's share.
    inverse : ndarray of shape (p, p)
        The inverse of minus its second derivatives; with no prior, as if the sum of the strengths
        were known.
    sandwich : ndarray of shape (p, p)
        The inverse times the sum of squared slopes of the rows, and of the prior's precision, times
        the inverse. If that is less on average than the model expects, the rest of it is added.
    n_iter : int
        Steps of Newton.
    decrement : float
        What a further step would gain, times two: in squared standard errors. Infinite if the
        information could not be inverted; the two matrices are then 0.
    """

    params: Floats
    value: float
    inverse: Floats
    sandwich: Floats
    n_iter: int
    decrement: float


def maximise(of: Likelihood, precision: Floats, start: Floats, *, spread: bool = True) -> Solved:
    """Find the strengths and effects of the highest posterior by Newton's method.

    Parameters
    ----------
    of : Likelihood
        Its logarithm is concave.
    precision : ndarray of shape (p,)
        One over the variance of the normal prior of each parameter; 0: none.
    start : ndarray of shape (p,)
        Where to start.
    spread : bool
        Whether the inverse and the squared slopes are wanted.
    """
    n = of.n
    params, information, n_iter, decrement = _iterate(of, precision, start, watched=False)
    if decrement == np.inf:
        params, information, n_iter, decrement = _iterate(of, precision, start, watched=True)
    inverse = sandwich = np.zeros_like(information)
    if spread and np.isfinite(decrement):
        factor, _ = dpotrf(_fix_sum(information, n))
        inverse = _full(np.triu(dpotri(factor)[0]))
        squares = np.zeros_like(information)
        less = of.spread(params, inverse, squares)
        squares[np.diag_indices_from(squares)] += precision
        squares, expected = _full(squares), _full(information - less)
        with np.errstate(over="ignore", invalid="ignore"):
            # few rows leave small residuals: on average they count what the model expects
            ratio = float(np.vdot(inverse, squares) / np.vdot(inverse, expected))
            sandwich = inverse @ (squares + max(1.0 - ratio, 0.0) * expected) @ inverse
    value = _value(of, precision, params)
    return Solved(params, value, inverse, sandwich, n_iter, decrement)


def check_solved(solved: Solved) -> None:
    """Raise if Newton's method found no maximum, though there is one."""
    if not np.isfinite(solved.decrement):
        raise ValueError(
            "the fit can't be computed: weights or covariates differ by too many orders of "
            "magnitude; drop the contests of the smallest weights, or rescale the covariates"
        )


def _iterate(
    of: Likelihood, precision: Floats, params: Floats, *, watched: bool
) -> tuple[Floats, Floats, int, float]:
    """Take steps of Newton until there is nothing left to gain.

    Without a look at the value after each step, which is hardly ever needed, it ends with a
    decrement of infinity as soon as a step leaves more to gain than the one before it. So it does
    if the information can't be inverted.
    """
    n_iter, decrement, enough = 0, np.inf, _ENOUGH
    while decrement >= enough and n_iter < _MAX_ITER:
        before = decrement
        step, decrement, information = _newton_step(of, precision, params)
        n_iter += 1
        enough = _ENOUGH * min(float(np.trace(information)) / len(params), 1.0)
        if not np.isfinite(decrement):
            return params, information, n_iter, np.inf
        if watched:
            params = _line_search(of, precision, params, step, decrement)
        elif decrement > before or not of.allows(params + step):
            return params, information, n_iter, np.inf
        else:
            params = params + step
    return params, information, n_iter, decrement


def _newton_step(of: Likelihood, precision: Floats, params: Floats) -> tuple[Floats, float, Floats]:
    """Return the step, the decrement, and the upper triangle of the information.

    The decrement is infinite if the information can't be inverted.
    """
    gradient, information = np.zeros(len(params)), np.zeros((len(params), len(params)))
    of.derivatives(params, gradient, information)
    gradient -= precision * params
    information[np.diag_indices_from(information)] += precision
    try:
        factor = cho_factor(_fix_sum(information, of.n), check_finite=False)
    except LinAlgError:
        return gradient, np.inf, information
    step = cho_solve(factor, gradient, check_finite=False)
    return step, float(gradient @ step), information


def start_of(cells: Cells, n: int, n_params: int, tie: float | None) -> Floats:
    """Return where to start: strengths from the shares that items got."""
    wins, losses, ties, _ = cells.counts.T
    got = np.bincount(cells.left, wins + ties / 2, n) + np.bincount(
        cells.right, losses + ties / 2, n
    )
    lost = np.bincount(cells.left, losses + ties / 2, n) + np.bincount(
        cells.right, wins + ties / 2, n
    )
    start = np.zeros(n_params)
    start[:n] = np.log((got + 1) / (lost + 1))
    start[:n] -= start[:n].mean()
    if tie is not None:
        start[-1] = tie
    return start


def _line_search(
    of: Likelihood, precision: Floats, params: Floats, step: Floats, gain: float
) -> Floats:
    """Go along a step as far as the posterior rises."""
    value = _value(of, precision, params)
    rounding = 1e-13 * (1.0 + abs(value))
    length = 1.0
    while length > 1e-10:
        new = params + length * step
        if of.allows(new) and _value(of, precision, new) >= value + 1e-4 * length * gain - rounding:
            return new
        length /= 2
    return params


def _value(of: Likelihood, precision: Floats, params: Floats) -> float:
    return of.value(params) - 0.5 * float(precision @ params**2)


def _full(upper: Floats) -> Floats:
    """Return the symmetric matrix of an upper triangle."""
    return upper + np.triu(upper, 1).T


def _fix_sum(information: Floats, n: int) -> Floats:
    """Return the information if the sum of the n strengths is observed too: it has an inverse."""
    fixed = information.copy()
    fixed[:n, :n] += float(np.trace(information[:n, :n])) / n**2
    return fixed


def draw_counts(counts: Floats, n_samples: int, seed: int) -> Iterator[Floats]:
    """Yield the counts of samples of as many contests, drawn by their counts.

    All of them are one array, which is filled anew.
    """
    random = np.random.default_rng(seed)
    often = counts.copy()
    often[:, 3] = 0.0
    total = max(round(float(often.sum())), 1)
    # For some contests a pair it is quicker to draw them one by one.
    few = total <= min(20 * counts.size, _MOST_DRAWN)
    single = few and bool((often == np.floor(often)).all())
    times = often.ravel().astype(np.int64) * single
    places = np.arange(counts.size, dtype=np.uint16 if counts.size <= 2**16 else np.int32)
    rows = np.repeat(places, times)
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
    samples: Iterable[Floats],
) -> Floats:
    """Return the strengths of samples of the counts, of shape (samples, n).

    ``start`` is the fit to all counts and ``inverse`` that of its information. An item or an effect
    that a sample left without a finite best stays where a prior of the standard deviation 100 puts
    it, and a sample without ties has no parameter of ties. For `PLAIN` a tie is half a win of each.
    """
    precision, found = np.maximum(precision, _WEAK), []
    for drawn in samples:
        params = start.copy()
        cells = of.cells._replace(counts=drawn)
        tied = of.kind != PLAIN and bool(drawn[:, 2].any())
        if tied != (of.kind != PLAIN) or not refit(
            cells, of.n, of.kind, precision[0], inverse, params
        ):
            again = of._replace(cells=cells, kind=of.kind if tied else PLAIN)
            p = len(start) - (of.kind != again.kind)
            if not tied:
                again = again._replace(cells=cells._replace(counts=halved(drawn)))
            params = maximise(again, precision[:p], start[:p], spread=False).params
        found.append(params[: of.n])
    strengths = np.array(found)
    return strengths - strengths.mean(axis=1, keepdims=True)


def halved(counts: Floats) -> Floats:
    """Return counts in which a tie is half a win of each."""
    split = counts.copy()
    split[:, :2] += counts[:, 2:3] / 2
    split[:, 3] += counts[:, 2] / 4
    split[:, 2] = 0.0
    return split


def fit_raters(
    cells: Cells, n: int, kind: int, precision: Floats, start: Floats, rater: Indices | None
) -> tuple[Solved, Cells, Floats, Floats, bool]:
    """Learn strengths and the scales of raters by turns.

    Parameters
    ----------
    cells : Cells
        One cell a contest.
    n, kind : int
        Items, and the model of ties.
    precision, start
        As in `rankwise.contests._newton.maximise`.
    rater : ndarray of shape (c,) or None
        The code of each cell's rater; None: there are none.

    Returns
    -------
    Solved, Cells, scales of the raters, their standard errors, and whether all of it converged
    """
    if rater is None:
        solved = maximise(PairLikelihood(cells, n, kind), precision, start)
        return solved, cells, np.zeros(0), np.zeros(0), True
    weight = np.bincount(rater, cells.counts[:, :3].sum(axis=1))
    scales = np.ones(len(weight))
    moved = np.inf
    for _ in range(_TURNS):
        cells = cells._replace(scale=scales[rater])
        solved = maximise(PairLikelihood(cells, n, kind, scaled=True), precision, start)
        if moved <= _STEADY or not np.isfinite(solved.decrement):
            break
        start = solved.params
        better = _scales(cells, n, kind, start, rater, scales)
        # Scales and strengths can be traded for each other: the mean contest has the scale 1.
        better /= max(float(weight @ better) / weight.sum(), _LEAST)
        moved = float(np.abs(better - scales).max())
        scales = better
    curvature = np.ones(len(scales))
    scale_derivatives(cells, n, solved.params, kind, rater, np.zeros(len(scales)), curvature)
    return solved, cells, scales, 1.0 / np.sqrt(curvature), moved <= _STEADY


def _scales(
    cells: Cells, n: int, kind: int, params: Floats, rater: Indices, scales: Floats
) -> Floats:
    """Return the best scale of each rater, given the strengths, by damped Newton steps."""
    for _ in range(50):
        gradient, curvature = 1.0 - scales, np.ones(len(scales))
        cells = cells._replace(scale=scales[rater])
        scale_derivatives(cells, n, params, kind, rater, gradient, curvature)
        step = np.clip(gradient / curvature, -1.0, 1.0)
        scales = scales + step
        if np.abs(step).max() < _STEADY / 10:
            break
    return scales
