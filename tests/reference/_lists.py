"""Measures of lists over all orders of tied rows, sorting, and distances of rankings."""

from collections.abc import Callable
from itertools import permutations, product
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def list_measure(
    measure: Callable[..., float], y: ArrayLike, s: ArrayLike, *, k: int | None = None
) -> float:
    """Return the mean of a measure of one list over all orders of its tied rows.

    Parameters
    ----------
    measure : callable
        One of `LIST_MEASURES`, of targets in ranked order.
    y, s : array-like of shape (n,)
        Targets and scores.
    k : int, optional
        Where the list is cut.
    """
    targets, scores = np.asarray(y, dtype=np.float64), np.asarray(s, dtype=np.float64)
    blocks = [list(permutations(targets[scores == level])) for level in np.unique(scores)[::-1]]
    lists = [np.concatenate(blocks) for blocks in product(*blocks)]
    return float(np.mean([measure(ranked, len(ranked) if k is None else k) for ranked in lists]))


def ndcg(ranked: NDArray[np.float64], k: int) -> float:
    """Return the NDCG of targets in ranked order, with gain 2^y - 1."""

    def dcg(values: NDArray[np.float64]) -> float:
        return sum((2**y - 1) / log2(place + 2) for place, y in enumerate(values[:k]))

    return dcg(ranked) / dcg(np.sort(ranked)[::-1])


def average_precision(ranked: NDArray[np.float64], k: int) -> float:
    """Return the precision at the places of relevant rows (y > 0) up to k, over all relevant."""
    relevant = ranked > 0
    found = [relevant[: n + 1].mean() for n in range(min(k, len(ranked))) if relevant[n]]
    return float(sum(found) / relevant.sum())


def reciprocal_rank(ranked: NDArray[np.float64], k: int) -> float:
    """Return 1 over the place of the first relevant row (y > 0), 0 if it comes after k."""
    place = int(np.argmax(ranked > 0)) + 1
    return 1 / place if place <= k else 0.0


LIST_MEASURES = {
    "ndcg": ndcg,
    "average_precision": average_precision,
    "reciprocal_rank": reciprocal_rank,
}


def quicksort(
    items: list[int],
    before: Callable[[int, int], bool],
    priority: ArrayLike,
    *,
    k: int | None = None,
) -> list[int]:
    """Sort by the textbook, pivot by pivot; past the first k, as things fall."""
    if len(items) < 2 or (k is not None and k <= 0):
        return items
    values = np.asarray(priority)
    pivot = max(items, key=lambda item: values[item])
    rest = [item for item in items if item != pivot]
    lower = [item for item in rest if before(item, pivot)]
    upper = [item for item in rest if item not in lower]
    left = None if k is None else k - len(lower) - 1
    return [
        *quicksort(lower, before, values, k=k),
        pivot,
        *quicksort(upper, before, values, k=left),
    ]


def votes_for(rankings: Any, u: Any, v: Any) -> list[bool]:
    """Return, for each ranking that has both in different places, whether u is before v."""
    answers = []
    for ranking in rankings:
        places = [set(place) if isinstance(place, tuple) else {place} for place in ranking]
        first = [p for p, place in enumerate(places) if u in place]
        second = [p for p, place in enumerate(places) if v in place]
        if first and second and first != second:
            answers.append(first < second)
    return answers


def discordant_pairs(a: Any, b: Any, candidates: Any) -> int:
    """Count the pairs that a and b put in opposite orders, one by one."""
    pairs = [(u, v) for i, u in enumerate(candidates) for v in list(candidates)[i + 1 :]]
    return sum({*votes_for([a], u, v), *votes_for([b], u, v)} == {True, False} for u, v in pairs)


def kemeny_orders(rankings: Any, weights: Any, candidates: Any) -> tuple[float, list[Any]]:
    """Return the smallest sum of weighted Kendall distances, and all orders that have it."""
    against = {
        (u, v): sum(
            weight
            for ranking, weight in zip(rankings, weights, strict=True)
            if votes_for([ranking], u, v) == [False]
        )
        for u, v in permutations(candidates, 2)
    }
    costs = {
        order: sum(against[u, v] for i, u in enumerate(order) for v in order[i + 1 :])
        for order in permutations(candidates)
    }
    best = min(costs.values())
    return best, [list(order) for order, cost in costs.items() if cost <= best + 1e-9]


def stretched_ranks(ranking: Any, n: int) -> dict[Any, float]:
    """Return ranks from 1, of a tie the mean, stretched from the length of the ranking to n."""
    flat = [
        (c, place) for place in ranking for c in (place if isinstance(place, tuple) else [place])
    ]
    ranks = {c: [k for k, (_, other) in enumerate(flat, 1) if other is place] for c, place in flat}
    return {c: (float(np.mean(k)) - 0.5) * n / len(flat) + 0.5 for c, k in ranks.items()}


def footrule_cost(order: Any, rankings: Any, weights: Any) -> float:
    """Return the weighted sum of the distances between places and ranks."""
    total = 0.0
    for ranking, weight in zip(rankings, weights, strict=True):
        ranks = stretched_ranks(ranking, len(order))
        total += weight * sum(abs(p - ranks[c]) for p, c in enumerate(order, 1) if c in ranks)
    return total
