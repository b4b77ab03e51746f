"""ROC curves of one model or several, with confidence bands."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.metrics import roc_curve

from rankwise.metrics import auc_difference_test, auc_interval, auc_score
from rankwise.metrics.scored_rows import check_numbers
from rankwise.plots._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = 513
# More bands hide each other.
_BANDS = 2


class ROCDisplay:
    r"""Share of positive rows above a threshold against that of negative rows, for all thresholds.

    The band holds the whole true curve at the given level, whatever the distribution of the scores:
    both shares are known to :math:`\sqrt{\log(2/\alpha) / 2n}` everywhere with probability
    :math:`1 - \alpha = \sqrt{\text{level}}` each, by the inequality of Dvoretzky, Kiefer and
    Wolfowitz. It is wider than the interval of the AUC, which is in the legend. With two models the
    title has the p-value of their difference.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets with two different values; the higher is the positive class.
    scores : mapping of str to array-like of shape (n_samples,)
        The scores of each model.
    level : float, default=0.95
        The confidence level of bands and intervals.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : dict of str to Line2D
        The curves.
    aucs, intervals : dict of str to float, and to (float, float)
        The AUC of each model and its interval.
    pvalue : float or None
        Of the difference of two models.

    Examples
    --------
    >>> from rankwise.plots import ROCDisplay
    >>> display = ROCDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.aucs
    {'scores': 0.75}
    """

    def __init__(
        self, y_true: ArrayLike, scores: Mapping[str, ArrayLike], *, level: float = 0.95
    ) -> None:
        if not isinstance(scores, Mapping):
            raise TypeError(f"scores={scores!r} must be a dict of names and scores")
        if not scores:
            raise ValueError("scores is empty: there must be at least one model")
        self.y_true = check_numbers(y_true, "y_true")
        self.scores = {
            name: check_numbers(values, f"the scores of {name}", len(self.y_true))
            for name, values in scores.items()
        }
        self.level, y_true = level, self.y_true
        self.intervals = {
            name: auc_interval(y_true, values, level=level) for name, values in self.scores.items()
        }
        self.aucs = {name: auc_score(y_true, values) for name, values in self.scores.items()}
        self.pvalue = None
        if len(self.scores) == 2:
            self.pvalue = auc_difference_test(y_true, *self.scores.values())[1]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        level: float = 0.95,
        ax: "Axes | None" = None,
    ) -> Self:
        """Score rows with fitted models and draw their curves.

        Parameters
        ----------
        estimator : fitted estimator, or mapping of str to fitted estimators
            Scores are ``decision_function``, else the probability of the higher class, of
            classifiers, and ``predict`` of rankers and regressors.
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets, of two classes.
        level : float, default=0.95
            The confidence level of bands and intervals.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        if not isinstance(estimator, Mapping):
            estimator = {type(estimator).__name__: estimator}
        return cls(
            y, {name: _score(model, X) for name, model in estimator.items()}, level=level
        ).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        level: float = 0.95,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the curves of scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Targets with two different values.
        y_score : array-like of shape (n_samples,), or mapping of str to such
            The scores, of several models by their names.
        level : float, default=0.95
            The confidence level of bands and intervals.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        scores = y_score if isinstance(y_score, Mapping) else {"scores": y_score}
        return cls(y_true, scores, level=level).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the curves, and bands if there are one or two.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        self.ax_ = axes_or_new(ax, size=(5.4, 5.2))
        self.figure_ = self.ax_.figure
        self.lines_ = {}
        positive = self.y_true == self.y_true.max()
        self.ax_.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":")
        for name, auc in sorted(self.aucs.items(), key=lambda item: -item[1]):
            across, up, _ = roc_curve(positive, _places(self.scores[name]))
            low, high = self.intervals[name]
            (line,) = self.ax_.plot(
                across, up, label=f"{name}  {auc:.3f} ({low:.3f} to {high:.3f})"
            )
            if len(self.scores) <= _BANDS:
                x, lower, upper = roc_band(positive, self.scores[name], level=self.level)
                self.ax_.fill_between(
                    x, lower, upper, color=line.get_color(), alpha=0.15, linewidth=0
                )
            self.lines_[name] = line
        self.ax_.set(
            xlabel="share of negative rows above", ylabel="share of positive rows above",
            xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal",
        )  # fmt: skip
        if self.pvalue is not None:
            self.ax_.set_title(f"difference of the two: p = {self.pvalue:.2g}", fontsize="medium")
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(
            title=f"AUC ({self.level:.0%} interval)", frameon=False, loc="lower right",
            fontsize="small",
        )  # fmt: skip
        return self


def roc_band(
    positive: NDArray[np.bool_], scores: NDArray[Any], *, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the places where the band is drawn, and its lower and upper edge there.

    At each threshold both shares are off by less than their reach. So the true curve at x lies
    between the lowest point from x less the reach on and the highest up to x plus the reach; the
    points next to these are taken, since a curve goes straight through ties.
    """
    across, up, _ = roc_curve(positive, _places(scores), drop_intermediate=False)
    n_pos = int(positive.sum())
    sizes = np.array([len(positive) - n_pos, n_pos])
    # 1 - sqrt(level), for levels next to 1, too
    miss = -math.expm1(math.log(level) / 2)
    reach_across, reach_up = np.sqrt(math.log(2 / miss) / (2 * sizes))
    x = np.linspace(0, 1, _DRAWN)
    before = np.searchsorted(across, x - reach_across, side="left") - 1
    after = np.searchsorted(across, x + reach_across, side="right")
    lower = np.where(before < 0, 0.0, up[np.maximum(before, 0)] - reach_up)
    upper = up[np.minimum(after, len(up) - 1)] + reach_up
    return x, np.maximum(lower, 0), np.minimum(upper, 1)


def _places(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the places of the scores in their order, all that a curve is made of."""
    return np.unique(scores, return_inverse=True)[1].ravel()


def _score(model: Any, X: ArrayLike) -> NDArray[np.float64]:
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{type(model).__name__} has no predict: only a ranker, a regressor or a classifier of "
            "two classes has scores to draw; a model must be fitted"
        )
    if not is_classifier(model):
        return np.asarray(model.predict(X))
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, so that its "
            "rows have no scores"
        )
    shares = np.asarray(model.predict_proba(X))
    if shares.ndim != 2 or shares.shape[1] != 2:
        raise ValueError(
            f"predict_proba of {type(model).__name__} has the shape {shares.shape}, but a curve is "
            "for two classes"
        )
    return shares[:, 1]
