"""The weights of given pairs, and the best cut of a feature for them."""

from typing import NamedTuple

import numpy as np

from rankwise.engine.loops.boosting.bins import fill_above
from rankwise.engine.loops.boosting.cuts import begin_feature, end_feature
from rankwise.engine.loops.boosting.weights import WIDE
from rankwise.engine.loops.compiled import compiled


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
def fill_shares(s, pairs):
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
def fill_pair_potentials(pairs, out):
    """Fill the potentials ``out`` (m,) of the rows, as `fill_potentials` does."""
    for i in range(out.shape[0]):
        out[i] = 0
    for p in range(pairs.shares.shape[0]):
        value = np.int64(WIDE * pairs.shares[p])
        out[pairs.better[p]] += value
        out[pairs.worse[p]] -= value


@compiled(error_model="numpy")
def fill_base_ranker(bins, f, cut, missing_above, h):
    """Fill ``h`` (m,) with the base ranker of all rows, as `fill_above` does."""
    fill_above(bins, f, cut, missing_above, 0, h)


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
    """Fill ``out`` (last - first, 3) with the best cut of the features first to last.

    Each row of it is (value, cut, side of the missing), as `choose` fills it.
    """
    column = np.empty(n_rows, dtype=np.int64)
    changes, values = np.empty((2, bins.n_bins.max() + 2)), np.empty(bins.n_bins.max())
    for f in range(first, last):
        out[f - first, 0] = np.inf
        n_bins = bins.n_bins[f]
        for side in range(1 + bins.missing[f]):
            begin_feature(bins, f, side, column, changes)
            for p in range(pairs.shares.shape[0]):
                i, j, share = column[pairs.worse[p]], column[pairs.better[p]], pairs.shares[p]
                if i < j:
                    changes[0, i] += share
                    changes[0, j] -= share
                elif j < i:
                    changes[1, j] += share
                    changes[1, i] -= share
            end_feature(changes, n_bins, side, objective, values, out[f - first])
