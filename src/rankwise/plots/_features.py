"""Contribution of each feature to a score that is a sum of steps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import as_array, check_whole, shortened
from rankwise._core.inputs import refuse_masked
from rankwise.boosting import FeatureScore
from rankwise.plots._axes import check_drawable, new_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FeatureScoreDisplay:
    """The learned score as a step function of each feature, one panel a feature.

    All panels have the same height, so a flat one matters little. A dashed line is the score of a
    missing value, where it was learned.

    Parameters
    ----------
    scores : mapping of str to FeatureScore
        What each feature adds, by name; see `rankwise.boosting.RankBoost.feature_score`.
    missing : collection of str, default=()
        Features whose missing values are drawn.

    Attributes
    ----------
    axes_ : ndarray of Axes
        The panels, in the order of ``scores``.
    figure_
        Where they were drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.boosting import RankBoost
    >>> from rankwise.plots import FeatureScoreDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = RankBoost(30).fit(X, np.sin(X[:, 2]) + X[:, 4] > 0)
    >>> display = FeatureScoreDisplay.from_estimator(model, n_features=2)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['x4', 'x2']
    """

    def __init__(
        self, scores: Mapping[str, FeatureScore], *, missing: Sequence[str] | set[str] = ()
    ) -> None:
        if not isinstance(scores, Mapping):
            raise TypeError(f"scores={scores!r} must be a dict of names and FeatureScore")
        if not scores:
            raise ValueError("scores is empty: there must be at least one feature")
        for name, score in scores.items():
            if not isinstance(score, FeatureScore):
                raise TypeError(f"scores[{name!r}] must be a FeatureScore, not {shortened(score)}")
        self.scores = dict(scores)
        self.missing = set(missing)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: ArrayLike | None = None,
        n_features: int = 6,
        axes: "Sequence[Axes] | None" = None,
    ) -> Self:
        """Draw the features of a fitted model.

        Parameters
        ----------
        estimator : RankBoost
            A fitted model.
        features : array-like of int, default=None
            Columns to draw. None: those with the largest importances.
        n_features : int, default=6
            How many of them at most, if ``features`` is None.
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one a feature; None: a new figure.
        """
        check_drawable(
            estimator,
            ("feature_score",),
            ("feature_importances_", "features_with_missing_", "n_features_in_"),
            "only a score that is a sum over features, such as RankBoost's, can be drawn so",
        )
        check_whole(n_features, "n_features")
        if features is None:
            importances = estimator.feature_importances_
            best = np.argsort(-importances, kind="stable")[:n_features]
            features = best[importances[best] > 0] if importances.any() else best[:1]
        columns = _check_columns(features, estimator.n_features_in_)
        names = getattr(estimator, "feature_names_in_", None)
        named = {f: f"x{f}" if names is None else str(names[f]) for f in columns}
        scores = {named[f]: estimator.feature_score(f) for f in columns}
        seen = [named[f] for f in columns if f in estimator.features_with_missing_]
        return cls(scores, missing=seen).plot(axes)

    def plot(self, axes: "Sequence[Axes] | None" = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one a feature; None: a new figure.
        """
        n = len(self.scores)
        self.axes_ = new_grid(n, size=(2.6, 2.3)) if axes is None else _check_axes(axes, n)
        self.figure_ = self.axes_[0].figure
        for ax, (name, (cuts, values, missing)) in zip(
            self.axes_, self.scores.items(), strict=True
        ):
            middle = values[len(values) // 2]
            inner = cuts if len(cuts) else np.zeros(1)
            room = 0.08 * (np.ptp(inner) or 1.0)
            ends = [inner[0] - room, *cuts, inner[-1] + room]
            ax.stairs(values - middle, ends, baseline=None, color="C0", linewidth=1.6)
            if name in self.missing:
                ax.axhline(missing - middle, color="C1", linestyle="--", label="missing")
                ax.legend(frameon=False, handlelength=1.4, borderaxespad=0.2)
            ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
            ax.set_xlabel(name)
            ax.spines[["top", "right"]].set_visible(False)
        low = min(ax.get_ylim()[0] for ax in self.axes_)
        high = max(ax.get_ylim()[1] for ax in self.axes_)
        for ax in self.axes_:
            ax.set_ylim(low, high)
        self.axes_[0].set_ylabel("score")
        return self


def _check_axes(axes: Any, n: int) -> NDArray[Any]:
    """Return the panels to draw in, one a feature."""
    panels = as_array(axes, "axes").ravel()
    if len(panels) != n:
        raise ValueError(f"axes has {len(panels)} panels for {n} features")
    if not all(hasattr(panel, "stairs") and hasattr(panel, "figure") for panel in panels):
        raise TypeError(f"axes={shortened(axes)} must be Axes of matplotlib, one a feature")
    return panels


def _check_columns(features: ArrayLike, n_features: int) -> list[int]:
    """Return the columns to draw, each of them one of X."""
    refuse_masked(features, "features")
    columns = np.atleast_1d(as_array(features, "features"))
    if columns.ndim != 1 or not len(columns) or columns.dtype.kind not in "iu":
        raise ValueError(f"features={features!r} must be one or more numbers of columns")
    for f in columns.tolist():
        if not 0 <= f < n_features:
            raise ValueError(f"features holds {f}, expected columns from 0 to {n_features - 1}")
    return list(dict.fromkeys(columns.tolist()))
