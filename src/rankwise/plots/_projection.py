"""The picture of the slides: items on the line w.x, thresholds as marks, mistakes visible."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, check_random_state

from rankwise._core.inputs import as_floats
from rankwise._core.labels import as_labels, named_labels, to_ranks
from rankwise.plots._axes import LARGEST, axes_or_new, check_drawable, rank_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = 2000


class ProjectionDisplay:
    """Rows projected onto the direction of a model, cut into ranks by its thresholds.

    A lane for each true rank; the bands behind are the places of the predicted ranks, so a row in
    the band of its colour is predicted right. Mistakes are crosses.

    Parameters
    ----------
    projections : array-like of shape (n_samples,)
        Scores w.x.
    y_true : array-like of shape (n_samples,)
        True labels.
    thresholds : array-like of shape (k-1,)
        The thresholds, in order.
    labels : array-like of shape (k,)
        The labels, lowest rank first.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    n_mistakes : int
        How many rows lie in the place of another rank.

    Examples
    --------
    >>> from rankwise.ordinal import PRank
    >>> from rankwise.plots import ProjectionDisplay
    >>> X, y = [[-2.0], [0.0], [2.0]], [1, 2, 3]
    >>> model = PRank(vote=None, epochs=20, shuffle=False).fit(X, y)
    >>> ProjectionDisplay.from_estimator(model, X, y).n_mistakes
    0
    """

    def __init__(
        self, projections: ArrayLike, y_true: ArrayLike, thresholds: ArrayLike, labels: ArrayLike
    ) -> None:
        self.labels = named_labels(labels, "labels")
        self.thresholds = as_floats(thresholds, "thresholds")
        self.projections = as_floats(projections, "projections")
        self.ranks = to_ranks(as_labels(y_true, "y_true"), self.labels, "y_true")
        for name, values in (("projections", self.projections), ("thresholds", self.thresholds)):
            if values.ndim != 1 or not (np.abs(values) < LARGEST).all():
                raise ValueError(
                    f"{name} must be finite numbers, one a row or mark, below {LARGEST:.0e}"
                )
        check_consistent_length(self.projections, self.ranks)
        if len(self.thresholds) != len(self.labels) - 1 or np.any(np.diff(self.thresholds) < 0):
            raise ValueError(
                f"thresholds={self.thresholds.tolist()} must be {len(self.labels) - 1} numbers in "
                f"rising order for {len(self.labels)} labels"
            )
        guesses = np.searchsorted(self.thresholds, self.projections, side="right")
        self.mistaken = guesses != self.ranks
        self.n_mistakes = int(self.mistaken.sum())

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, ax: "Axes | None" = None
    ) -> Self:
        """Project rows with a fitted model and draw them.

        Parameters
        ----------
        estimator : fitted estimator with ``project`` and ``thresholds_``
            Such as `PRank` or `WidrowHoff`.
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their true labels.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        check_drawable(
            estimator,
            ("project",),
            ("thresholds_", "classes_"),
            "only a model that projects on one line, such as PRank or WidrowHoff, can be drawn on "
            "it",
        )
        projections = estimator.project(X)
        return cls(projections, y, estimator.thresholds_, estimator.classes_).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        projections: ArrayLike,
        y_true: ArrayLike,
        *,
        thresholds: ArrayLike,
        labels: ArrayLike,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw rows from their scores.

        Parameters
        ----------
        projections, y_true, thresholds, labels
            As in the class.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        return cls(projections, y_true, thresholds, labels).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw at most 2,000 rows, chosen evenly at random.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        k = len(self.labels)
        self.ax_ = axes_or_new(ax, size=(7.5, 0.55 * k + 1.6))
        self.figure_ = self.ax_.figure
        colors = rank_colors(k)
        marks = np.concatenate([self.projections, self.thresholds])
        room = 0.04 * (np.ptp(marks) or 1.0)
        left, right = marks.min() - room, marks.max() + room
        edges = np.concatenate([[left], self.thresholds, [right]])
        for r in range(k):
            self.ax_.axvspan(edges[r], edges[r + 1], color=colors[r], alpha=0.22, linewidth=0)
        self.ax_.vlines(self.thresholds, -0.5, k - 0.5, color="0.25", linewidth=1)
        random = check_random_state(0)
        shown = random.permutation(len(self.ranks))[:_DRAWN]
        lanes = self.ranks + random.uniform(-0.3, 0.3, len(self.ranks))
        good, bad = shown[~self.mistaken[shown]], shown[self.mistaken[shown]]
        self.ax_.scatter(
            self.projections[good], lanes[good], s=14, color=colors[self.ranks[good]],
            edgecolor="white", linewidth=0.4, zorder=2,
        )  # fmt: skip
        self.ax_.scatter(
            self.projections[bad], lanes[bad], s=18, color="crimson", marker="x",
            linewidth=1, zorder=3,
        )  # fmt: skip
        self.ax_.set(
            xlim=(left, right), ylim=(-0.5, k - 0.5), yticks=range(k), yticklabels=self.labels,
            xlabel="w · x", ylabel="true rank",
            title=f"{self.n_mistakes:,} of {len(self.ranks):,} rows (crosses) in another's place",
        )  # fmt: skip
        return self
