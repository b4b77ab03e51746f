"""Rows of panels that share their axes, curves with bands, and small files of them."""

import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def panels(
    titles: Sequence[str], *, xlabel: str, ylabel: str, n_rows: int = 1
) -> "tuple[Figure, list[Axes]]":
    """Return a new figure and its axes, one a title."""
    from matplotlib import pyplot as plt  # noqa: PLC0415

    n_columns = -(-len(titles) // n_rows)
    figure, grid = plt.subplots(
        n_rows, n_columns, figsize=(0.8 + 4 * n_columns, 0.6 + 3.2 * n_rows), sharex=True,
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    axes = list(grid.flat)
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in grid[-1]:
        ax.set_xlabel(xlabel)
    for ax in grid[:, 0]:
        ax.set_ylabel(ylabel)
    return figure, axes


def curve(ax: "Axes", x: Any, trials: NDArray[Any], **style: Any) -> None:
    """Draw the mean over trials, a row each, and the 95 % interval of the mean as a band."""
    mean, half_width = mean_interval(trials)
    (line,) = ax.plot(x, mean, **style)
    if len(trials) > 1:
        ax.fill_between(
            x, mean - half_width, mean + half_width, color=line.get_color(), alpha=0.15, linewidth=0
        )


def legend(figure: "Figure", ax: "Axes") -> None:
    """Name the curves of ``ax`` to the right of all panels."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False)


def save_svg(figure: "Figure", path: Path) -> None:
    """Write a figure as a small SVG: curves in 16 to 150 points, text as text.

    A long curve keeps points that are even in rounds and in their logarithm.
    """
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.collections import PolyCollection  # noqa: PLC0415

    n_lines = sum(len(ax.get_lines()) for ax in figure.axes)
    n_points = int(np.clip(650 / max(n_lines, 1), 16, 150))
    for ax in figure.axes:
        for line in ax.get_lines():
            x, y = map(np.asarray, line.get_data())
            kept = _kept(len(x), n_points)
            line.set_data(x[kept], y[kept])
        for band in (c for c in ax.collections if isinstance(c, PolyCollection)):
            outlines = [np.asarray(polygon.vertices) for polygon in band.get_paths()]
            band.set_verts([_thinned(outline, n_points) for outline in outlines])
    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rankwise"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    short = re.sub(r' d="[^"]*"', _rounded, text.getvalue())
    short = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", short, flags=re.DOTALL)
    lines = (line.strip() for line in short.splitlines())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line for line in lines if line) + "\n", encoding="utf-8")


def _rounded(path: re.Match[str]) -> str:
    """Return a path with one decimal; points after the first need no letter for a line."""
    return re.sub(r"(\d+\.\d)\d+", r"\1", re.sub(r"\s*\bL ", " ", path[0]))


def _kept(n: int, n_points: int) -> NDArray[np.int64]:
    """Return which of n points are drawn."""
    if n <= n_points:
        return np.arange(n)
    half = n_points // 2
    places = np.concatenate([np.linspace(0, n - 1, half), np.geomspace(1, n, half) - 1])
    return np.unique(places.round().astype(np.int64))


def _thinned(polygon: NDArray[Any], n_points: int) -> NDArray[Any]:
    """Return the outline of a band, there along one side and back along the other."""
    there, back = np.array_split(polygon[:-1], 2)
    kept = _kept(len(there), n_points), _kept(len(back), n_points)
    return np.concatenate([there[kept[0]], back[::-1][kept[1]][::-1]])
