r"""Losses over all pairs: the value at given scores, and the costs that a solver works with.

With residuals :math:`r = s - y`, the mean over the counted pairs of

===========================  ==========================================  ========================
`MagnitudeLoss`              :math:`|r_j - r_i|^n`                       all ordered pairs
`EpsilonInsensitiveLoss`     :math:`\max(0, |r_j - r_i| - \epsilon)^n`   all ordered pairs
`HingeLoss`                  :math:`\max(0, 1 - (s_j - s_i))^n`          :math:`y_j > y_i`
`MagnitudeHingeLoss`         :math:`\max(0, (y_j-y_i) - (s_j-s_i))^n`    :math:`y_j > y_i`
===========================  ==========================================  ========================

for n = 1, 2; a weighted mean if pairs have weights. All are convex in s. A value takes O(m log m)
time and O(m) memory, that of `MagnitudeLoss` with n = 2 O(m) time.
"""

import numpy as np

from rankwise._core._loops.residuals import squared_spread, window_sums
from rankwise._core.arguments import check_power
from rankwise._core.pairs._costs import PairCosts
from rankwise._core.pairs._explicit import ListedCosts, list_pairs
from rankwise._core.pairs._implicit import DominanceCosts, WindowCosts, sorted_residuals
from rankwise._core.pairs._order import Floats
from rankwise._core.pairs._pairs import Pairs

_NONE = np.empty(0)
LISTED = 100_000
"""Pairs that are listed at most: below it a list is quicker than a sweep, and exact."""


class PairLoss:
    """A loss over pairs.

    A subclass says what its pairs cost, in two ways: ``listed`` and ``swept``.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, power: int = 1) -> None:
        self.pairs, self.power = pairs, check_power(power)

    def value(self, s: Floats) -> float:
        """Return the mean cost of the scores."""
        swept = self.swept()
        return swept.evaluate(s, swept.scale).cost

    def costs(self) -> PairCosts:
        """Return what a solver works with: pairs that are listed if they are few, else swept.

        A list is exact however narrow the kinks; swept sums lose digits where h is tiny.
        """
        sizes = np.diff(self.pairs.starts)
        return self.listed() if int(sizes @ sizes) <= LISTED else self.swept()

    def listed(self) -> PairCosts:
        """Return the costs of pairs that are listed."""
        raise NotImplementedError

    def swept(self) -> PairCosts:
        """Return the costs of pairs that are never formed."""
        raise NotImplementedError


class EpsilonInsensitiveLoss(PairLoss):
    r"""Mean of :math:`\max(0, |r_j - r_i| - \epsilon)^n` over all ordered pairs.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    epsilon : float
        What a difference may be off without a cost, not negative.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, epsilon: float, power: int = 1) -> None:
        super().__init__(pairs, power=power)
        if not 0 <= epsilon < np.inf:
            raise ValueError(f"epsilon={epsilon!r} must be a number from 0")
        if pairs.magnitude:
            raise ValueError("pair_weight='magnitude' is for the one-sided losses")
        self.epsilon = epsilon

    def value(self, s: Floats) -> float:
        pairs, a = self.pairs, _NONE
        if pairs.weighted or pairs.codes is not None:
            _, r, a = sorted_residuals(pairs, s)
        else:
            r = pairs.residuals(s)
            r.sort()
        sums = window_sums(r, a, pairs.starts, self.epsilon, self.power, _NONE)
        return sums[self.power - 1] * 2 / pairs.two_sided_weight

    def listed(self) -> PairCosts:
        y, a = self.pairs.y, self.pairs.weight
        i, j = list_pairs(self.pairs, one_sided=False)
        weight = a[i] * a[j] * (2 / self.pairs.two_sided_weight)
        return ListedCosts(i, j, y[j] - y[i] - self.epsilon, weight, len(y), self.power)

    def swept(self) -> PairCosts:
        return WindowCosts(self.pairs, epsilon=self.epsilon, power=self.power)


class MagnitudeLoss(EpsilonInsensitiveLoss):
    r"""Mean of :math:`|r_j - r_i|^n` over all ordered pairs.

    For n = 2 it is twice the variance of the residuals, query by query.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and row weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    def __init__(self, pairs: Pairs, *, power: int = 2) -> None:
        super().__init__(pairs, epsilon=0.0, power=power)

    def value(self, s: Floats) -> float:
        if self.power == 1:
            return super().value(s)
        pairs = self.pairs
        a = pairs.group(pairs.weight) if pairs.weighted else _NONE
        total = squared_spread(pairs.group(pairs.residuals(s)), a, pairs.starts)
        return float(total) * 2 / pairs.two_sided_weight


class HingeLoss(PairLoss):
    r"""Mean of :math:`\max(0, 1 - (s_j - s_i))^n` over the pairs with :math:`y_j > y_i`.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    residuals = False

    def __init__(self, pairs: Pairs, *, power: int = 1) -> None:
        super().__init__(pairs, power=power)
        pairs.check_comparable()

    def listed(self) -> PairCosts:
        y, a = self.pairs.y, self.pairs.weight
        i, j = list_pairs(self.pairs, one_sided=True)
        weight = a[i] * a[j] / self.pairs.one_sided_weight
        if self.pairs.magnitude:
            weight *= y[j] - y[i]
        gap = y[j] - y[i] if self.residuals else 1.0
        return ListedCosts(i, j, gap, weight, len(y), self.power)

    def swept(self) -> PairCosts:
        margin = 0.0 if self.residuals else 1.0
        return DominanceCosts(self.pairs, margin=margin, residuals=self.residuals, power=self.power)


class MagnitudeHingeLoss(HingeLoss):
    r"""Mean of :math:`\max(0, (y_j - y_i) - (s_j - s_i))^n` over the pairs with :math:`y_j > y_i`.

    It is the hinge of margin 0 on the residuals.

    Parameters
    ----------
    pairs : Pairs
        The targets, queries and weights.
    power : {1, 2}
        The power of the cost of a pair.
    """

    residuals = True
