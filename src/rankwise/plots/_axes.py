"""The one door to matplotlib, opened when something is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST = 1e300
"""matplotlib can't draw numbers that are larger."""


def axes_or_new(ax: "Axes | None", *, size: tuple[float, float]) -> "Axes":
    """Return ax, or the axes of a new figure of ``size`` inches."""
    if ax is not None and not hasattr(ax, "scatter"):
        raise TypeError(f"ax={ax!r} must be matplotlib Axes, or None for a new figure")
    return _pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def new_grid(n: int, *, size: tuple[float, float]) -> NDArray[Any]:
    """Return n axes of ``size`` inches each, three in a row of a new figure, or two of four."""
    n_columns = 2 if n == 4 else min(n, 3)
    n_rows = -(-n // n_columns)
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


def check_drawable(
    estimator: Any, methods: Sequence[str], learned: Sequence[str], say: str
) -> None:
    """Refuse an estimator that lacks a method, is not fitted, or lacks what is learned.

    ``say`` tells which estimators have them.
    """
    _check_has(estimator, methods, say)
    check_is_fitted(estimator)
    _check_has(estimator, learned, say)


def _check_has(estimator: Any, names: Sequence[str], say: str) -> None:
    for name in names:
        if not hasattr(estimator, name):
            raise ValueError(f"{type(estimator).__name__} has no {name}: {say}")


def rank_colors(k: int) -> Any:
    """Return k colours in an order that the eye follows, light to dark."""
    from matplotlib import colormaps  # noqa: PLC0415

    return colormaps["viridis_r"](np.linspace(0.12, 0.95, k))
