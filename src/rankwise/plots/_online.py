"""Online loss curves of several models, with confidence bands."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import as_array, check_level
from rankwise._core.inputs import as_floats
from rankwise.metrics import mean_interval, rank_losses
from rankwise.model_selection import progressive_validation
from rankwise.plots._axes import LARGEST, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = 500


class OnlineLossDisplay:
    """Time-averaged rank loss over the rounds of a stream, one curve a model.

    With several streams a curve is the mean over them and its band the Student-t interval of that
    mean; a single stream has no band.

    Parameters
    ----------
    curves : mapping of str to array-like of shape (n_trials, n_rounds)
        The time-averaged loss of each model, a row a stream.
    level : float, default=0.95
        The confidence level of the bands.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : dict of str to Line2D
        The curves.

    Examples
    --------
    >>> from rankwise.datasets import make_herbrich
    >>> from rankwise.ordinal import MulticlassPerceptron, PRank
    >>> from rankwise.plots import OnlineLossDisplay
    >>> streams = [make_herbrich(300, random_state=seed) for seed in range(5)]
    >>> display = OnlineLossDisplay.from_estimators([PRank(), MulticlassPerceptron()], streams)
    >>> sorted(display.lines_)
    ['MulticlassPerceptron', 'PRank']
    """

    curves: dict[str, NDArray[np.float64]]
    level: float

    def __init__(self, curves: Mapping[str, ArrayLike], *, level: float = 0.95) -> None:
        if not isinstance(curves, Mapping):
            raise TypeError(f"curves={curves!r} must be a dict of names and curves")
        if not curves:
            raise ValueError("curves is empty: there must be at least one model")
        check_level(level)
        self.curves = {name: _check_curve(curve, name) for name, curve in curves.items()}
        self.level = level

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Sequence[Any],
        streams: Sequence[tuple[ArrayLike, ArrayLike]],
        *,
        level: float = 0.95,
        ax: "Axes | None" = None,
    ) -> Self:
        """Run models over streams by progressive validation and draw their losses.

        Parameters
        ----------
        estimators : mapping of str to estimator, or sequence of estimators
            The models, left unfitted. In a sequence they are named by their class.
        streams : sequence of (X, y)
            One or more streams of the same length.
        level : float, default=0.95
            The confidence level of the bands.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        if not isinstance(estimators, Mapping):
            estimators = list(estimators)
            names = [type(estimator).__name__ for estimator in estimators]
            if len(set(names)) < len(names):
                raise ValueError(
                    f"estimators are named by their class and {names} repeats one: pass a dict "
                    "{name: estimator}"
                )
            estimators = dict(zip(names, estimators, strict=True))
        streams = _check_streams(streams)
        curves = {
            name: np.stack([progressive_validation(model, X, y).loss_curve for X, y in streams])
            for name, model in estimators.items()
        }
        return cls(curves, level=level).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        predictions: Mapping[str, ArrayLike],
        *,
        labels: ArrayLike | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the losses of predictions that were made online on one stream.

        Parameters
        ----------
        y_true : array-like of shape (n_rounds,)
            The true labels.
        predictions : mapping of str to array-like of shape (n_rounds,)
            What each model predicted before it saw the label.
        labels : array-like of shape (k,), default=None
            All labels, lowest rank first; see `rankwise.metrics.rank_losses`.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        if not isinstance(predictions, Mapping):
            raise TypeError(f"predictions={predictions!r} must be a dict of names and predictions")
        losses = {
            name: rank_losses(y_true, guessed, labels=labels)
            for name, guessed in predictions.items()
        }
        return cls(
            {name: np.cumsum(loss) / np.arange(1, len(loss) + 1) for name, loss in losses.items()}
        ).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the curves, lowest final loss first in the legend.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        self.ax_ = axes_or_new(ax, size=(7, 4.2))
        self.figure_ = self.ax_.figure
        self.lines_ = {}
        for name, trials in sorted(self.curves.items(), key=lambda item: item[1][:, -1].mean()):
            shown = _spread(trials.shape[1])
            mean, half_width = mean_interval(trials[:, shown], level=self.level)
            (line,) = self.ax_.plot(shown + 1, mean, label=f"{name}  {mean[-1]:.2f}")
            if len(trials) > 1:
                self.ax_.fill_between(
                    shown + 1, mean - half_width, mean + half_width, color=line.get_color(),
                    alpha=0.2, linewidth=0,
                )  # fmt: skip
            self.lines_[name] = line
        self.ax_.set(xlabel="round", ylabel="time-averaged rank loss", xmargin=0.01)
        # The first rounds are all noise: let them leave the picture rather than flatten it.
        early = max(trials.mean(axis=0)[trials.shape[1] // 100] for trials in self.curves.values())
        self.ax_.set_ylim(0, 1.2 * early or None)
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(title="loss at the end", frameon=False)
        return self


def _check_streams(streams: Any) -> list[tuple[Any, Any]]:
    """Return one or more (X, y) of the same length."""
    listed = list(streams)
    pairs = all(isinstance(stream, tuple | list) and len(stream) == 2 for stream in listed)
    if not pairs or len({as_array(y, "y of a stream").shape for _, y in listed}) != 1:
        raise ValueError("streams must be one or more (X, y) of the same length")
    return listed


def _check_curve(curve: Any, name: str) -> NDArray[np.float64]:
    """Return a curve as a matrix, a row a stream."""
    trials = np.atleast_2d(as_floats(curve, f"the curve of {name}"))
    if trials.ndim != 2 or not trials.size or not (np.abs(trials) < LARGEST).all():
        raise ValueError(
            f"the curve of {name} must be finite numbers below {LARGEST:.0e}, one a round or a row "
            f"of them a stream, but its shape is {trials.shape}"
        )
    return trials


def _spread(n_rounds: int) -> NDArray[np.int64]:
    """Return the rounds that are drawn, denser at the start where curves are steep."""
    return np.unique(np.geomspace(1, n_rounds, _DRAWN).astype(np.int64)) - 1
