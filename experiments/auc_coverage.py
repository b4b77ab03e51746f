"""How often the intervals of an AUC hold the truth.

Scores of two classes are drawn from four pairs of distributions whose AUC is known, for sizes of
the classes from 10 and AUCs from .6 to .98, and the intervals of `rankwise.metrics.auc_interval` at
the nominal level are counted that contain it. No paper has this table: it is why the default is
what it is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from rankwise.metrics.intervals import (
    binomial_interval,
    newcombe_interval,
    normal_interval,
    of_classes,
)
from rankwise.plots._axes import axes_or_new
from rankwise.reports import Report, Table, Track

Array = NDArray[np.float64]
Draw = Callable[[int, int, np.random.Generator], tuple[Array, Array]]

SIZES = ((10, 10), (10, 50), (50, 10), (10, 500), (500, 10), (50, 50), (50, 500), (200, 200))
AUCS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
METHODS = ("score", "newcombe", "delong")
LEVEL = 0.95
WANTED = 0.93


def normal_scores(auc: float, spread: float = 1.0) -> Draw:
    """Normal scores; those of the positive class have the standard deviation ``spread``."""
    shift = float(norm.ppf(auc)) * float(np.hypot(1.0, spread))
    return lambda n_pos, n_neg, random: (
        random.normal(shift, spread, n_pos),
        random.normal(0.0, 1.0, n_neg),
    )


def exponential_scores(auc: float) -> Draw:
    """Exponential scores, whose variance is Newcombe's if the classes are equally large."""
    scale = auc / (1 - auc)
    return lambda n_pos, n_neg, random: (
        random.exponential(scale, n_pos),
        random.exponential(1.0, n_neg),
    )


def rated_scores(auc: float) -> Draw:
    """Ratings from 1 to 5, normal scores cut at four places; many ties."""

    def masses(shift: float) -> tuple[Array, Array]:
        cuts = np.linspace(0, shift, 4)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        return np.diff(norm.cdf(edges - shift)), np.diff(norm.cdf(edges))

    def off(shift: float) -> float:
        pos, neg = masses(shift)
        return float(pos @ (np.cumsum(neg) - neg / 2)) - auc

    pos, neg = masses(float(brentq(off, 0.0, 12.0)))
    ratings = np.arange(1.0, 6.0)
    return lambda n_pos, n_neg, random: (
        random.choice(ratings, n_pos, p=pos),
        random.choice(ratings, n_neg, p=neg),
    )


SCORES: dict[str, Callable[[float], Draw]] = {
    "normal": normal_scores,
    "normal, positives twice as spread": lambda auc: normal_scores(auc, 2.0),
    "exponential": exponential_scores,
    "five ratings": rated_scores,
}


def auc_coverage(
    *,
    n_trials: int = 1_000,
    sizes: tuple[tuple[int, int], ...] = SIZES,
    aucs: tuple[float, ...] = AUCS,
    seed: int = 0,
    track: Track[int] = iter,
) -> Report:
    """Count how often intervals hold the truth.

    Parameters
    ----------
    n_trials : int, default=1_000
        Samples drawn in each cell.
    sizes : tuple of (int, int)
        Rows of the positive and of the negative class.
    aucs : tuple of float
        The true AUCs, more than .5.
    seed : int, default=0
        Every cell draws with its own stream of this seed.
    track : callable, default=iter
        Wraps the sequence of cells to show progress, such as ``rich.progress.track``.
    """
    if n_trials < 1 or min(map(min, sizes)) < 1 or not 0.5 < min(aucs) <= max(aucs) < 1:
        raise ValueError(
            f"{n_trials=} and sizes={sizes} must be 1 or more, and aucs={aucs} between .5 and 1"
        )
    cells = [
        (i, j, k) for i in range(len(SCORES)) for j in range(len(sizes)) for k in range(len(aucs))
    ]
    shape = (len(METHODS), len(SCORES), len(sizes), len(aucs))
    hits, widths = np.empty(shape), np.empty(shape)
    for cell in track(range(len(cells))):
        i, j, k = cells[cell]
        draw = list(SCORES.values())[i](aucs[k])
        random = np.random.default_rng([seed, cell])
        ends = _intervals(draw, sizes[j], n_trials, random)
        inside = (ends[..., 0] <= aucs[k]) & (aucs[k] <= ends[..., 1])
        hits[:, i, j, k] = inside.mean(axis=0)
        widths[:, i, j, k] = (ends[..., 1] - ends[..., 0]).mean(axis=0)
    return Report(
        title="How often the intervals of an AUC hold the truth",
        setting=(
            f"{n_trials:,} samples in each of {len(cells)} cells: {len(SCORES)} distributions, "
            f"{len(sizes)} sizes of the classes from {min(map(min, sizes))}, AUC "
            f"{min(aucs)} to {max(aucs)}; nominal level {LEVEL:.0%}; seed {seed}"
        ),
        tables=[_table(hits, widths), _worst(hits, sizes, aucs)],
        findings=_findings(hits, n_trials),
        figures={"auc_coverage": _draw(hits, aucs)},
    )


def _intervals(
    draw: Draw, size: tuple[int, int], n_trials: int, random: np.random.Generator
) -> Array:
    """Return the ends of the intervals of shape (n_trials, n_methods, 2)."""
    z = float(norm.isf((1 - LEVEL) / 2))
    y = np.repeat([1.0, 0.0], size)
    ends = np.empty((n_trials, len(METHODS), 2))
    for trial in range(n_trials):
        auc, variance, n_least = of_classes(y, np.concatenate(draw(*size, random)))
        ends[trial] = (
            binomial_interval(auc, variance, n_least, LEVEL),
            newcombe_interval(auc, *size, z),
            normal_interval(auc, variance, z),
        )
    return ends


def _table(hits: Array, widths: Array) -> Table:
    rows = []
    for i, scores in enumerate([*SCORES, "all"]):
        chosen = slice(None) if scores == "all" else [i]
        for m, method in enumerate(METHODS):
            share = hits[m, chosen]
            rows.append(
                [
                    scores if m == 0 else "",
                    method,
                    f"{share.min():.1%}",
                    f"{share.mean():.1%}",
                    f"{(share < WANTED).mean():.0%}",
                    f"{widths[m, chosen].mean():.3f}",
                ]
            )
    columns = ["scores", "method", "least", "mean", f"cells below {WANTED:.0%}", "mean width"]
    return Table("Coverage over the cells", columns, rows)


def _worst(hits: Array, sizes: tuple[tuple[int, int], ...], aucs: tuple[float, ...]) -> Table:
    rows = []
    for m, method in enumerate(METHODS):
        i, j, k = np.unravel_index(np.argmin(hits[m]), hits[m].shape)
        others = [f"{hits[other, i, j, k]:.1%}" for other in range(len(METHODS))]
        n_pos, n_neg = sizes[j]
        rows.append([method, list(SCORES)[i], f"{n_pos} + {n_neg}", f"{aucs[k]}", *others])
    return Table("The worst cell of each method", ["of", "scores", "rows", "AUC", *METHODS], rows)


def _findings(hits: Array, n_trials: int) -> list[str]:
    score, newcombe, delong = hits
    ours = (
        f"The default holds the truth in at least {score.min():.1%} of the samples of every cell "
        f"and in {score.mean():.1%} on average, of {LEVEL:.0%} promised. A cell with exactly that "
        f"coverage would be shown within {3 * np.sqrt(LEVEL * (1 - LEVEL) / n_trials):.1%} of it."
    )
    theirs = (
        f"DeLong's interval holds it in {delong.mean():.1%} on average, in {delong.min():.1%} in "
        "the worst cell: where few rows are misplaced its variance is too small, and 0 where none "
        "is."
    )
    normal = newcombe[0]
    assumed = (
        f"Newcombe's is as good as the default for normal scores of equal spread (at least "
        f"{normal.min():.1%}, {normal.mean():.1%} on average) and shorter, but it relies on them: "
        f"where the positives are twice as spread it falls to {newcombe[1].min():.1%}."
    )
    return [ours, theirs, assumed]


def _draw(hits: Array, aucs: tuple[float, ...]) -> Any:
    """Draw for each method the range of coverage over the sizes against the AUC."""
    figure = axes_or_new(None, size=(10, 4)).figure
    figure.clear()
    axes = figure.subplots(1, len(METHODS), sharey=True)
    for m, (method, ax) in enumerate(zip(METHODS, axes, strict=True)):
        for i, scores in enumerate(SCORES):
            share = hits[m, i]
            (line,) = ax.plot(aucs, share.min(axis=0), marker=".", label=scores)
            ax.fill_between(
                aucs, share.min(axis=0), share.max(axis=0), color=line.get_color(), alpha=0.12,
                linewidth=0,
            )  # fmt: skip
        ax.axhline(LEVEL, color="0.3", linewidth=1, linestyle="--")
        ax.set(title=method, xlabel="true AUC")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="coverage: worst size, and range", ylim=(min(0.6, hits.min() - 0.02), 1.01))
    axes[0].legend(frameon=False, loc="lower left", fontsize="small")
    return figure
