"""The triangle inequality of a weight by position, over all triples."""

import numpy as np

from rankwise._core.compilation import compiled


@compiled
def first_detour(weights, slack):
    """Return the first i < k < j with ``w[i, j] > w[i, k] + w[k, j] + slack``, or three times -1.

    Weights are C-contiguous. n^3 / 6 additions; the loop over j has no branch and is vectorised.
    """
    n = len(weights)
    for i in range(n):
        for k in range(i + 1, n):
            to = weights[i, k] + slack
            straight, onward = weights[i, k + 1 :], weights[k, k + 1 :]
            longer = 0
            for j in range(len(straight)):
                longer += 1 if straight[j] > to + onward[j] else 0
            if longer:
                for j in range(len(straight)):
                    if straight[j] > to + onward[j]:
                        return np.array([i, k, k + 1 + j])
    return np.array([-1, -1, -1])
