"""Orders from the answers to all pairs: by degree, and the greedy one.

Sorting by degree loses at most twice what the comparator loses on bipartite targets; no
deterministic sort can promise less (Balcan et al. 2007).

With PREF(u, v) in [0, 1] how much u should go before v, the order that agrees most with all
of it, ``max sum of PREF(u, v) over u before v``, is hard to find; the greedy one has at least half
of that.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankwise._core.arguments import check_whole
from rankwise._core.comparator import Comparator, Floats, Indices, Progress
from rankwise._core.ranking import Ranking

# Pairs in one batch, about.
_BATCH = 1 << 20


def sort_by_degree(
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
    """Ask all pairs, and sort items by the number of others that they go before.

    An answer of 1/2 is half a win for both; equal degrees keep the order of the input. Each item is
    asked about in the first place as often as in the second, but for one question. With
    ``max_calls`` every item takes part in about as many questions as any other, and items are
    sorted by wins less losses.

    Parameters
    ----------
    items, prefer, batch, max_calls, log, repeats, symmetrise, progress
        As in `quicksort`. Batches have a million pairs at most, or one more for each item.

    Returns
    -------
    Ranking
        ``cost`` is not set; ``certain`` is True if all pairs have been asked.

    Notes
    -----
    n (n - 1) / 2 questions. Deterministic, and therefore up to twice the loss of the comparator on
    bipartite targets, where `quicksort` has the same loss in expectation.

    References
    ----------
    M.-F. Balcan et al., *Robust reductions from ranking to classification*, COLT 2007.

    Examples
    --------
    >>> from rankwise.preference import sort_by_degree
    >>> sort_by_degree([2, 3, 1], lambda u, v: u < v)
    Ranking(order=[1, 2, 3], positions=array([2, 3, 1]), n_calls=3, n_batches=1)
    """
    comparator = Comparator(
        items, prefer, batch=batch, repeats=repeats, symmetrise=symmetrise, max_calls=max_calls,
        log=log, progress=progress,
    )  # fmt: skip
    wins, complete = np.zeros(comparator.n), True
    for first, second in all_pairs(comparator):
        complete &= _add_wins(wins, first, second, comparator.compare(first, second))
    return _by_wins(comparator, wins, complete)


async def asort_by_degree(
    items: Any,
    prefer: Callable[..., Any],
    *,
    batch: bool = False,
    max_calls: int | None = None,
    log: list[Any] | None = None,
    repeats: int = 1,
    symmetrise: bool = False,
    progress: Progress | None = None,
    max_concurrency: int = 8,
) -> Ranking:
    """Sort by degree with an async comparator.

    Parameters
    ----------
    items, prefer, batch, max_calls, log, repeats, symmetrise, progress
        As in `sort_by_degree`; ``prefer`` returns an awaitable.
    max_concurrency : int, default=8
        Questions that may be under way at once.

    Returns
    -------
    Ranking
    """
    check_whole(max_concurrency, "max_concurrency")
    comparator = Comparator(
        items, prefer, batch=batch, repeats=repeats, symmetrise=symmetrise, max_calls=max_calls,
        log=log, progress=progress, max_concurrency=max_concurrency,
    )  # fmt: skip
    wins, complete = np.zeros(comparator.n), True
    for first, second in all_pairs(comparator):
        complete &= _add_wins(wins, first, second, await comparator.acompare(first, second))
    return _by_wins(comparator, wins, complete)


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
    comparator = Comparator(
        items, prefer, batch=batch, repeats=repeats, symmetrise=symmetrise, max_calls=max_calls,
        log=log, progress=progress,
    )  # fmt: skip
    margins, complete = np.zeros((comparator.n, comparator.n)), True
    for first, second in all_pairs(comparator):
        answers = comparator.compare(first, second)
        complete &= not np.isnan(answers).any()
        margin = np.nan_to_num(answers, nan=0.5) - 0.5
        margins[first, second], margins[second, first] = margin, -margin
    return comparator.ranking(take_greedily(margins), np.full(comparator.n, complete))


def _add_wins(wins: Floats, first: Indices, second: Indices, answers: Floats) -> bool:
    """Add wins less losses to the items of each pair; return whether all pairs have an answer."""
    signs = np.sign(np.nan_to_num(answers, nan=0.5) - 0.5)
    wins += np.bincount(first, signs, len(wins)) - np.bincount(second, signs, len(wins))
    return not np.isnan(answers).any()


def _by_wins(comparator: Comparator, wins: Floats, complete: bool) -> Ranking:
    order = np.argsort(-wins, kind="stable")
    return comparator.ranking(order, np.full(comparator.n, complete))


def all_pairs(comparator: Comparator) -> Iterator[tuple[Indices, Indices]]:
    """Yield batches of all pairs, by their distance on a circle: any part of them is balanced."""
    n = comparator.n
    comparator.expected = comparator.copies * n * (n - 1) / 2
    distance, here = 1, np.arange(n)
    while 2 * distance <= n:
        last = min(distance + max(_BATCH // n, 1), n // 2 + 1)
        steps = np.arange(distance, last)
        first, second = np.tile(here, len(steps)), (here + steps[:, None]).ravel() % n
        if 2 * steps[-1] == n:
            # Half way round, each pair would come twice.
            first, second = first[: -(n // 2)], second[: -(n // 2)]
        yield first, second
        distance = last


def take_greedily(margins: Floats) -> Indices:
    """Return the greedy order; ``margins[u, v] = -margins[v, u]`` is how much u goes before v."""
    potential = margins.sum(axis=1)
    order = np.empty(len(margins), dtype=np.int64)
    for rank in range(len(order)):
        # Equal potentials differ by rounding.
        order[rank] = best = int(potential.round(9).argmax())
        potential -= margins[:, best]
        potential[best] = -np.inf
    return order
