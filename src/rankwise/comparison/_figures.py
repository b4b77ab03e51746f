"""The pictures of a comparison."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.comparison._inspection import Curve, Effect
from rankwise.comparison._significance import SURE
from rankwise.magnitude import cut_at_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankwise.comparison.runner import Comparison

OURS, OTHERS, DOWN = "#2f6fb5", "#8a8f98", "#d9822b"
_TOP = 15


def _axes(height: float) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(5.4, 0.86 * height), layout="constrained")
    ax = figure.subplots()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def methods_figure(found: "Comparison") -> "Figure":
    """Draw the first measure of each method with its interval, best at the top."""
    rows = [row for row in found.rows if not row.failure]
    figure, ax = _axes(0.9 + 0.34 * len(rows))
    for place, row in enumerate(reversed(rows)):
        color = OTHERS if row.baseline else OURS
        worse = row.pvalue <= SURE
        ax.errorbar(
            row.means[0], place, xerr=row.halves[0] if np.isfinite(row.halves[0]) else 0.0,
            fmt="o", color=color, mfc="none" if worse else color, capsize=3,
        )  # fmt: skip
    ax.set_yticks(range(len(rows)), [row.name for row in reversed(rows)])
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == found.best else "normal")
    ax.axvline(rows[0].means[0], color=OTHERS, linewidth=0.8, linestyle=":")
    measure = found.measures[0]
    ax.set_xlabel(f"{measure.name} ({'more' if measure.more_is_better else 'less'} is better)")
    return figure


def confusion_figure(labels: list[Any], y: Any, ranks: Any) -> "Figure":
    """Draw for each true grade how its rows were graded, in percent."""
    from matplotlib.colors import to_rgb  # noqa: PLC0415

    k = len(labels)
    counts = np.zeros((k, k))
    np.add.at(counts, (np.asarray(y, int) - 1, np.asarray(ranks, int) - 1), 1)
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure, ax = _axes(1.4 + 0.42 * k)
    cells = np.empty((k, k, 4))
    cells[..., :3], cells[..., 3] = to_rgb(OURS), shares / 100
    ax.imshow(cells, aspect="auto")
    for i in range(k):
        for j in range(k):
            if shares[i, j] >= 0.5:
                ax.text(
                    j, i, f"{shares[i, j]:.0f}", ha="center", va="center",
                    color="#e4f0ff" if shares[i, j] > 55 else "black",
                    fontsize=10 if k <= 8 else 8,
                )  # fmt: skip
    ax.set_xticks(range(k), map(str, labels))
    ax.set_yticks(range(k), map(str, labels))
    ax.set_xlabel("grade that was guessed")
    ax.set_ylabel("true grade")
    return figure


def sizes_figure(sizes: Any, values: Any, name: str) -> "Figure":
    """Draw a measure of each list against its size."""
    figure, ax = _axes(3.2)
    ax.plot(sizes, values, ".", color=OURS, alpha=0.25, markersize=5)
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, 7)))
    middles, means = [], []
    for low, high in pairwise(edges):
        inside = (sizes >= low) & ((sizes < high) | (high == edges[-1]))
        if inside.any():
            middles.append(float(np.mean(sizes[inside])))
            means.append(float(np.mean(values[inside])))
    ax.plot(middles, means, "o-", color=DOWN, label="mean of lists of about this size")
    if sizes.max() > 10 * sizes.min():
        ax.set_xscale("log")
    ax.set_xlabel("rows in the list")
    ax.set_ylabel(name)
    ax.legend(frameon=False)
    return figure


def scatter_figure(y: Any, scores: Any, name: str) -> "Figure":
    """Draw out-of-fold scores against the target."""
    figure, ax = _axes(3.6)
    shown = np.random.default_rng(0).permutation(len(y))[:3000]
    ax.plot(y[shown], scores[shown], ".", color=OURS, alpha=0.35, markersize=4)
    ax.set_xlabel(f"true {name}")
    ax.set_ylabel("score, out of fold")
    return figure


def effects_figure(effects: list[Effect], measure: str) -> "Figure":
    """Draw what each column is worth, and in which direction it pulls."""
    shown = list(reversed(effects[:_TOP]))
    figure, ax = _axes(1.2 + 0.3 * len(shown))
    colors = [OTHERS if e.sign == 0 else OURS if e.sign > 0 else DOWN for e in shown]
    ax.barh(range(len(shown)), [e.worth for e in shown], color=colors, height=0.65)
    ax.set_yticks(range(len(shown)), [_short(e.name) + e.mark for e in shown])
    ax.axvline(0, color=OTHERS, linewidth=0.8)
    ax.locator_params(axis="x", nbins=5)  # small numbers are long
    ax.set_xlabel(f"worsening of {measure} when the column is shuffled")
    return figure


def grades_figure(labels: list[Any], y: Any, scores: Any) -> "Figure":
    """Draw the out-of-fold scores of the rows of each grade on a line."""
    figure, ax = _axes(1.2 + 0.45 * len(labels))
    random = np.random.default_rng(0)
    for rank in range(1, len(labels) + 1):
        own = scores[y == rank]
        if not len(own):
            continue
        seen = random.permutation(own)[:500]
        ax.plot(seen, rank + random.uniform(-0.3, 0.3, len(seen)), ".", color=OURS, alpha=0.3)
        ax.plot([np.median(own)] * 2, [rank - 0.36, rank + 0.36], color=DOWN, linewidth=2.5)
    low, high = np.quantile(scores, [0.005, 0.995])
    margin = 0.05 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin)
    ax.set_yticks(range(1, len(labels) + 1), map(str, labels))
    ax.set_xlabel("score, out of fold")
    ax.set_ylabel("true grade")
    return figure


def top_figure(names: Any, scores: Any, y: Any, target: str) -> "Figure":
    """Draw the top of a list by its scores, with the cut at the largest gap."""
    order = np.argsort(-scores, kind="stable")[:_TOP]
    figure, ax = _axes(1.2 + 0.3 * len(order))
    places = np.arange(len(order))[::-1]
    ax.plot(scores[order], places, "o", color=OURS)
    if len(order) > 2:
        cut = cut_at_gap(scores[order], max_keep=len(order) - 1)
        ax.axhline(len(order) - cut - 0.5, color=DOWN, linestyle="--", linewidth=1.2)
    shown = [f"{_short(str(names[i]))}  [{y[i]:.3g}]" for i in order]
    ax.set_yticks(places, shown)
    ax.set_xlabel(f"score, out of fold; in brackets the true {target}")
    return figure


def curve_figure(curve: Curve, measure: str) -> "Figure":
    """Draw a measure against the number of rows learned from."""
    figure, ax = _axes(3.2)
    means, spread = curve.values.mean(axis=0), curve.values.std(axis=0)
    ax.plot(curve.sizes, means, "o-", color=OURS)
    ax.fill_between(
        curve.sizes, means - spread, means + spread, color=OURS, alpha=0.15, linewidth=0
    )
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks(curve.sizes, [f"{size:,}" for size in curve.sizes])
    ax.set_xlabel("rows learned from")
    ax.set_ylabel(measure)
    return figure


def _short(text: str, width: int = 34) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def list_values(y: NDArray[Any], scores: NDArray[Any], qid: NDArray[Any]) -> tuple[Any, Any]:
    """Return the size of each list with a comparable pair, and its share of pairs in order."""
    from rankwise.metrics import pairwise_misranking_loss  # noqa: PLC0415

    sizes, values = [], []
    order = np.argsort(qid, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(qid[order])) + 1):
        if y[rows].min() < y[rows].max():
            sizes.append(len(rows))
            values.append(1.0 - pairwise_misranking_loss(y[rows], scores[rows], ties="half"))
    return np.array(sizes), np.array(values)
