"""From comparisons to an order: randomised QuickSort, and sorting by degree.

The comparator may be noisy and need not be transitive. With h(u, v) in {0, 1} its answers, tau* the
target, and L the share of weighted pairs that are wrong (`preference_loss`, `order_loss`), Ailon
and Mohri (2008) show for the order Q of QuickSort, in expectation over its pivots:

- ``E L(Q, tau*) = L(h, tau*)`` if the target is bipartite, ``<= 2 L(h, tau*)`` for any target;
- ``E L(Q, best) <= 2 L(h, best)`` and ``E L(h, Q) <= 3 L(h, best)`` for the order nearest to h;
- O(n log n) questions for all, O(n + k log k) for the first k.

Sorting by degree asks all n (n - 1) / 2 pairs and loses at most 2 L(h, tau*) on bipartite targets;
no deterministic sort can promise less (Balcan et al. 2007).
"""

from collections.abc import Callable
from numbers import Integral
from reprlib import repr as short
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise._core._loops.quicksort import pair_draws
from rankwise._core.arguments import check_whole, warn_user
from rankwise._core.comparator import (
    Asker,
    Floats,
    Indices,
    Progress,
    Sort,
    as_ranking,
    check_flags,
    make_asker,
)
from rankwise._core.ranking import Ranking
from rankwise.preference.sorting import QuickSort, expected_calls

# Pairs that sorting by degree asks in one batch, about.
_BATCH = 1 << 20
# Added to a seed below it: the coin for who is shown first is not that for answers of 1/2.
_ANOTHER = 1 << 32


def quicksort(
    items: Any,
    prefer: Callable[..., Any],
    *,
    k: int | None = None,
    batch: bool = False,
    max_calls: int | None = None,
    log: list[Any] | None = None,
    random_state: int | np.random.RandomState | None = None,
    repeats: int = 1,
    symmetrise: bool = False,
    randomise: bool = False,
    progress: Progress | None = None,
) -> Ranking:
    """Put items in order with few questions, by randomised QuickSort.

    Parameters
    ----------
    items : sequence, array or frame
        The things to put in order; the rows of a 2-D array, frame or sparse matrix.
    prefer : callable
        ``prefer(u, v)`` returns the probability that u goes before v, or True and False. Over 1/2
        puts u first; exactly 1/2 is decided by a coin, one for each pair. It may contradict itself.
        Whether a pair is asked as (u, v) or (v, u) is decided by another coin of the pair, so that
        a taste for the first or second place favours nobody.
    k : int, default=None
        Sort the best k only; the rest follow, as they fell.
    batch : bool, default=False
        Whether ``prefer(U, V)`` takes two lists (or arrays, if ``items`` is one) and returns an
        answer for each pair. All questions of a level come in one call: O(log n) calls in all.
    max_calls : int, default=None
        Ask no more than so many questions. The order is complete all the same: blocks whose
        questions were not asked keep the order of the input.
    log : list, default=None
        Every answer is appended to it at once, as ``(i, j, p)`` with positions in ``items``:
        ``prefer`` was asked about i and j in this order and said p. What it holds already is not
        asked again, either way round, so a sort that failed, was interrupted or met ``max_calls``
        goes on from there. Entries are numbers only and can be kept as JSON.
    random_state : int, RandomState instance or None, default=None
        Draws pivots and both coins. With the same seed, a sort continued from its log gives the
        order that it would have given without the break.
    repeats : int, default=1
        Ask each pair so many times and go by the mean; of answers 0 and 1 that is the majority.
    symmetrise : bool, default=False
        Ask (u, v) and (v, u), and go by the mean, so that a taste for the first or second place
        cancels out for each pair, rather than on average. Twice the questions.
    randomise : bool, default=False
        Put u first with the probability that ``prefer`` returns, rather than when it is over 1/2.
    progress : callable, default=None
        ``progress(n_calls, expected)`` is called after each answer, or each batch, with the number
        of questions that were asked and the number that is expected in all.

    Returns
    -------
    Ranking
        ``order`` holds the items, best first, ``certain`` which places are decided, ``n_calls``
        the new questions, ``n_batches`` the levels that needed any, and ``log`` the answers (None
        if ``batch`` and no log was passed).

    See Also
    --------
    aquicksort : The same for a comparator that is awaited.
    sort_by_degree, greedy_order : Ask all pairs.

    Notes
    -----
    About ``1.39 n log2 n`` questions for all n, and O(n + k log k) for the first k;
    `expected_calls` gives the number. No pair is asked twice. Time beside the questions is of the
    same order: a million items take seconds.

    Any ``prefer`` whose answer depends on the two items and their places alone needs, on average,
    no more than ``expected_calls(n)`` questions for all n, and no more than 1.1 times
    ``expected_calls(n, k)`` for the first k: whatever its bias, the coin makes one answer for each
    pair of it. If h(u, v) + h(v, u) is not 1, the coin decides which of the two counts, and on
    average the comparator is ``(h(u, v) + 1 - h(v, u)) / 2``. A UserWarning says so if twice the
    expected number of pairs is exceeded (and it by 5 n), which takes answers that depend on what
    was asked before.

    References
    ----------
    N. Ailon and M. Mohri, *An efficient reduction of ranking to classification*, COLT 2008.

    Examples
    --------
    >>> from rankwise.preference import quicksort
    >>> words = ["pear", "fig", "apple", "quince", "kiwi"]
    >>> ranking = quicksort(words, lambda u, v: u < v, random_state=0)
    >>> ranking.order
    ['apple', 'fig', 'kiwi', 'pear', 'quince']
    >>> ranking.n_calls, len(ranking.log)
    (6, 6)
    """
    asker = make_asker(items, prefer, batch, repeats, symmetrise, max_calls, log, progress)
    return asker.run(_quicksort(asker, k, randomise, random_state))


async def aquicksort(
    items: Any,
    prefer: Callable[..., Any],
    *,
    k: int | None = None,
    batch: bool = False,
    max_calls: int | None = None,
    log: list[Any] | None = None,
    random_state: int | np.random.RandomState | None = None,
    repeats: int = 1,
    symmetrise: bool = False,
    randomise: bool = False,
    progress: Progress | None = None,
    max_concurrency: int = 8,
) -> Ranking:
    """Put items in order by randomised QuickSort with an async comparator.

    All questions of a level are under way together, ``max_concurrency`` of them at a time. If one
    fails, those under way are waited for and kept in the log, no new one is asked, and the failure
    is raised as it is (but for StopIteration, which no coroutine can raise: it is the cause of a
    RuntimeError). If the sort is cancelled, so are the questions under way.

    Parameters
    ----------
    items, k, batch, max_calls, log, random_state, repeats, symmetrise, randomise, progress
        As in `quicksort`. In the log, answers are in the order of their arrival.
    prefer : callable
        As in `quicksort`, but returns an awaitable of the answer.
    max_concurrency : int, default=8
        Questions that may be under way at once.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import asyncio
    >>> from rankwise.preference import aquicksort
    >>> async def shorter(u, v):
    ...     await asyncio.sleep(0.001)
    ...     return len(u) < len(v)
    >>> asyncio.run(aquicksort(["ccc", "a", "bb"], shorter, random_state=0)).order
    ['a', 'bb', 'ccc']
    """
    check_whole(max_concurrency, "max_concurrency")
    asker = make_asker(items, prefer, batch, repeats, symmetrise, max_calls, log, progress)
    return await asker.arun(_quicksort(asker, k, randomise, random_state), max_concurrency)


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
    asker = make_asker(items, prefer, batch, repeats, symmetrise, max_calls, log, progress)
    return asker.run(_by_degree(asker))


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
    asker = make_asker(items, prefer, batch, repeats, symmetrise, max_calls, log, progress)
    return await asker.arun(_by_degree(asker), max_concurrency)


def _quicksort(
    asker: Asker, k: int | None, randomise: bool, random_state: int | np.random.RandomState | None
) -> Sort[Ranking]:
    if k is not None:
        most = max(asker.n, 1)
        k = most if isinstance(k, Integral) and k > most else check_whole(k, "k")
    check_flags(randomise=randomise)
    random = _as_random(random_state)
    seed = int(random.randint(2**31))
    sort = QuickSort(asker.n, random.permutation(asker.n), k=k, known=asker.known)
    n_pairs, allowed = 0, _most_calls(asker.n, k)
    while len((pairs := sort.plan())[0]):
        if asker.progress is not None:
            copies = asker.repeats * (2 if asker.symmetrise else 1)
            asker.expected = asker.n_calls + copies * sort.expected()
        found = yield from asker.spread_answers(*pairs, seed + _ANOTHER)
        answered = None if asker.max_calls is None else ~np.isnan(found)
        n_pairs += len(found) if answered is None else int(answered.sum())
        if n_pairs > allowed:
            _warn_of_many(asker.n, k, n_pairs)
            allowed = np.inf
        sort.take(decide(found, *pairs, seed, randomise), answered)
    return as_ranking(asker, sort.order, sort.decided)


def _as_random(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={short(random_state)} must be None, a whole number from 0 to 2**32 - 1 "
            "or a np.random.RandomState"
        ) from error


def _most_calls(n: int, k: int | None) -> float:
    """Return a number of questions that answers by the pair do not exceed, but once in a million.

    Twice the expected number; for a small k, where chance has more room, 5 n above it. The standard
    deviation is below 3/4 n for every k.
    """
    expected = float(expected_calls(n, k))
    return expected + max(expected, 5.0 * n)


def _warn_of_many(n: int, k: int | None, n_pairs: int) -> None:
    which = f"{n} items" if k is None else f"the first {k} of {n} items"
    warn_user(
        f"{n_pairs} pairs were needed so far, where {expected_calls(n, k):.0f} are expected for "
        f"{which}: the answers of prefer depend on more than the two items, for example on what it "
        "was asked before. Make it answer each pair by itself, ask each pair both ways with "
        "symmetrise=True, or set a limit with max_calls"
    )


def _by_degree(asker: Asker) -> Sort[Ranking]:
    score = np.zeros(asker.n)

    def count(first: Indices, second: Indices, margin: Floats) -> None:
        for items, wins in ((first, np.sign(margin)), (second, -np.sign(margin))):
            score[:] += np.bincount(items, wins, minlength=asker.n)

    whole = yield from ask_all(asker, count)
    return as_ranking(asker, np.argsort(-score, kind="stable"), np.full(asker.n, whole))


def ask_all(asker: Asker, count: Callable[[Indices, Indices, Floats], None]) -> Sort[bool]:
    """Ask all pairs and hand the answers less 1/2 to ``count``, 0 past the limit.

    Returns whether all were answered.
    """
    whole = True
    for first, second in _circle(asker.n):
        asker.expected = (
            asker.repeats * (2 if asker.symmetrise else 1) * asker.n * (asker.n - 1) / 2
        )
        found = yield from asker.answers(first, second)
        whole &= not np.isnan(found).any()
        count(first, second, np.nan_to_num(found, nan=0.5) - 0.5)
    return whole


def _circle(n: int) -> Any:
    """Yield batches of all pairs, by their distance on a circle: any part of them is balanced."""
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


def decide(
    found: Floats, first: Indices, second: Indices, seed: int, randomise: bool
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Decide which go before: at 1/2 a coin of the unordered pair, or always if randomised."""
    before = found > 0.5
    open_ = np.arange(len(found)) if randomise else np.flatnonzero(found == 0.5)
    if len(open_):
        i, j = first[open_], second[open_]
        drawn = np.empty(len(open_))
        pair_draws(seed, i, j, drawn)
        chance = found[open_]
        before[open_] = np.where(i < j, drawn < chance, drawn >= 1 - chance)
    return before
