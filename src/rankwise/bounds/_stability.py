r"""Stability bounds: the error of magnitude-preserving ranking on its sample and on new pairs.

The algorithms minimise :math:`\|h\|_K^2 + C \cdot` mean cost over the :math:`m^2` pairs, with
:math:`K(x, x) \le \kappa^2` and :math:`|h(x) - y| \le M` for all rows and hypotheses. The costs
change by at most :math:`\sigma` times what two scores change by: :math:`\sigma = 1` for power 1 and
:math:`4M` for power 2.
"""

import math
from typing import Any

from numpy.typing import ArrayLike

from rankwise._core.arguments import check_power, check_whole, check_word, is_finite_number
from rankwise.bounds._bound import (
    Bound,
    check_delta,
    check_rows,
    grow,
    kernel_diagonal,
    product,
)

_COVERED = ("magnitude", "epsilon_insensitive", "hinge_rank")


def stability_beta(
    *, C: float, kappa: float, m: int, power: int, M: float, cost: str = "magnitude"
) -> Bound:
    r"""Bound the change of the cost of any pair when one row is taken out of the sample.

    .. math:: \beta = \frac{4 C \sigma^2 \kappa^2}{m}

    Without the row, the costs of the other pairs are still divided by :math:`m^2`, as in the proof:
    the smaller sample is fitted with :math:`C ((m - 1) / m)^2`.

    Parameters
    ----------
    C : float
        The trade-off of the objective, as in `rankwise.magnitude.MPRank`.
    kappa : float
        Root of the largest K(x, x); see `kernel_radius`.
    m : int
        Rows of the sample.
    power : {1, 2}
        Power of the cost; MPRank has 2.
    M : float
        Largest \|h(x) - y\|, over rows and hypotheses.
    cost : {"magnitude", "epsilon_insensitive", "hinge_rank"}, default="magnitude"
        The cost. "hinge_magnitude" raises: it jumps at a tie, so it is neither convex nor
        Lipschitz in the scores, and the proof does not hold for it.

    Returns
    -------
    Bound
        With the pieces ``sigma``, ``C``, ``kappa``, ``m``, ``M`` and ``power``. Vacuous at
        (2M)^power or more, the largest cost there is. Infinite if no float can hold it.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007,
    proposition 3.

    Examples
    --------
    >>> from rankwise.bounds import stability_beta
    >>> stability_beta(C=0.1, kappa=1.0, m=10_000, power=1, M=1.0).value
    4e-05
    """
    _check(C=C, kappa=kappa, M=M)
    if isinstance(cost, str) and cost == "hinge_magnitude":
        raise ValueError(
            "cost='hinge_magnitude' is not covered by the theorem (it jumps at a tie): take one of "
            f"{', '.join(_COVERED)}"
        )
    check_word(cost, "cost", _COVERED)
    check_power(power)
    check_whole(m, "m")
    factors = () if power == 1 else (4.0, M, 4.0, M)
    value = product(4.0, C, *factors, kappa, kappa, 1 / int(m))
    sigma = 1.0 if power == 1 else product(4.0, M)
    pieces = {"sigma": sigma, "C": C, "kappa": kappa, "m": m, "M": M, "power": power}
    trivial = product(*([2.0, M] * power))
    return Bound(value, trivial, {name: float(x) for name, x in pieces.items()})


def stability_bound(
    *,
    empirical: float,
    C: float,
    kappa: float,
    m: int,
    M: float,
    delta: float,
    power: int,
    cost: str = "magnitude",
) -> Bound:
    r"""Bound the expected cost of a new pair by the mean cost over the sample's pairs.

    .. math::

        \hat R + 2 \beta + \left(\beta m + (2M)^n\right) \sqrt{\tfrac2m \log \tfrac2\delta}

    with probability at least :math:`1 - \delta` over samples of independent rows, n the power and
    :math:`\beta` of `stability_beta`. It says something where C is far below :math:`\sqrt m`.

    The constants are the printed ones. The proof bounds the effect of replacing a row by
    :math:`\beta`, which is derived for removing one; replacing is removing and adding, so a careful
    reader takes twice :math:`\beta`: pass 2 C for C to have that.

    Parameters
    ----------
    empirical : float
        Mean cost over all :math:`m^2` ordered pairs of the sample, those of a row with itself
        included.
    C, kappa, m, M, power, cost
        As in `stability_beta`.
    delta : float
        How often the bound may fail, between 0 and 1.

    Returns
    -------
    Bound
        With the pieces of `stability_beta`, ``beta``, ``deviation`` (the last term), ``empirical``
        and ``delta``. Vacuous at (2M)^power or more, the largest cost there is. Infinite if no
        float can hold it.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007,
    theorem 1 and corollary 1.

    Examples
    --------
    >>> from rankwise.bounds import stability_bound
    >>> bound = stability_bound(
    ...     empirical=0.1, C=0.1, kappa=1.0, m=10_000, M=1.0, delta=0.05, power=1
    ... )
    >>> print(f"{bound.value:.3f} of {bound.trivial}, beta = {bound.pieces['beta']}")
    0.165 of 2.0, beta = 4e-05
    """
    beta = stability_beta(C=C, kappa=kappa, m=m, power=power, M=M, cost=cost)
    if not (is_finite_number(empirical) and empirical >= 0):
        raise ValueError(f"empirical={empirical!r} must be a mean cost, a number of at least 0")
    check_delta(delta)
    doubt = math.log(2.0) - math.log(delta)
    deviation = (beta.value * int(m) + beta.trivial) * math.sqrt(2.0 / int(m) * doubt)
    pieces = {
        **beta.pieces,
        "beta": beta.value,
        "deviation": deviation,
        "empirical": float(empirical),
        "delta": float(delta),
    }
    return Bound(empirical + 2.0 * beta.value + deviation, beta.trivial, pieces)


def kernel_radius(
    X: ArrayLike,
    *,
    kernel: Any = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
) -> float:
    r"""Return kappa for the rows at hand: the root of the largest K(x, x).

    The theorem asks for all rows that can occur. For "rbf" it is 1, whatever they are; for others
    this is the value for X alone.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows; for kernel="precomputed" the square matrix of its values.
    kernel, gamma, degree, coef0
        As in `rankwise.magnitude.MPRank`.

    Examples
    --------
    >>> from rankwise.bounds import kernel_radius
    >>> kernel_radius([[3.0, 4.0], [1.0, 1.0]]), kernel_radius([[3.0, 4.0]], kernel="rbf")
    (5.0, 1.0)
    """
    squares, exponent = kernel_diagonal(
        check_rows(X), "kernel_radius", kernel, gamma, degree, coef0
    )
    return grow(math.sqrt(squares.max()), exponent)


def _check(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (is_finite_number(value) and value > 0):
            raise ValueError(f"{name}={value!r} must be a positive number")
