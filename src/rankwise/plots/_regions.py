"""The decision picture of the slides: the plane in the colours of the ranks it is given."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, check_random_state

from rankwise._core.arguments import as_array, check_whole
from rankwise._core.inputs import check_floats, refuse_masked
from rankwise._core.labels import as_labels, named_labels, to_ranks
from rankwise.plots._axes import LARGEST, axes_or_new, check_drawable, rank_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = 2000
_ROOM = 0.08
_PALE = 0.35
_NAMED = 10


class DecisionRegionDisplay:
    """The regions of the plane that a model gives to each rank, and points on them.

    A point has the colour of its true rank, so a point in the region of its colour is
    predicted right. Mistakes are crosses.

    Parameters
    ----------
    x1, x2 : array-like of shape (n_columns,) and (n_rows,)
        The grid's coordinates, evenly spaced.
    regions : array-like of shape (n_rows, n_columns)
        The label predicted at each place of the grid.
    X : array-like of shape (n_samples, 2)
        The points.
    y_true, y_pred : array-like of shape (n_samples,)
        Their true and predicted labels.
    labels : array-like of shape (k,)
        The labels, lowest rank first.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    n_mistakes : int
        How many points lie in the region of another rank.

    Examples
    --------
    >>> from rankwise.datasets import make_ellipses
    >>> from rankwise.ordinal import PRank
    >>> from rankwise.plots import DecisionRegionDisplay
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    >>> X, y = make_ellipses(random_state=0)
    >>> last = PRank(vote=None, epochs=300, shuffle=False)
    >>> model = make_pipeline(StandardScaler(), PolynomialFeatures(2), last).fit(X, y)
    >>> DecisionRegionDisplay.from_estimator(model, X, y).n_mistakes
    0
    """

    def __init__(
        self,
        x1: ArrayLike,
        x2: ArrayLike,
        regions: ArrayLike,
        X: ArrayLike,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        labels: ArrayLike,
    ) -> None:
        self.labels = named_labels(labels, "labels")
        self.x1, self.x2 = check_floats(x1, "x1"), check_floats(x2, "x2")
        refuse_masked(regions, "regions")
        grid = as_array(regions, "regions")
        shape = (len(self.x2), len(self.x1))
        if grid.shape != shape:
            raise ValueError(f"regions has the shape {grid.shape}, but x2 and x1 make {shape}")
        self.regions = to_ranks(grid.ravel(), self.labels, "regions").reshape(shape)
        self.names = [str(name) for name in getattr(X, "columns", ("x1", "x2"))]
        self.X = _points(X)
        self.ranks = to_ranks(as_labels(y_true), self.labels)
        guesses = to_ranks(as_labels(y_pred, "y_pred"), self.labels, "y_pred")
        check_consistent_length(self.X, self.ranks, guesses)
        self.mistaken = guesses != self.ranks
        self.n_mistakes = int(self.mistaken.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        grid_resolution: int = 200,
        ax: "Axes | None" = None,
    ) -> Self:
        """Predict points and a grid around them with a fitted model and draw both.

        Parameters
        ----------
        estimator : fitted classifier of two features with ``classes_``
            Of this package or another, or a pipeline that ends in one.
        X : array-like of shape (n_samples, 2)
            The points.
        y : array-like of shape (n_samples,)
            Their true labels.
        grid_resolution : int, default=200
            Places of the grid along each axis, at least 2.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        check_drawable(
            estimator,
            ("predict",),
            ("classes_",),
            "only a classifier, such as PRank, gives each place of the plane to a rank",
        )
        check_whole(grid_resolution, "grid_resolution", 2)
        points = _points(X)
        low, high = points.min(axis=0), points.max(axis=0)
        room = _ROOM * np.where(low < high, high - low, 1.0)
        x1, x2 = np.linspace(low - room, high + room, grid_resolution).T
        grid: Any = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
        if hasattr(X, "columns"):
            grid = type(X)(dict(zip(X.columns, grid.T, strict=True)))
        regions = np.reshape(estimator.predict(grid), (len(x2), len(x1)))
        return cls(x1, x2, regions, X, y, estimator.predict(X), estimator.classes_).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the regions and at most 2,000 points, chosen evenly at random.

        The legend names at most ten ranks, evenly spread.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        k = len(self.labels)
        self.ax_ = axes_or_new(ax, size=(6, 4.4))
        self.figure_ = self.ax_.figure
        colors = rank_colors(k)
        pale = 1 - _PALE * (1 - colors[:, :3])
        self.ax_.set_facecolor(pale[0])
        # Painted one over the other: a border between far ranks shows no rank in between.
        for r in range(1, k):
            above = self.regions >= r
            self.ax_.contourf(self.x1, self.x2, above, levels=[0.5, 1.5], colors=[pale[r]])
            if above.any() and not above.all():
                self.ax_.contour(
                    self.x1, self.x2, above, levels=[0.5], colors="0.25", linewidths=0.8
                )
        shown = check_random_state(0).permutation(len(self.ranks))[:_DRAWN]
        good, bad = shown[~self.mistaken[shown]], shown[self.mistaken[shown]]
        self.ax_.scatter(
            self.X[good, 0], self.X[good, 1], s=32, color=colors[self.ranks[good]],
            edgecolor="white", linewidth=0.7, zorder=3,
        )  # fmt: skip
        self.ax_.scatter(
            self.X[bad, 0], self.X[bad, 1], s=65, color=colors[self.ranks[bad]], marker="X",
            edgecolor="crimson", linewidth=1, zorder=4,
        )  # fmt: skip
        self.ax_.set(
            xlim=self.x1[[0, -1]], ylim=self.x2[[0, -1]],
            xlabel=self.names[0], ylabel=self.names[1],
            title=f"{self.n_mistakes:,} of {len(self.ranks):,} points (crosses) in another's place",
        )  # fmt: skip
        named = np.linspace(0, k - 1, min(k, _NAMED)).round().astype(np.int64)
        self.ax_.legend(
            [self.ax_.plot([], [], "s", color=colors[r])[0] for r in named],
            self.labels[named].tolist(), title="rank", frameon=False, loc="center left",
            bbox_to_anchor=(1, 0.5), handletextpad=0.1, borderaxespad=0.2,
        )  # fmt: skip
        return self


def _points(X: ArrayLike) -> Any:
    """Return X as an array of two columns."""
    refuse_masked(X, "X")
    with np.errstate(over="ignore", invalid="ignore"):
        points = check_array(X, dtype=np.float64, input_name="X")
    if points.shape[1] != 2:
        raise ValueError(
            f"X has {points.shape[1]} features, but a plane has two: fit and draw a model of two "
            "features"
        )
    if not (np.abs(points) < LARGEST).all():
        raise ValueError(f"X must be numbers below {LARGEST:.0e} to be drawn: scale the features")
    return points
