"""QuickSort as a dialogue: it plans comparisons, takes the answers, and always holds an order.

A block is a run of places whose members are not yet compared with each other. At each level every
block compares all of its members with one of them, the pivot, and falls apart into those before
and those after it. The comparisons of a level don't depend on each other, so they can be asked in
one batch; the number of levels is O(log n) in expectation.

The pivot is the member of the highest priority. With priorities in random order, each member is
equally likely to be the pivot, whatever happened before: this is randomised QuickSort, all of its
randomness drawn beforehand. A pair is compared at most once, so the answers need not be
transitive. Expected comparisons of n: 2 (n + 1) H_n - 4 n, about 1.39 n log2 n, for any
answers of a transitive comparator; O(n log n) in general (Ailon and Mohri 2008).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from rankwise._core._loops.quicksort import Level, plan_level, split_level

Indices = NDArray[np.int64]

_EMPTY = np.empty(0, dtype=np.int64)


class QuickSort:
    """Sort 0..n-1 by answers that come from outside.

    Parameters
    ----------
    n : int
        How many things there are.
    priority : array-like of shape (n,)
        Different integers from 0 to n - 1; the highest of a block is its pivot.
    k : int, optional
        Sort the first k only; places from k on are left as they fall.
    known : array-like of shape (m, 2), optional
        Pairs whose answers are at hand. A block then takes the member with the most of them as its
        pivot, so that a sort that was broken off goes on where it was; priorities decide ties.
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
        self._pivots = _EMPTY
        self._scratch = np.empty((n, 2), dtype=np.int64)

    def plan(self) -> tuple[Indices, Indices]:
        """Return the pairs of the next level, members and their pivots; none when all is done."""
        starts, stops = self._blocks.T
        n_pairs = int((stops - starts - 1).sum())
        self._pivots = np.empty(len(starts), dtype=np.int64)
        members, pivots = np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int64)
        if n_pairs:
            priority = self._preferred(starts, stops) if len(self._known) else self._priority
            plan_level(self.order, priority, self._blocks, self._pivots, members, pivots)
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
        parts = np.empty((2 * len(self._blocks), 2), dtype=np.int64)
        found = (self.order, self._priority, self._blocks, self._pivots, sides)
        level = Level(*found, self._scratch, parts, self.decided)
        self._blocks = parts[: split_level(level, self._top)]

    def expected(self) -> float:
        """Return the comparisons that are still to be made, on average."""
        starts, stops = self._blocks.T
        return float(_expected(stops - starts, self._top - starts).sum())

    def _preferred(self, starts: Indices, stops: Indices) -> Indices:
        """Return priorities by place that put the answers at hand within the block first."""
        n = len(self.order)
        block = np.full(n, -1)
        place = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
        block[self.order[place]] = np.repeat(np.arange(len(starts)), stops - starts)
        inside = block[self._known[:, 0]] == block[self._known[:, 1]]
        known = np.bincount(self._known[inside].ravel(), minlength=n)
        return known[self.order] * n + self._priority


def expected_calls(n: ArrayLike, k: ArrayLike | None = None) -> Any:
    """Return the comparisons that QuickSort needs on average to sort n things, or the first k.

    For transitive answers, where it is exact: ``2 n + 2 (n + 1) H_n - 2 (n + 3 - k) H_(n + 1 - k)
    - 6 k + 6`` with H the harmonic numbers, that is O(n + k log k) (Martinez 2004).

    Parameters
    ----------
    n : int, or array-like of them
        How many things there are, 0 or more.
    k : int or array-like, optional
        How many of them are put in order, 1 or more; all if it is n or more, or not given.

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


def _check_counts(given: ArrayLike, name: str, least: int) -> Any:
    """Return whole numbers of at least ``least`` as floats."""
    wanted = f"must be a whole number of {least} or more, or an array of them"
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name}={given!r} {wanted}") from error
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name}={given!r} {wanted}")
    good = (values >= least) & np.isfinite(values) & (values == np.floor(values))
    if not good.all():
        raise ValueError(f"{name}={values[~good][0].item()!r} {wanted}")
    return values.astype(np.float64)


def _expected(sizes: Any, top: Any) -> Any:
    """Return the formula of `expected_calls`, 0 where there is nothing to sort."""
    top = np.minimum(top, sizes)
    whole, rest = (digamma(m + 1) + np.euler_gamma for m in (sizes, sizes + 1 - top))
    calls = 2 * sizes + 2 * (sizes + 1) * whole - 2 * (sizes + 3 - top) * rest - 6 * top + 6
    return np.where((sizes < 2) | (top < 1), 0.0, calls)[()]
