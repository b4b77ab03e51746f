"""The on-line version of MPRank, section 2.5 of its paper, on the whole kernel matrix."""

import numpy as np


def mprank_passes(K, y, C, eta, n_passes):
    """Return alpha after some passes of the printed algorithm, on the centred kernel."""
    m = len(y)
    centred = np.array(
        [[K[i, j] - np.mean(K[i] + K[j]) + np.mean(K) for j in range(m)] for i in range(m)]
    )
    alpha = np.zeros(m)
    for _ in range(n_passes):
        for i in range(m):
            slope = 2 * (y[i] - np.mean(y) - alpha @ centred[i]) - m / C * alpha[i]
            alpha[i] += eta * slope
    return alpha


def mprank_points(K, y, C, eta=None, *, qid=None, weight=None):
    """Return the coefficients of points that take one step each as they arrive, on-line.

    When point i arrives, kernel and ratings are centred over the points up to it, each by the
    weighted mean of its query, and the others keep their alpha. Without ``eta`` the step is exact.
    """
    qid = np.zeros(len(y), dtype=int) if qid is None else qid
    weight = np.ones(len(y)) if weight is None else weight
    alpha = np.zeros(len(y))
    for i in range(len(y)):
        n = i + 1
        same = qid[:n, None] == qid[None, :n]
        means = same * weight[:n] / (same @ weight[:n])[:, None]
        centre = np.eye(n) - means
        centred, target = centre @ K[:n, :n] @ centre.T, centre @ y[:n]
        totals = same @ weight[:n]
        cost = 2 * weight[:n] * totals / (weight[:n] @ totals)
        slope = 2 * (target[i] - alpha[:n] @ centred[i]) - 2 / (C * cost[i]) * alpha[i]
        step = 1 / (2 * (centred[i, i] + 1 / (C * cost[i]))) if eta is None else eta
        alpha[i] += step * slope
    return centre.T @ alpha
