"""Local search for the order of n things whose pairs are worth most.

Every item is inserted at its best place, O(n) for each, until none gains. Then the order is
perturbed: a few items are inserted elsewhere at random, those that were passed find their best
places again, and the new order is kept if it is not worse. The compiled loops run for some
hundredths of a second at a time; in between, the deadline is checked and Ctrl-C is noticed.
"""

from time import monotonic

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.insertion import Search, insert_waiting, perturb

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Margins that a loop reads before the clock is read.
SLICE = 1 << 24
# How many items are inserted in a round of perturbation, by order of magnitude.
_ITEMS = 500
_SEED = 0x2545F4914F6CDD1D


def improve(
    margins: Floats, order: Indices, *, rounds: int, min_gain: float, deadline: float = np.inf
) -> float:
    """Improve an order in place; return the sum of margins that was gained.

    Parameters
    ----------
    margins : ndarray of shape (n, n)
        ``margins[i, j] = -margins[j, i]`` is what it is worth to have i before j.
    order : ndarray of shape (n,)
        Any order of 0..n-1. It is one at any time, also if the search is interrupted.
    rounds : int
        How often to perturb.
    min_gain : float
        An item stays where it is unless another place gains more than this.
    deadline : float, default=inf
        The value of ``time.monotonic()`` at which to stop. There is always a first slice of work,
        so that orders of a few hundred items reach a local optimum whatever the deadline. Before
        the deadline it has no influence on the result.
    """
    n = len(order)
    if n < 2:
        return 0.0
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    queue, ends = np.empty(n, dtype=np.int64), np.zeros(2, dtype=np.int64)
    search = Search(margins, order, place, queue, ends, np.zeros(n, dtype=np.bool_))
    total = _to_local_optimum(search, min_gain, deadline)
    state = np.array([_SEED], dtype=np.uint64)
    step = max(SLICE // (n * _ITEMS), 1)
    for done in range(0, rounds, step):
        if monotonic() >= deadline:
            return total
        total += perturb(search, min_gain, state, min(step, rounds - done))
    return total + _to_local_optimum(search, min_gain, deadline) if rounds else total


def _to_local_optimum(search: Search, min_gain: float, deadline: float) -> float:
    """Insert items until none has a better place; return the gain."""
    n, ends = len(search.order), search.ends
    max_items = max(SLICE // n, 1)
    total, gain = 0.0, 1.0
    while gain > 0:
        search.queue[:], search.is_waiting[:] = search.order, True
        ends[:] = 0, n
        gain = insert_waiting(search, min_gain, max_items)
        while ends[0] < ends[1] and monotonic() < deadline:
            gain += insert_waiting(search, min_gain, max_items)
        total += gain
        if monotonic() >= deadline:
            break
    return total
