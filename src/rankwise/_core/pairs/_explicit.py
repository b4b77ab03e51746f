"""Pairs that are listed, one by one."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.pairs._costs import Curve, Evaluation
from rankwise._core.pairs._order import Floats
from rankwise._core.pairs._pairs import Pairs


def list_pairs(pairs: Pairs, *, one_sided: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows i and j of all pairs of one query: those with y_j > y_i, or all."""
    rows, starts, y, _ = pairs.by_query
    worse, better = [], []
    for start, stop in pairwise(starts.tolist()):
        mine, target = rows[start:stop], y[start:stop]
        if one_sided:
            i, j = np.nonzero(target[:, None] < target)
        else:
            i, j = np.divmod(np.arange((stop - start) ** 2), stop - start)
        worse.append(mine[i])
        better.append(mine[j])
    return np.concatenate(worse), np.concatenate(better)


class ListedCosts:
    r"""Pairs that are listed: the mean of :math:`\max(0, g - (s_j - s_i))^n`.

    Parameters
    ----------
    worse, better : ndarrays of shape (n_pairs,)
        The rows i and j of each pair.
    gap : ndarray of shape (n_pairs,) or float
        The difference g that costs nothing.
    weight : ndarray of shape (n_pairs,)
        The weight of each pair in the mean; they need not add to 1.
    m, power : int
        The number of rows, and n.
    """

    def __init__(
        self,
        worse: NDArray[np.int64],
        better: NDArray[np.int64],
        gap: Floats | float,
        weight: Floats,
        m: int,
        power: int,
    ) -> None:
        self.worse, self.better, self.gap, self.weight = worse, better, gap, weight
        self.m, self.power = m, power
        # The root of the mean square, of shares of the largest: squares might overflow.
        largest = float(np.abs(gap).max(initial=0.0)) or 1.0
        mean = float(np.sum(weight * np.square(gap / largest)) / np.sum(weight))
        self.scale = largest * float(np.sqrt(mean)) or 1.0

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack."""
        c = self.gap - (s[self.better] - s[self.worse])
        cost = np.maximum(c, 0.0)
        if self.power == 2:
            value, p, slack = float(self.weight @ (cost * cost)), 2 * cost, 0.0
        else:
            p = np.clip((c + h) / (2 * h), 0.0, 1.0)
            value, slack = float(self.weight @ cost), float(self.weight @ (cost - p * c))
        p = p * self.weight
        slopes: Floats = np.bincount(self.worse, p, self.m).astype(np.float64, copy=False)
        slopes -= np.bincount(self.better, p, self.m)
        return Evaluation(value, slopes, slack)

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian."""
        c = self.gap - (s[self.better] - s[self.worse])
        active = np.flatnonzero(c > 0 if self.power == 2 else np.abs(c) < h)
        weight = self.weight[active] * (2.0 if self.power == 2 else 0.5 / h)
        return _ListedCurve(self.worse[active], self.better[active], weight, self.m)


class _ListedCurve:
    def __init__(
        self, worse: NDArray[np.int64], better: NDArray[np.int64], weight: Floats, m: int
    ) -> None:
        one_way = sparse.coo_array((weight, (worse, better)), shape=(m, m)).tocsr()
        self._graph = (one_way + one_way.T).tocsr()
        self.diagonal = np.asarray(self._graph.sum(axis=1)).ravel()

    def product(self, v: Floats) -> Floats:
        return self.diagonal * v - self._graph @ v

    def gram(self, X: Floats) -> Floats:
        return X.T @ (self.diagonal[:, None] * X - self._graph @ X)
