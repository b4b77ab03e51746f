"""The one door to matplotlib, opened when something is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: "Axes | None", *, size: tuple[float, float]) -> "Axes":
    """Return ax, or the axes of a new figure of ``size`` inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'rankwise[plots]'") from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def rank_colors(k: int) -> Any:
    """Return k colours in an order that the eye follows, light to dark."""
    from matplotlib import colormaps  # noqa: PLC0415

    return colormaps["viridis_r"](np.linspace(0.12, 0.95, k))
