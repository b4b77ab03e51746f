"""From comparisons to an order: the item that beats the rest by most goes first, again and again.

With PREF(u, v) in [0, 1] how much u should go before v, the order that agrees most with all
of it, ``max sum of PREF(u, v) over u before v``, is hard to find; the greedy one has at least half
of that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise._core.comparator import Asker, Floats, Indices, Progress, Sort, as_ranking, make_asker
from rankwise._core.ranking import Ranking
from rankwise.preference._sorts import ask_all


def greedy_order(
    items: Any,
    prefer: Callable[..., Any],
    *,
    batch: bool = False,
    max_calls: int | None = None,
    log: list[Any] | None = None,
    repeats: int = 1,
    symmetrise: bool = False,
    progress: Progress | None = None,
) -> Ranking:
    """Ask all pairs, then take the item that is preferred most to those that are left.

    The first item has the largest potential, ``sum of p(u, v) - p(v, u)`` over all others v; it
    goes, with its part of the potentials of the others, and the next is found in the same way. What
    `prefer` says counts by its size, where `quicksort` and `sort_by_degree` see which side of 1/2
    it is on. Equal potentials keep the order of the input.

    Parameters
    ----------
    items, prefer, batch, max_calls, log, repeats, symmetrise, progress
        As in `sort_by_degree`. A pair without answer counts for neither side.

    Returns
    -------
    Ranking
        ``certain`` is True if all pairs have been asked.

    Notes
    -----
    n (n - 1) / 2 questions, O(n^2) time and 8 n^2 bytes. The sum of p(u, v) over the pairs with u
    before v is at least half of what the best order has.

    References
    ----------
    W. W. Cohen, R. E. Schapire and Y. Singer, *Learning to order things*, Journal of Artificial
    Intelligence Research 10, 1999.

    Examples
    --------
    b beats both others by a little, a beats c by far: by degree b goes first, by potential a.

    >>> from rankwise.preference import greedy_order, sort_by_degree
    >>> p = {("b", "a"): 0.6, ("b", "c"): 0.6, ("a", "c"): 1.0}
    >>> def prefer(u, v):
    ...     return p[u, v] if (u, v) in p else 1 - p[v, u]
    >>> sort_by_degree("abc", prefer).order, greedy_order("abc", prefer).order
    (['b', 'a', 'c'], ['a', 'b', 'c'])
    """
    asker = make_asker(items, prefer, batch, repeats, symmetrise, max_calls, log, progress)
    return asker.run(_greedy(asker))


def _greedy(asker: Asker) -> Sort[Ranking]:
    margins = np.zeros((asker.n, asker.n))

    def count(first: Indices, second: Indices, margin: Floats) -> None:
        margins[first, second], margins[second, first] = margin, -margin

    whole = yield from ask_all(asker, count)
    return as_ranking(asker, take_greedily(margins), np.full(asker.n, whole))


def take_greedily(margins: Floats) -> Indices:
    """Return the greedy order; ``margins[u, v] = -margins[v, u]`` is how much u goes before v."""
    potential = margins.sum(axis=1)
    order = np.empty(len(margins), dtype=np.int64)
    for place in range(len(order)):
        # Equal potentials differ by rounding.
        order[place] = best = int(potential.round(9).argmax())
        potential -= margins[:, best]
        potential[best] = -np.inf
    return order
