"""The weights of given pairs, and the best cut of a feature for them."""

from typing import NamedTuple

import numpy as np

from rankwise._core.compilation import compiled
from rankwise.boosting._loops.bins import WIDTH, fill_column
from rankwise.boosting._loops.stumps import choose, judge


class PairArrays(NamedTuple):
    """P pairs of rows.

    - ``worse``, ``better`` (P,): the rows of each pair;
    - ``logs`` (P,): the logarithms of their weights;
    - ``shares`` (P,): their shares now in the weight of all.
    """

    worse: np.ndarray
    better: np.ndarray
    logs: np.ndarray
    shares: np.ndarray


@compiled(error_model="numpy")
def weigh_pairs(s, pairs):
    """Fill the shares, for scores ``s`` (m,); return the logarithm of the total weight."""
    worse, better, shares = pairs.worse, pairs.better, pairs.shares
    top = -np.inf
    for p in range(shares.shape[0]):
        shares[p] = pairs.logs[p] + s[worse[p]] - s[better[p]]
        top = max(top, shares[p])
    total = 0.0
    for p in range(shares.shape[0]):
        shares[p] = np.exp(shares[p] - top)
        total += shares[p]
    for p in range(shares.shape[0]):
        shares[p] /= total
    return top + np.log(total)


@compiled(error_model="numpy")
def fill_pair_shares(pairs, up, down):
    """Fill the shares of the pairs of each row: ``up`` (m,) as the better one, ``down`` (m,)."""
    for i in range(up.shape[0]):
        up[i] = down[i] = 0.0
    for p in range(pairs.shares.shape[0]):
        up[pairs.better[p]] += pairs.shares[p]
        down[pairs.worse[p]] += pairs.shares[p]


@compiled(error_model="numpy")
def fill_logistic_pairs(s, pairs, g, h):
    """Fill gradient and Hessian of log(1 + e^(s_i - s_j)) over the pairs; return the mean slope."""
    total = slope = 0.0
    for i in range(g.shape[0]):
        g[i] = h[i] = 0.0
    for p in range(pairs.worse.shape[0]):
        i, j, weight = pairs.worse[p], pairs.better[p], np.exp(pairs.logs[p])
        wrong = 1.0 / (1.0 + np.exp(s[j] - s[i]))
        g[i] += weight * wrong
        g[j] -= weight * wrong
        h[i] += weight * wrong * (1.0 - wrong)
        h[j] += weight * wrong * (1.0 - wrong)
        slope += weight * wrong
        total += weight
    return slope / total


@compiled(error_model="numpy")
def weigh_pair_sides(h, pairs):
    """Return (plus, minus) of the base ranker ``h`` (m,)."""
    plus = minus = 0.0
    for p in range(pairs.shares.shape[0]):
        above, below = h[pairs.better[p]], h[pairs.worse[p]]
        plus += pairs.shares[p] * (above > below)
        minus += pairs.shares[p] * (above < below)
    return plus, minus


@compiled(error_model="numpy")
def search_pairs(bins, first, last, pairs, n_rows, objective, out):
    """Fill the best cut of each feature of blocks first to last, as `search_slots` does.

    A pair is split by the cuts between the bins of its rows: each says where that begins and ends.
    """
    column = np.empty(n_rows, dtype=np.int64)
    plus, minus = np.empty(bins.n_bins.max() + 2), np.empty(bins.n_bins.max() + 2)
    values = np.empty(bins.n_bins.max())
    for f in range(WIDTH * first, min(WIDTH * last, bins.n_bins.shape[0])):
        out[f, 0], n_bins = np.inf, bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            fill_column(bins, f, column)
            for i in range(n_rows):
                column[i] = column[i] + 1 if column[i] < n_bins else (n_bins + 1) * side
            for p in range(n_bins + 2):
                plus[p] = minus[p] = 0.0
            for p in range(pairs.shares.shape[0]):
                i, j, share = column[pairs.worse[p]], column[pairs.better[p]], pairs.shares[p]
                if i < j:
                    plus[i] += share
                    plus[j] -= share
                elif j < i:
                    minus[j] += share
                    minus[i] -= share
            for p in range(1, n_bins):
                plus[p] += plus[p - 1]
                minus[p] += minus[p - 1]
            judge(plus, minus, n_bins, objective, values)
            choose(values, n_bins, side, out[f])
