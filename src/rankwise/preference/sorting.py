"""Randomised QuickSort with a comparator that may be noisy and need not be transitive.

With h(u, v) in {0, 1} the answers of the comparator, tau* the target, and L the share of weighted
pairs that are wrong (`preference_loss`, `order_loss`), Ailon and Mohri (2008) show for the order Q
of QuickSort, in expectation over its pivots:

- ``E L(Q, tau*) = L(h, tau*)`` if the target is bipartite, ``<= 2 L(h, tau*)`` for any target;
- ``E L(Q, best) <= 2 L(h, best)`` and ``E L(h, Q) <= 3 L(h, best)`` for the order nearest to h;
- O(n log n) questions for all, O(n + k log k) for the first k.

A block is a run of places whose members are not yet compared with each other. At each level every
block compares all of its members with one of them, the pivot, and is split into those before and
those after it. The comparisons of a level don't depend on each other, so they can be made in one
batch; the number of levels is O(log n) in expectation.

The pivot is the member of the highest priority. With priorities in random order, each member is
equally likely to be the pivot, whatever happened before: this is randomised QuickSort, all of its
randomness drawn beforehand. A pair is compared at most once, so the answers need not be
transitive. Expected comparisons of n: 2 (n + 1) H_n - 4 n, about 1.39 n log2 n, for any
answers of a transitive comparator; O(n log n) in general (Ailon and Mohri 2008).
"""

from collections.abc import Callable
from numbers import Integral
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma
from sklearn.utils import check_random_state

from rankwise._core.arguments import check_whole, warn_user
from rankwise._core.comparator import Comparator, Floats, Indices, Progress, check_flags
from rankwise._core.ranking import Ranking
from rankwise.preference._loops import pair_draws, plan_level, split_level, swap_pairs

# Added to a seed below it: the coin for who is asked about first is not that for answers of 1/2.
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
        The items to put in order; the rows of a 2-D array, frame or sparse matrix.
    prefer : callable
        ``prefer(u, v)`` returns the probability that u goes before v, or True and False. Over 1/2
        puts u first; exactly 1/2 is decided by a coin, one for each pair. It may contradict itself.
        Whether a pair is asked as (u, v) or (v, u) is decided by another coin of the pair, so that
        a preference for the first or second place favours no item.
    k : int, default=None
        Sort the best k only; the rest follow, in the order of the last split.
    batch : bool, default=False
        Whether ``prefer(U, V)`` takes two lists (or arrays, if ``items`` is one) and returns an
        answer for each pair. All questions of a level come in one call: O(log n) calls in all.
    max_calls : int, default=None
        Ask at most this number of questions. The order is complete all the same: blocks whose
        questions were not asked keep the order of the input.
    log : list, default=None
        Every answer is appended to it at once, as ``(i, j, p)`` with positions in ``items``:
        ``prefer`` was asked about i and j in this order and said p. What it holds already is not
        asked again, either way round, so a sort that failed, was interrupted or met ``max_calls``
        continues from there. Entries are numbers only and can be kept as JSON.
    random_state : int, RandomState instance or None, default=None
        Draws pivots and both coins. With the same seed, a sort continued from its log gives the
        order that it would have given without the break.
    repeats : int, default=1
        Ask each pair this many times and go by the mean; of answers 0 and 1 that is the majority.
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
    `expected_calls` gives the number. No pair is asked twice. Time besides the questions is of the
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
    comparator = Comparator(
        items, prefer, batch=batch, repeats=repeats, symmetrise=symmetrise, max_calls=max_calls,
        log=log, progress=progress,
    )  # fmt: skip
    sort = _ComparatorSort(comparator, k, randomise, random_state)
    while len((pairs := sort.questions())[0]):
        sort.answer(comparator.compare(*pairs))
    return comparator.ranking(sort.order, sort.decided)


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
    is raised unchanged (but for StopIteration, which no coroutine can raise: it is the cause of a
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
    comparator = Comparator(
        items, prefer, batch=batch, repeats=repeats, symmetrise=symmetrise, max_calls=max_calls,
        log=log, progress=progress, max_concurrency=max_concurrency,
    )  # fmt: skip
    sort = _ComparatorSort(comparator, k, randomise, random_state)
    while len((pairs := sort.questions())[0]):
        sort.answer(await comparator.acompare(*pairs))
    return comparator.ranking(sort.order, sort.decided)


def expected_calls(n: ArrayLike, k: ArrayLike | None = None) -> Any:
    """Return the comparisons that QuickSort needs on average to sort n items, or the first k.

    For transitive answers, where it is exact: ``2 n + 2 (n + 1) H_n - 2 (n + 3 - k) H_(n + 1 - k)
    - 6 k + 6`` with H the harmonic numbers, that is O(n + k log k) (Martinez 2004).

    Parameters
    ----------
    n : int, or array-like of them
        The number of items, 0 or more.
    k : int or array-like, optional
        The number of them to put in order, 1 or more; all if it is n or more, or not given.

    Notes
    -----
    For any other answers, one for each pair, this is an upper bound if all are sorted: no
    tournament has numbers of wins further apart than 0, 1, ..., n - 1 (Landau 1953), and the cost
    of a split is convex in them. For the first k it is one to a factor of 1.1, the largest value
    of the linear programme over numbers of wins for n up to 80 and all k (1.09).

    Examples
    --------
    >>> from rankwise.preference.sorting import expected_calls
    >>> print(f"{expected_calls(100):.0f} of 4950 pairs, {expected_calls(100, 10):.0f} for ten")
    648 of 4950 pairs, 246 for ten
    """
    sizes = _check_counts(n, "n", 0)
    top = sizes if k is None else _check_counts(k, "k", 1)
    try:
        return _expected(sizes, top)
    except ValueError as error:
        raise ValueError(
            f"n has the shape {sizes.shape} and k {top.shape}: give one k, or one for each n"
        ) from error


class QuickSort:
    """Sort 0..n-1 level by level: `plan` returns pairs, `take` takes their answers.

    Parameters
    ----------
    n : int
        The number of items.
    priority : array-like of shape (n,)
        Different integers from 0 to n - 1; the highest of a block is its pivot.
    k : int, optional
        Sort the first k only; places from k on are left as they fall.
    known : array-like of shape (m, 2), optional
        Pairs whose answers are at hand. A block then takes the member with the most of them as its
        pivot, so that an interrupted sort continues where it was; priorities decide ties.
    lists : array-like of shape (n_lists + 1,), optional
        Where separate lists begin, and n: each is sorted by itself, all of them level by level.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The order so far, complete at any time; an open block is in input order.
    decided : ndarray of shape (n,)
        Whether each place of the order is decided; read it when `plan` has no more pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.preference.sorting import QuickSort
    >>> sort = QuickSort(5, [2, 0, 4, 1, 3])
    >>> while len((pairs := sort.plan())[0]):
    ...     sort.take(pairs[0] < pairs[1])
    >>> sort.order
    array([0, 1, 2, 3, 4])
    """

    def __init__(
        self,
        n: int,
        priority: ArrayLike,
        *,
        k: int | None = None,
        known: ArrayLike | None = None,
        lists: ArrayLike | None = None,
    ) -> None:
        self.order: Indices = np.arange(n)
        self.decided = np.ones(n, dtype=np.bool_)
        self._priority = np.array(priority, dtype=np.int64)
        self._known = np.empty((0, 2), dtype=np.int64) if known is None else np.asarray(known)
        self._top = n if k is None else min(n, k)
        edges = np.array([0, n] if lists is None else lists, dtype=np.int64)
        self._blocks = np.column_stack([edges[:-1], edges[1:]])[np.diff(edges) > 1]
        if self._top == 0:
            self._blocks = self._blocks[:0]
            self.decided[:] = n < 2
        if self._priority.shape != (n,):
            raise ValueError(
                f"priority has the shape {self._priority.shape}: expected one for each of {n} items"
            )
        if edges[0] != 0 or edges[-1] != n or (np.diff(edges) < 0).any():
            raise ValueError(f"lists={edges.tolist()} is invalid: expected edges from 0 to {n}")
        self._pivots = self.order[:0]
        self._n_pairs = 0
        self._scratch = np.empty((n, 2), dtype=np.int64)

    def plan(self) -> tuple[Indices, Indices]:
        """Return the pairs of the next level, members and their pivots; none when all is done."""
        by_known = len(self._known) and len(self._blocks)
        priority = self._priority_of_known() if by_known else self._priority
        self._pivots, members, pivots = plan_level(self.order, priority, self._blocks)
        self._n_pairs = len(members)
        return members, pivots

    def take(self, before: ArrayLike, answered: ArrayLike | None = None) -> None:
        """Take the answers to the pairs of the last plan.

        Parameters
        ----------
        before : array-like of bool
            Whether each member comes before its pivot.
        answered : array-like of bool, optional
            Which pairs have an answer, all unless it is given. A block with a pair without one
            keeps it open: those answered go to their side, and the block is left at that.
        """
        sides = 1 - 2 * np.asarray(before, dtype=np.bool_).view(np.int8)
        if answered is not None:
            sides[~np.asarray(answered)] = 0
        if sides.shape != (self._n_pairs,):
            raise ValueError(
                f"before has the shape {sides.shape}: expected one answer for each of "
                f"{self._n_pairs} pairs"
            )
        self._blocks = split_level(
            self.order,
            self._priority,
            self._blocks,
            self._pivots,
            sides,
            self.decided,
            self._top,
            self._scratch,
        )

    def expected(self) -> float:
        """Return the comparisons that are still to be made, on average."""
        starts, stops = self._blocks.T
        return float(_expected(stops - starts, self._top - starts).sum())

    def _priority_of_known(self) -> Indices:
        """Return priorities by place that put members with known answers in their block first."""
        n, (starts, stops) = len(self.order), self._blocks.T
        block = np.full(n, -1)
        positions = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
        block[self.order[positions]] = np.repeat(np.arange(len(starts)), stops - starts)
        inside = block[self._known[:, 0]] == block[self._known[:, 1]]
        known = np.bincount(self._known[inside].ravel(), minlength=n)
        return known[self.order] * n + self._priority


class _ComparatorSort(QuickSort):
    """QuickSort of the items of a comparator, with two coins for each pair.

    One decides which of the two is asked about first, the other who goes before at 1/2.
    """

    def __init__(
        self,
        comparator: Comparator,
        k: int | None,
        randomise: bool,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        n = comparator.n
        if k is not None:
            most = max(n, 1)
            k = most if isinstance(k, Integral) and k > most else check_whole(k, "k")
        check_flags(randomise=randomise)
        try:
            random = check_random_state(random_state)
        except ValueError as error:
            raise ValueError(
                f"random_state={short(random_state)} must be None, an integer from 0 to 2**32 - 1 "
                "or a np.random.RandomState"
            ) from error
        self.seed, self.randomise = int(random.randint(2**31)), randomise
        self.comparator, self.k, self.n_answered, self.has_warned = comparator, k, 0, False
        super().__init__(n, random.permutation(n), k=k, known=comparator.known)

    def questions(self) -> tuple[Indices, Indices]:
        """Return the pairs of the next level, each in the order to ask about it."""
        if self.comparator.progress is not None:
            rest = self.comparator.copies * self.expected()
            self.comparator.expected = self.comparator.n_calls + rest
        self.pairs = self.plan()
        first, second, self.swapped = swap_pairs(self.seed + _ANOTHER, *self.pairs)
        return first, second

    def answer(self, answers: Floats) -> None:
        """Take the probabilities that each first goes before its second, NaN for no answer."""
        probability = np.abs(self.swapped - answers)
        missing = np.isnan(probability)
        self.n_answered += len(missing) - int(missing.sum())
        n = self.comparator.n
        if self.n_answered > 5 * n and not self.has_warned:
            # Answers by the pair need more than twice as many, and 5 n more, once in a million; the
            # standard deviation is below 3/4 n.
            average = expected_calls(n, self.k)
            self.has_warned = self.n_answered > average + max(average, 5 * n)
            if self.has_warned:
                which = f"{n} items" if self.k is None else f"the first {self.k} of {n} items"
                warn_user(
                    f"{self.n_answered} pairs were needed so far, where {average:.0f} are expected "
                    f"for {which}: the answers of prefer depend on more than the two items, for "
                    "example on what it was asked before. Make it answer each pair by itself, ask "
                    "each pair both ways with symmetrise=True, or set a limit with max_calls"
                )
        before = decide(probability, *self.pairs, self.seed, self.randomise)
        self.take(before, ~missing if missing.any() else None)


def decide(
    probability: Floats, first: Indices, second: Indices, seed: int, randomise: bool
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Decide which go before: at 1/2 a coin of the unordered pair, or always if randomised."""
    before = probability > 0.5
    open_ = np.arange(len(probability)) if randomise else np.flatnonzero(probability == 0.5)
    if len(open_):
        i, j = first[open_], second[open_]
        drawn, chance = pair_draws(seed, i, j), probability[open_]
        before[open_] = np.where(i < j, drawn < chance, drawn >= 1 - chance)
    return before


def _check_counts(counts: ArrayLike, name: str, least: int) -> Any:
    """Return integers of at least ``least`` as floats."""
    expected = f"must be an integer of {least} or more, or an array of them"
    try:
        values = np.asarray(counts)
    except ValueError as error:
        raise ValueError(f"{name}={counts!r} {expected}") from error
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name}={counts!r} {expected}")
    good = (values >= least) & np.isfinite(values) & (values == np.floor(values))
    if not good.all():
        raise ValueError(f"{name}={values[~good][0].item()!r} {expected}")
    return values.astype(np.float64)


def _expected(sizes: Any, top: Any) -> Any:
    """Return the formula of `expected_calls`, 0 where there is nothing to sort."""
    top = np.minimum(top, sizes)
    whole, rest = (digamma(m + 1) + np.euler_gamma for m in (sizes, sizes + 1 - top))
    calls = 2 * sizes + 2 * (sizes + 1) * whole - 2 * (sizes + 3 - top) * rest - 6 * top + 6
    return np.where((sizes < 2) | (top < 1), 0.0, calls)[()]
