"""Which pair of items to ask about next.

With strengths normal around their estimates, the answer about a pair tells something about who of
the two is the stronger: the mutual information of the answer and the sign of the difference. What
is told counts as much as the pair matters for the goal. Pairs are chosen one by one; each choice
narrows the covariance as its answer will, whatever it is, so that the next asks something else.
"""

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, ndtr, ndtri

from rankwise.contests._rank_intervals import draw_errors

Floats = NDArray[np.float64]

# Nodes of Gauss and Legendre on each side of 0.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def sign_information(mean: Any, variance: Any) -> Floats:
    """Return the information, in nats, that an answer has about the sign of a normal difference.

    The answer is 1 with the probability 1 / (1 + e^-d), d the difference. With u = P(d < 0), the
    two sides of 0 are integrated over the quantiles from 0 to u and from u to 1.
    """
    mean, error = np.asarray(mean, float), np.sqrt(np.asarray(variance, float))
    below = ndtr(-mean / error)
    told = np.zeros(mean.shape)
    both = np.zeros(mean.shape)
    for share, low in ((below, 0.0), (1 - below, below)):
        yes = np.zeros(mean.shape)
        for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
            quantile = np.clip(low + node * share, 1e-12, 1 - 1e-12)
            yes += weight * expit(mean + error * ndtri(quantile))
        told -= share * (entr(yes) + entr(1 - yes))
        both += share * yes
    return np.maximum(told + entr(both) + entr(1 - both), 0.0)


def top_shares(strengths: Floats, covariance: Floats, k: int, n_draws: int, seed: int) -> Floats:
    """Return how often exactly one of two items is among the first k, over draws: (n, n)."""
    drawn = strengths + draw_errors(covariance, n_draws, seed)
    first = np.zeros(drawn.shape)
    np.put_along_axis(first, np.argpartition(-drawn, k - 1, axis=1)[:, :k], 1.0, axis=1)
    both = first.T @ first / n_draws
    share = np.diag(both)
    return share[:, None] + share[None, :] - 2 * both


def choose_pairs(
    strengths: Floats, covariance: Floats, weight: Floats | None, n_pairs: int
) -> list[tuple[int, int]]:
    """Return the codes of pairs (i < j), the most telling first.

    Gains only fall as the covariance narrows, so that a pair whose gain was computed anew and still
    is the largest is the best one: O(n^2) and a few gains for each choice.

    Parameters
    ----------
    strengths : ndarray of shape (n,)
        Estimates.
    covariance : ndarray of shape (n, n)
        Of their errors.
    weight : ndarray of shape (n, n) or None
        How much each pair matters; None: all the same.
    n_pairs : int
        How many to choose; a pair may be chosen again.
    """
    first, second = np.triu_indices(len(strengths), 1)
    covariance = covariance.copy()

    def gain(i: Any, j: Any) -> Floats:
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        told = sign_information(strengths[i] - strengths[j], np.maximum(variance, 1e-12))
        return told if weight is None else told * (weight[i, j] + 1e-6)

    gains = gain(first, second)
    kept = np.argsort(-gains, kind="stable")[: max(4 * n_pairs, 1000)]
    heap = [(-gains[c], int(first[c]), int(second[c])) for c in kept]
    heapify(heap)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < n_pairs:
        _, i, j = heappop(heap)
        now = float(gain(np.array(i), np.array(j)))
        if heap and now < -heap[0][0]:
            heappush(heap, (-now, i, j))
            continue
        chosen.append((i, j))
        lean = covariance[:, i] - covariance[:, j]
        chance = float(expit(strengths[i] - strengths[j]))
        told = chance * (1 - chance)
        covariance -= np.outer(lean, lean) * (told / (1 + told * (lean[i] - lean[j])))
        heappush(heap, (-float(gain(np.array(i), np.array(j))), i, j))
    return chosen
