r"""Which item to ask a person about: the one whose rating tells most about the order of the others.

With C the posterior covariances of the scores, over :math:`\tau^2`, a rating of item i would lower
the variance of item j by :math:`C_{ij}^2 / (C_{ii} + \lambda)`, whatever the rating is. What all
items gain or lose together doesn't change their order, so the weighted mean over the items is taken
off first. The gain of a question is

.. math::

    \text{gain}_i = \text{known}_i \sum_j \text{known}_j (C_{ij} - \bar C_i)^2 / (C_{ii} + \lambda),

where known is the chance that a person knows an item: an item that nobody knows is no question, and
its place in the order matters little.

References
----------
D. J. C. MacKay, Information-based objective functions for active data selection, Neural Computation
4(4), 1992: the expected gain over a region of interest.
"""

import numpy as np
from numpy.typing import NDArray

from rankwise.recommend.fold_in import Fold
from rankwise.recommend.taste import Vector

# Questions are about the best known items, and judged by what they tell about more of them. On
# large tables all pairs would be too many.
_QUESTIONS = 200
_JUDGED = 1_000


def best_questions(fold: Fold, pool: NDArray[np.int64], known: Vector, n: int) -> NDArray[np.int64]:
    """Return up to n items to ask about, the best first.

    Each takes into account that those before it will have been answered.

    Parameters
    ----------
    fold : Fold
        The person.
    pool : ndarray of shape (m,)
        Items that may be asked about, none of them rated.
    known : ndarray of shape (m,)
        The chance that a person knows each.
    n : int
        How many to return, at most.
    """
    order = np.argsort(-known, kind="stable")[: max(_JUDGED, n)]
    pool, known = pool[order], known[order]
    m = min(len(pool), max(_QUESTIONS, n))
    share = known / known.sum() if known.any() else np.full(len(known), 1.0 / max(len(known), 1))
    C = fold.covariances(pool[:m], pool)
    left = np.ones(m, bool)
    chosen: list[int] = []
    for _ in range(min(n, m)):
        total = C.diagonal() + fold.taste.noise
        gain = known[:m] * ((C * C) @ share - np.square(C @ share)) / total
        i = int(np.argmax(np.where(left, gain, -np.inf)))
        left[i] = False
        chosen.append(i)
        if len(chosen) < n:  # the next one is asked when this one is answered
            C -= np.outer(C[:, i], C[i] / total[i])
    return pool[chosen] if chosen else pool[:0]
