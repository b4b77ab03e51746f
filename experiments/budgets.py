"""What a budget of kept rows costs, and what becomes of the row that must go.

PRank with an RBF kernel keeps every row that it learns from. With a budget, an old row leaves at
each new one. Here its part is taken over by the others; the simpler rules drop the oldest row, a
random one, or the one with the smallest coefficient, part and all.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._figures import curve, legend, panels
from experiments._trials import (
    INTERVAL,
    RANKS,
    Draw,
    check_sizes,
    linear_stream,
    with_interval,
)
from rankwise.datasets import make_herbrich
from rankwise.papers import prank
from rankwise.reports import Report, Table, Track

Stream = tuple[NDArray[np.float64], NDArray[np.int64]]

MOVES, N_FEATURES = 8, 10
RULES = ("taken over", "oldest", "random", "smallest")


def _still(n_rows: int, seed: int) -> Stream:
    return make_herbrich(n_rows, random_state=seed)


def _moving(n_rows: int, seed: int) -> Stream:
    """Move the unit square by its side, eight times."""
    X, y = make_herbrich(n_rows, random_state=seed)
    return X + np.outer(np.arange(n_rows) * MOVES // n_rows, [1.0, 0.0]), y


STREAMS: dict[str, tuple[Draw, float]] = {
    "saddle": (_still, 5.0),
    "saddle that moves": (_moving, 5.0),
    f"{N_FEATURES} features": (partial(linear_stream, n_features=N_FEATURES, noise=0.3), 0.05),
}


def budgets(
    *,
    n_rounds: int = 4_000,
    n_trials: int = 5,
    sizes: tuple[int, ...] = (10, 25, 50, 100),
    seed: int = 0,
    track: Track[str] = iter,
) -> Report:
    """Run the study of budgets.

    Parameters
    ----------
    n_rounds, n_trials : int
        Length of a stream, and number of independent streams of each kind.
    sizes : tuple of int
        The budgets.
    seed : int, default=0
        The first trial draws with this seed, the next with the next.
    track : callable, default=iter
        Wraps the sequence of kinds to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_rounds=n_rounds, n_trials=n_trials, sizes=sizes)
    kinds = {
        kind: _losses(*STREAMS[kind], n_rounds, n_trials, sizes, seed)
        for kind in track(list(STREAMS))
    }
    tables = []
    for kind, losses in kinds.items():
        rows = [[rule, *(with_interval(losses[rule, size]) for size in sizes)] for rule in RULES]
        free = with_interval(losses["all", 0])
        tables.append(
            Table(
                f"Mean rank loss online, {kind}; {free} with all rows kept",
                ["rule", *(f"B = {size}" for size in sizes)],
                rows,
            )
        )
    return Report(
        title="Budgets of kept rows",
        setting=(
            f"{n_trials} streams of {n_rounds:,} rounds of each kind, PRank with an RBF kernel "
            f"(gamma 5; 0.05 for {N_FEATURES} features), seeds from {seed}; {INTERVAL}"
        ),
        tables=tables,
        findings=_findings(kinds, sizes),
        figures={"budgets": _figure(kinds, sizes)},
    )


Losses = dict[tuple[str, int], NDArray[np.float64]]


def _losses(
    draw: Draw, gamma: float, n_rounds: int, n_trials: int, sizes: tuple[int, ...], seed: int
) -> Losses:
    trials: dict[tuple[str, int], list[float]] = {}
    for trial in range(seed, seed + n_trials):
        X, y = draw(n_rounds, trial)
        for size in (0, *sizes):
            model = prank(kernel="rbf", gamma=gamma, budget=size or None, label_order=RANKS)
            guesses = model.partial_fit_predict(X, y)
            rule = "taken over" if size else "all"
            trials.setdefault((rule, size), []).append(float(np.abs(guesses - y).mean()))
        for rule in RULES[1:]:
            for size in sizes:
                loss = forgetful(X, y, gamma=gamma, size=size, rule=rule, seed=trial)
                trials.setdefault((rule, size), []).append(loss)
    return {key: np.array(losses) for key, losses in trials.items()}


def forgetful(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    *,
    gamma: float,
    size: int,
    rule: str,
    seed: int,
) -> float:
    """Return the mean rank loss of kernel PRank that drops rows by a simple rule."""
    random = np.random.default_rng(seed)
    kept = np.empty((size, X.shape[1]))
    alpha, born, b = np.zeros(size), np.zeros(size), np.zeros(len(RANKS) - 1)
    n, loss = 0, 0
    cuts = np.arange(1, len(RANKS))
    for t, (x, rank) in enumerate(zip(X, y, strict=True)):
        score = alpha[:n] @ np.exp(-gamma * np.square(kept[:n] - x).sum(axis=1))
        guess = 1 + np.count_nonzero(score >= b)
        loss += abs(guess - rank)
        if guess == rank:
            continue
        sides = np.where(rank > cuts, 1.0, -1.0)
        steps = sides * ((score - b) * sides <= 0)
        b -= steps
        place = n
        if n == size:
            costs = {"oldest": born, "random": random.random(size), "smallest": np.abs(alpha)}
            place = int(np.argmin(costs[rule]))
        kept[place], alpha[place], born[place] = x, steps.sum(), t
        n = min(n + 1, size)
    return loss / len(y)


def _findings(kinds: dict[str, Losses], sizes: tuple[int, ...]) -> list[str]:
    findings = []
    for kind, losses in kinds.items():
        free = losses["all", 0].mean()
        enough = [size for size in sizes if losses["taken over", size].mean() <= 1.2 * free]
        last = sizes[-1]
        others = ", ".join(f"{rule} {losses[rule, last].mean():.3f}" for rule in RULES[1:])
        findings.append(
            f"{kind[0].upper()}{kind[1:]}: {free:.3f} with all rows kept; within 20 % of it from a "
            f"budget of {enough[0] if enough else f'more than {last}'} on when a row's part is "
            f"taken over. With {last} rows: taken over {losses['taken over', last].mean():.3f}; "
            f"dropped, {others}."
        )
    return findings


def _figure(kinds: dict[str, Losses], sizes: tuple[int, ...]) -> Any:
    figure, axes = panels(list(kinds), xlabel="budget", ylabel="mean rank loss online")
    for ax, losses in zip(axes, kinds.values(), strict=True):
        ax.axhline(float(losses["all", 0].mean()), color="0.5", linestyle=":", label="all kept")
        for rule in RULES:
            trials = np.stack([losses[rule, size] for size in sizes], axis=1)
            curve(ax, sizes, trials, label=rule, marker="o", markersize=3)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
    axes[0].set_ylim(bottom=0)
    legend(figure, axes[0])
    return figure
