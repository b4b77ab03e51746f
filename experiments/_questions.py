"""How many questions QuickSort asks, and in how many batches: a part of `preference`."""

from collections.abc import Callable
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.preference import expected_calls, quicksort
from rankwise.reports import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _comparator(noise: float) -> Callable[..., Any]:
    """Return a comparator of numbers in which a share of the pairs is turned, always the same."""

    def prefer(u: NDArray[np.int64], v: NDArray[np.int64]) -> Any:
        low, high = np.minimum(u, v).astype(np.uint64), np.maximum(u, v).astype(np.uint64)
        word = low * np.uint64(0x9E3779B97F4A7C15) + high * np.uint64(0xD1B54A32D192ED03)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word ^= word >> np.uint64(27)
        return (u < v) ^ ((word >> np.uint64(11)) * 2.0**-53 < noise)

    return prefer


def questions(
    n: int, noise: float, k: int | None, seed: int, n_runs: int = 5
) -> tuple[float, float]:
    """Return the mean questions and batches of some sorts."""
    runs: list[Any] = []
    for run in range(n_runs):
        items = np.random.default_rng(seed + run).permutation(n)
        ranking = quicksort(items, _comparator(noise), k=k, batch=True, random_state=seed + run)
        runs.append((ranking.n_calls, ranking.n_batches))
    calls, batches = np.mean(runs, axis=0)
    return float(calls), float(batches)


Calls = dict[float, list[tuple[float, float]]]


def growth_table(calls: Calls, sizes: tuple[int, ...]) -> Table:
    rows = []
    for i, n in enumerate(sizes):
        exact = expected_calls(n)
        asked = [f"{calls[noise][i][0] / (n * log2(n)):.2f}" for noise in calls]
        batches = [f"{calls[noise][i][1]:.0f}" for noise in calls]
        rows.append([f"{n:,}", f"{exact / (n * log2(n)):.2f}", *asked, *batches, f"{log2(n):.1f}"])
    shares = [f"{noise:.0%} turned" for noise in calls]
    return Table(
        "Questions / (n log2 n) and batches, by the share of pairs that are turned",
        ["n", "formula", *shares, *(f"batches, {share}" for share in shares), "log2 n"],
        rows,
    )


def top_table(n: int, tops: tuple[int, ...], seed: int) -> Table:
    rows = []
    for k in (k for k in tops if k <= n):
        asked = [questions(n, noise, k, seed, n_runs=20)[0] for noise in (0.0, 0.2)]
        bound = n + k * log2(k)
        cells = [expected_calls(n, k), *asked]
        rows.append([f"{k:,}", *(f"{cell / bound:.2f}" for cell in cells)])
    return Table(
        f"Questions / (n + k log2 k) for the best k of {n:,}",
        ["k", "formula", "0% turned", "20% turned"],
        rows,
    )


def question_figure(calls: Calls, sizes: tuple[int, ...]) -> "Figure":
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    n = np.array(sizes, dtype=np.float64)
    left.plot(n, (n - 1) / 2, color="0.6", label="all pairs")
    left.plot(n, expected_calls(n) / n, color="k", linewidth=1, label="formula")
    for noise, found in calls.items():
        asked, batches = np.array(found).T
        left.plot(n, asked / n, "o", mfc="none", label=f"{noise:.0%} turned")
        right.plot(n, batches, "o", mfc="none", label=f"{noise:.0%} turned")
    left.set(xscale="log", yscale="log", xlabel="items", ylabel="questions per item")
    right.plot(n, np.log2(n), color="k", linewidth=1, label="log2 n")
    right.set(xscale="log", xlabel="items", ylabel="batches")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
    return figure
