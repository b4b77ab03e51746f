"""Local search for the order of n things whose pairs are worth most.

Every item moves to its best place, O(n) for each look, until none gains. Then the order is shaken:
a few items are moved at random, those that were passed settle again, and the new order is kept if
it is not worse. The compiled loops run for some hundredths of a second at a time; in between, a
deadline and Ctrl-C are seen.
"""

from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops.insertion import settle, shake

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# What a loop looks at before the clock is read.
SLICE = 1 << 24
# How many items are looked at in a round, by order of magnitude.
_LOOKS = 500
_SEED = 0x2545F4914F6CDD1D


def improve(
    margins: Floats, order: Indices, *, rounds: int, least: float, deadline: float = np.inf
) -> float:
    """Improve an order in place; return the sum of margins that was gained.

    Parameters
    ----------
    margins : ndarray of shape (n, n)
        ``margins[i, j] = -margins[j, i]`` is what it is worth to have i before j.
    order : ndarray of shape (n,)
        Any order of 0..n-1. It is one at any time, also if the search is interrupted.
    rounds : int
        How often to shake.
    least : float
        A move must gain more than this.
    deadline : float, default=inf
        The value of ``time.monotonic()`` at which to stop. There is always a first slice of work,
        so that orders of a few hundred items settle whatever the deadline. When it does not
        strike, it has no influence on the result.
    """
    n = len(order)
    if n < 2:
        return 0.0
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    waiting, ends = np.zeros(n, dtype=np.bool_), np.zeros(2, dtype=np.int64)
    search = (margins, order, place, np.empty(n, dtype=np.int64), waiting, ends, least)
    total = _settle_all(search, deadline)
    state = np.array([_SEED], dtype=np.uint64)
    step = max(SLICE // (n * _LOOKS), 1)
    for done in range(0, rounds, step):
        if monotonic() >= deadline:
            return total
        total += shake(*search, state, min(step, rounds - done))
    return total + _settle_all(search, deadline) if rounds else total


def _settle_all(search: tuple[Any, ...], deadline: float) -> float:
    """Settle until no item at all has a better place; return the gain."""
    _, order, _, queue, waiting, ends, _ = search
    looks = max(SLICE // len(order), 1)
    total, gain = 0.0, 1.0
    while gain > 0:
        queue[:], waiting[:] = order, True
        ends[:] = 0, len(order)
        gain = settle(*search, looks)
        while ends[0] < ends[1] and monotonic() < deadline:
            gain += settle(*search, looks)
        total += gain
        if monotonic() >= deadline:
            break
    return total
