"""Draws from the posterior of strengths by elliptical slice sampling.

The normal distribution at the maximum is the base: with a point z of the base and another draw of
it, the next point lies on the ellipse through both, at an angle that is drawn from a slice of the
ratio of the posterior and the base. No step is rejected and nothing is to be tuned. If the
posterior is normal, draws are independent.

References
----------
I. Murray, R. P. Adams and D. J. C. MacKay, *Elliptical slice sampling*, AISTATS 2010.
R. Nishihara, I. Murray and R. P. Adams, *Parallel MCMC with generalized elliptical slice sampling*,
JMLR 2014.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankwise.contests._rank_intervals import covariance_factor

Floats = NDArray[np.float64]

# Steps before the first draw; then each is one.
_FIRST = 100


def draw_posterior(
    log_posterior: Callable[[Floats], float],
    params: Floats,
    covariance: Floats,
    n: int,
    n_draws: int,
    seed: int,
) -> Floats:
    """Return draws of the first n parameters, the strengths, which add to 0: (n_draws, n).

    Parameters
    ----------
    log_posterior : callable
        Of parameters; minus infinity outside of where it is defined.
    params : ndarray of shape (p,)
        Where it is highest.
    covariance : ndarray of shape (p, p)
        Of the normal distribution there; that of the strengths adds to 0.
    n, n_draws, seed : int
        Strengths, draws, and the seed of the generator.
    """
    factor, spread = covariance_factor(covariance, n)
    random = np.random.default_rng(seed)
    draws = np.empty((_FIRST + n_draws, n))

    def ratio(noise: Floats, errors: Floats) -> tuple[float, Floats]:
        mean = errors[:n].mean()
        moved = params + errors
        moved[:n] -= mean
        return log_posterior(moved) + 0.5 * float(noise @ noise) - 0.5 * mean**2 / spread, moved

    now, now_errors = np.zeros(len(params)), np.zeros(len(params))
    height, found = ratio(now, now_errors)
    for draw in draws:
        noise = random.standard_normal(len(params))
        errors = factor @ noise
        least = height - random.exponential()
        angle = random.uniform(0.0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while True:
            cosine, sine = np.cos(angle), np.sin(angle)
            new, new_errors = cosine * now + sine * noise, cosine * now_errors + sine * errors
            height, found = ratio(new, new_errors)
            # a slice that is as thin as rounding ends at the point itself
            if height >= least or high - low < 1e-10:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = random.uniform(low, high)
        now, now_errors, draw[:] = new, new_errors, found[:n]
    return draws[_FIRST:]
