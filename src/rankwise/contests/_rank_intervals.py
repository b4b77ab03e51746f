"""How sure each place is: covariances of strengths, draws of them, and places for all at once."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from rankwise.contests._loops.ranks import largest_gaps

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


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
    """Return the Cholesky factor of a covariance whose n strengths add to 0, and one number more.

    The mean of the strengths gets a variance, so that the matrix can be factored: the number.
    """
    spread = float(np.trace(covariance[:n, :n])) / n**2 or 1.0
    covariance = covariance.copy()
    covariance[:n, :n] += spread
    errors = np.sqrt(np.diag(covariance))
    scaled = covariance / errors[:, None] / errors
    scaled[np.diag_indices_from(scaled)] += 1e-10
    return errors[:, None] * cholesky(scaled, lower=True), spread


def rank_bounds(strengths: Floats, covariance: Floats, gaps: Floats, level: float) -> Indices:
    """Return the best and the worst place of each item, for all items at once.

    The differences of all pairs are tested together: the limit is the quantile of the largest one
    in units of its standard error. An item's best place is behind those that are surely better.
    """
    limit = np.quantile(gaps, level, method="higher") / _per_error(covariance)
    difference = strengths[:, None] - strengths[None, :]
    np.fill_diagonal(limit, np.inf)
    better = (difference > limit).sum(axis=0)
    worse = (difference > limit).sum(axis=1)
    return np.column_stack([1 + better, len(strengths) - worse]).astype(np.int64)


def draw_gaps(draws: Floats, covariance: Floats) -> Floats:
    """Return for each draw the largest difference in units of its standard error."""
    return largest_gaps(draws, _per_error(covariance))


def _per_error(covariance: Floats) -> Floats:
    variance = np.diag(covariance)
    squares = variance[:, None] + variance[None, :] - 2 * covariance
    np.fill_diagonal(squares, 1.0)
    return 1.0 / np.sqrt(np.maximum(squares, 1e-300))
