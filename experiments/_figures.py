"""Rows of panels that share their axes, and curves with bands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
