"""The one door to matplotlib, opened when something is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: "Axes | None", *, size: tuple[float, float]) -> "Axes":
    """Return ax, or the axes of a new figure of ``size`` inches."""
    return _pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def new_grid(n: int, *, size: tuple[float, float]) -> NDArray[Any]:
    """Return n axes of ``size`` inches each, at most three in a row of a new figure."""
    n_columns, n_rows = min(n, 3), -(-n // 3)
    inches = n_columns * size[0], n_rows * size[1]
    _, grid = _pyplot().subplots(
        n_rows, n_columns, figsize=inches, layout="constrained", squeeze=False
    )
    for empty in grid.ravel()[n:]:
        empty.set_visible(False)
    return grid.ravel()[:n]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'rankwise[plots]'") from error
    return plt


def rank_colors(k: int) -> Any:
    """Return k colours in an order that the eye follows, light to dark."""
    from matplotlib import colormaps  # noqa: PLC0415

    return colormaps["viridis_r"](np.linspace(0.12, 0.95, k))
