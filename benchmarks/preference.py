"""A million items put in order by a comparator, beside sorts that need a total order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Entrant, Growth, Race, Target, load

Array = np.ndarray[Any, np.dtype[Any]]


def scores(m: int = 1_000_000, seed: int = 1) -> tuple[tuple[Array], tuple[Array]]:
    """Return random scores, and the same for the judge."""
    values = np.random.default_rng(seed).random(m)
    return (values,), (values,)


def wrong_places(order: Array, values: Array) -> float:
    """Return the share of places with another item than in the true order."""
    return float(np.mean(np.asarray(order) != np.sort(values[: len(order)])[::-1]))


def argsort(values: Array) -> Callable[[], Array]:
    """Sort by the scores themselves, which a comparator doesn't give away."""
    return lambda: values[np.argsort(-values)]


def comparisons(values: Array) -> Callable[[], None]:
    """Make QuickSort's comparisons, recorded beforehand, and nothing else."""
    quicksort = load("rankwise.preference.quicksort")
    pairs: list[tuple[Array, Array]] = []

    def prefer(u: Array, v: Array) -> Array:
        pairs.append((u, v))
        return values[u] > values[v]

    quicksort(np.arange(len(values)), prefer, batch=True, random_state=0)

    def run() -> None:
        for u, v in pairs:
            np.greater(values[u], values[v])

    return run


def ours(**options: Any) -> Callable[[Array], Callable[[], Any]]:
    """Sort with a comparator on arrays."""

    def prepare(values: Array) -> Callable[[], Any]:
        quicksort = load("rankwise.preference.quicksort")

        def greater(U: Array, V: Array) -> Array:
            return U > V

        def run() -> Any:
            ranking = quicksort(values, greater, batch=True, random_state=0, **options)
            return ranking.order if "k" not in options else None

        return run

    return prepare


def one_by_one(values: Array) -> Callable[[], Any]:
    """Sort with a comparator that is called for each pair."""
    quicksort = load("rankwise.preference.quicksort")
    listed = values.tolist()
    return lambda: quicksort(listed, lambda u, v: u > v, random_state=0).order


def cmp_to_key(values: Array) -> Callable[[], Any]:
    """Sort as Python does with a comparator, which must be transitive to make sense."""
    key = load("functools.cmp_to_key")(lambda u, v: -1 if u > v else 1)
    listed = values.tolist()
    return lambda: sorted(listed, key=key)


RACE = Race(
    data=scores,
    measure="wrong places",
    judge=wrong_places,
    limit=Entrant("np.argsort", argsort),
    ours=(
        Entrant("quicksort", ours()),
        Entrant("quicksort k=100", ours(k=100)),
        Entrant("quicksort one by one", one_by_one, rows=20_000),
    ),
    peers=(
        Entrant("its comparisons", comparisons, growth=True),
        Entrant("sorted, cmp_to_key", cmp_to_key, repeats=2),
    ),
    targets=(
        Target("quicksort", over="sorted, cmp_to_key", at_most=1),
        Target("quicksort", at_most=0),
    ),
    growth=(Growth("m", (10_000, 100_000, 1_000_000)),),
)
