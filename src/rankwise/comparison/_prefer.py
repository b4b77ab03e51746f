"""Which of several near-equals to advise: folds are weighed with how methods did on other tables.

On a few hundred rows a dozen methods differ by less than the folds can tell, and the one with the
best mean is partly the luckiest. What a method usually loses is known from other tables, so each
mean is drawn towards that, the more the noisier the folds are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
    >>> from rankwise.comparison._prefer import weigh
    >>> losses = np.array([[0.30, 0.41, 0.28], [0.33, 0.37, 0.31], [0.62, 0.60, 0.66]])
    >>> (weigh(losses, np.array([0.3, 0.1, 0.4]), 0.5) - np.log(0.33)).round(2).tolist()
    [0.22, 0.08, 0.46]
    """
    means = losses.mean(axis=1)
    relative = losses / means[:, None]
    left = relative - relative.mean(axis=0)
    n_methods, n_folds = losses.shape
    variance = np.sum(left**2) / ((n_methods - 1) * (n_folds - 1)) * (1 / n_folds + test_share)
    weight = spread**2 / (spread**2 + variance)
    return weight * np.log(means) + (1 - weight) * (usual + np.log(means.min()))


def preferred(
    names: Sequence[str],
    losses: Mapping[str, Floats],
    usual: Mapping[str, float | None],
    test_share: float,
) -> list[str]:
    """Return methods in the order in which they are advised.

    Parameters
    ----------
    names : sequence of str
        Methods that may be as good as the first, which has the best mean.
    losses : mapping of str to ndarray of shape (n_folds,)
        Of all methods that were tried.
    usual : mapping of str to float or None
        As in `weigh`. If it is not known of all that were tried, the order stays as it is.
    test_share : float
        As in `weigh`.
    """
    values = np.array([losses[name] for name in losses])
    known = [usual.get(name) for name in losses]
    if values.shape[0] < 2 or values.shape[1] < 2 or None in known or (values.mean(1) <= 0).any():
        return list(names)
    expected = dict(zip(losses, weigh(values, np.array(known, float), test_share), strict=True))
    return sorted(names, key=lambda name: expected[name])
