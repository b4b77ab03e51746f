"""Rankings as their authors write them, and as arrays.

A ranking is an order, best first, in which a tuple is a tie. It may leave candidates out. With
``unlisted="ignored"`` its voter says nothing about those; with ``"last"`` they are tied behind all
that the voter has listed. A tie counts for neither side.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from rankwise._core._loops.inversions import count_inversions
from rankwise._core._loops.linear_ordering import count_wins
from rankwise._core.arguments import check_word
from rankwise._core.inputs import check_weights

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Pairs that are counted at a time, some hundredths of a second, and that are counted in any case.
_SLICE = 1 << 25
_SURE = 1 << 28
_HEAVIEST = 1e200


class Votes(NamedTuple):
    """Votes of positive weight, one behind the other.

    Attributes
    ----------
    candidates : list
        All candidates; below they are called by their place in this list.
    items, levels : ndarrays of shape (total,)
        The candidates of each vote, best first, and their levels from 0; equal levels are tied.
    starts : ndarray of shape (n_votes + 1,)
        Vote v is ``items[starts[v] : starts[v + 1]]``.
    weight : ndarray of shape (n_votes,)
        Of each vote.
    """

    candidates: list[Any]
    items: Indices
    levels: Indices
    starts: Indices
    weight: Floats

    def wins(self, deadline: float = np.inf) -> Floats:
        """Return the matrix of the weight of the votes that put i before j.

        It takes time of the sum of the squared lengths of the votes. If ``time.monotonic()`` comes
        to the deadline before, that is a TimeoutError, but for what takes a fraction of a second.
        """
        wins = np.zeros((len(self.candidates), len(self.candidates)))
        work = np.cumsum(np.square(np.diff(self.starts).astype(np.float64)))
        first = 0
        while first < len(work):
            done = work[first - 1] if first else 0.0
            stop = max(int(np.searchsorted(work, done + _SLICE)), first + 1)
            starts, weight = self.starts[first : stop + 1], self.weight[first:stop]
            count_wins(self.items, self.levels, starts, weight, wins)
            first = stop
            if first < len(work) and work[first - 1] >= _SURE and monotonic() >= deadline:
                raise TimeoutError
        return wins

    def shares(self) -> Floats:
        """Return Borda's measure: comparisons won less those lost, as a share of all."""
        n, sizes = len(self.candidates), np.diff(self.starts)
        size, weight = np.repeat(sizes, sizes), np.repeat(self.weight, sizes)
        won = np.bincount(self.items, weight * (size + 1 - 2 * self.ranks()), minlength=n)
        compared = np.bincount(self.items, weight * (size - 1), minlength=n)
        return won / np.where(compared > 0, compared, 1.0)

    def cost(self, order: Indices) -> float:
        """Return the weight of the votes against the pairs of an order, without counting them."""
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        vote = np.repeat(np.arange(len(self.weight)), np.diff(self.starts))
        # Tied candidates in the order of their places: no inversions.
        ranks = rank[self.items]
        ranks = ranks[np.lexsort((ranks, self.levels, vote))]
        bounds = zip(self.starts[:-1], self.starts[1:], strict=True)
        inversions = [count_inversions(np.argsort(ranks[a:b], kind="stable")) for a, b in bounds]
        return float(self.weight @ np.array(inversions, dtype=np.float64))

    def ranks(self) -> Floats:
        """Return ranks from 1 within each vote, those of a tie at their mean."""
        vote = np.repeat(np.arange(len(self.weight)), np.diff(self.starts))
        place = np.arange(len(self.items)) - self.starts[vote]
        new = np.ones(len(self.items), dtype=np.bool_)
        new[1:] = (np.diff(vote) > 0) | (np.diff(self.levels) > 0)
        tie = np.cumsum(new) - 1
        return (1 + np.bincount(tie, place) / np.bincount(tie))[tie]


def read_votes(
    rankings: Iterable[Any],
    weights: ArrayLike | None,
    candidates: Iterable[Any] | None,
    unlisted: str,
    *,
    name: str = "candidates",
    weights_name: str = "weights",
) -> Votes:
    """Check rankings and turn them into arrays; names are those of the arguments, for messages."""
    check_word(unlisted, "unlisted", ("ignored", "last"))
    if isinstance(rankings, str | bytes | dict | set | frozenset) or not _iterable(rankings):
        raise ValueError(f"rankings must be a list of orders, not {_short(rankings)}")
    given = list(rankings)
    if not given:
        raise ValueError("rankings is empty: give at least one order")
    weight = _check_weights(weights, len(given), weights_name)
    kept = np.flatnonzero(weight)
    orders = {v: list(_places(given[v], f"ranking {v}")) for v in kept.tolist()}
    named = _named(orders.values(), candidates, name)
    number = {candidate: i for i, candidate in enumerate(named)}
    items: list[int] = []
    levels: list[int] = []
    starts = [0]
    for v, order in orders.items():
        listed: set[int] = set()
        for level, tie in enumerate(order):
            for candidate in tie:
                i = number.get(candidate)
                if i is None:
                    raise ValueError(f"ranking {v} has {candidate!r}, which is not in {name}")
                if i in listed:
                    raise ValueError(
                        f"ranking {v} has the duplicated candidate {candidate!r}: list it once"
                    )
                listed.add(i)
                items.append(i)
                levels.append(level)
        if unlisted == "last":
            rest = [i for i in range(len(named)) if i not in listed]
            items += rest
            levels += [len(order)] * len(rest)
        starts.append(len(items))
    return Votes(
        named, np.array(items, np.int64), np.array(levels, np.int64), np.array(starts), weight[kept]
    )


def _iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0 and not issparse(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _places(ranking: Any, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield the candidates of each place."""
    if isinstance(ranking, str | bytes | dict | set | frozenset) or not _iterable(ranking):
        raise ValueError(f"{name} is {_short(ranking)}: give a list of candidates, best first")
    for group in ranking.tolist() if isinstance(ranking, np.ndarray) else ranking:
        tie = group if isinstance(group, tuple) else (group,)
        if not tie:
            raise ValueError(f"{name} has an empty tie: leave it out")
        for candidate in tie:
            try:
                hash(candidate)
            except TypeError as error:
                raise ValueError(
                    f"{name} has {_short(candidate)} as a candidate: write ties as tuples"
                ) from error
            if _missing(candidate):
                raise ValueError(f"{name} has a missing value, {candidate}: leave it out")
        yield tie


def _missing(candidate: Any) -> bool:
    """Tell None and what is not equal to itself: NaN, NaT, and NA, which does not even know."""
    try:
        return candidate is None or bool(candidate != candidate)
    except (TypeError, ValueError):
        return True


def _named(
    orders: Iterable[list[tuple[Any, ...]]], candidates: Iterable[Any] | None, name: str
) -> list[Any]:
    """Return the candidates as given, or those that occur, sorted if they can be."""
    if candidates is not None:
        groups = list(_places(candidates, name))
        tie = next((tie for tie in groups if len(tie) > 1), None)
        if tie is not None:
            raise ValueError(f"{name} has a tie, {_short(tie)}: list candidates one by one")
        named = [candidate for (candidate,) in groups]
        if len(set(named)) < len(named):
            duplicate = next(c for c in named if named.count(c) > 1)
            raise ValueError(f"{name} has the duplicated candidate {duplicate!r}: list it once")
    else:
        named = list(dict.fromkeys(c for order in orders for tie in order for c in tie))
        # Candidates that can't be compared stay in the order in which they occur.
        with suppress(TypeError, ValueError, OverflowError):
            named = sorted(named)
    if not named:
        raise ValueError("rankings has no candidates: there is nothing to rank")
    return named


def _check_weights(weights: ArrayLike | None, n: int, name: str) -> Floats:
    if weights is None:
        return np.ones(n)
    try:
        values = np.asarray(weights)
        weight = values.astype(
            np.float64, casting="unsafe" if values.dtype == object else "same_kind"
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} is {_short(weights)}: give a number for each ranking") from error
    weight = check_weights(weight, name, n, "ranking")
    if weight.max() > _HEAVIEST:
        raise ValueError(
            f"{name}[{weight.argmax()}] is {weight.max()}: sums of such weights overflow, divide "
            "all of them"
        )
    return weight
