"""Strengths, places, wins and raters of a model of contests."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import check_flag, check_text, check_whole
from rankwise._core.inputs import as_floats, check_floats
from rankwise.plots._axes import LARGEST, axes_or_new, check_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_SAY = "fit a BradleyTerry or PlackettLuce of rankwise.contests"
_SAY_CONTESTS = "fit a BradleyTerry of rankwise.contests"


def _rows(n: int) -> tuple[float, float]:
    return 6.4, 1.2 + 0.22 * n


def _columns(size: int, /, **columns: Any) -> list[Floats]:
    """Return columns of a given number of values, which can be drawn."""
    found = [check_floats(values, name) for name, values in columns.items()]
    for name, values in zip(columns, found, strict=True):
        if len(values) != size or size == 0:
            raise ValueError(
                f"{name} has {len(values)} entries for {size}: give the same number, at least one"
            )
        if np.abs(values).max() > LARGEST:
            raise ValueError(f"{name} holds {np.abs(values).max():g}, which can't be drawn")
    return found


def _list_rows(ax: "Axes", names: list[str], *, named: bool = True) -> None:
    """Label the rows with names, the first on top."""
    ax.set_yticks(range(len(names)) if named else [], names if named else [])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


class StrengthDisplay:
    """Strengths with their intervals as a forest plot, or places with theirs.

    The grey line is 0, the mean item. Two items whose intervals overlap may still differ surely:
    places tell, which compare all pairs.

    Parameters
    ----------
    names : list of str
        The items, strongest first.
    middle, low, high : array-likes of shape (n,)
        What is drawn, and its interval.
    label : str
        What it is.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from rankwise.plots import StrengthDisplay
    >>> from rankwise.contests import BradleyTerry
    >>> outcome = [1, 1, 0, 0, 1, 0] * 4 + [1] * 3
    >>> model = BradleyTerry().fit(["a", "b", "c"] * 9, ["b", "c", "a"] * 9, outcome)
    >>> display = StrengthDisplay.from_estimator(model, places=True)
    >>> display.ax_.get_xlabel()
    'place, 95 % at once'
    """

    def __init__(self, names: list[str], middle: Any, low: Any, high: Any, *, label: str) -> None:
        self.names, self.label = list(names), check_text(label, "label")
        n = len(self.names)
        self.middle, self.low, self.high = _columns(n, middle=middle, low=low, high=high)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        places: bool = False,
        max_items: int = 60,
        level: float | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the items of a fitted model.

        Parameters
        ----------
        estimator : BradleyTerry or PlackettLuce
            A fitted model.
        places : bool, default=False
            Draw places, which hold all at once, instead of strengths.
        max_items : int, default=60
            Number of items to draw, strongest first.
        level : float, default=None
            Of the intervals; None: the model's.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        """
        places = check_flag(places, "places")
        check_drawable(estimator, ("table",), ("strengths_",), _SAY)
        table = estimator.table(level)
        shown = slice(check_whole(max_items, "max_items"))
        percent = 100 * (estimator.level if level is None else level)
        columns = ("rank", "best_rank", "worst_rank") if places else ("strength", "low", "high")
        label = f"place, {percent:g} % at once" if places else f"strength, {percent:g} % intervals"
        names = [str(item) for item in table["item"][shown]]
        return cls(names, *(table[c][shown] for c in columns), label=label).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; ``ax=None`` makes a new figure."""
        self.ax_ = axes_or_new(ax, size=_rows(len(self.names)))
        self.figure_ = self.ax_.figure
        rows = np.arange(len(self.names))
        self.ax_.hlines(rows, self.low, self.high, color="C0", linewidth=2.2, alpha=0.45)
        self.ax_.plot(self.middle, rows, "o", color="C0", markersize=4.5)
        if self.label.startswith("place"):
            self.ax_.set_xlim(0.5, self.high.max() + 0.5)
        else:
            self.ax_.axvline(0, color="0.6", linewidth=0.9, zorder=0)
        _list_rows(self.ax_, self.names)
        self.ax_.set_xlabel(self.label)
        return self


class WinMatrixDisplay:
    """Shares of wins of the row's item against the column's, both strongest first.

    White is a pair that has not met. If strengths explain the contests, the colours
    fall from the upper right to the lower left without islands.

    Parameters
    ----------
    names : list of str
        The items, strongest first.
    shares : array-like of shape (n, n)
        What the row's item got against the column's, NaN if they have not met.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, names: list[str], shares: Any) -> None:
        self.names, self.shares = list(names), as_floats(shares, "shares")
        if self.shares.shape != (len(self.names), len(self.names)):
            raise ValueError(
                f"shares has the shape {self.shares.shape} for {len(self.names)} names"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_items: int = 60, ax: "Axes | None" = None
    ) -> Self:
        """Draw the contests of a fitted `BradleyTerry`."""
        check_drawable(estimator, ("goodness_of_fit",), ("strengths_",), _SAY_CONTESTS)
        n = len(estimator.items_)
        place = estimator.ranking().positions - 1
        met = estimator._met
        shares = np.full((n, n), np.nan)
        got = met.sums[:, 1] / met.sums[:, 0]
        shares[place[met.left], place[met.right]] = got
        shares[place[met.right], place[met.left]] = 1 - got
        shown = min(check_whole(max_items, "max_items"), n)
        names = [str(item) for item in estimator.ranking().order[:shown]]
        return cls(names, shares[:shown, :shown]).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; ``ax=None`` makes a new figure."""
        n = len(self.names)
        side = 2.4 + 0.16 * n
        self.ax_ = axes_or_new(ax, size=(side + 1.2, side))
        self.figure_ = self.ax_.figure
        image = self.ax_.imshow(self.shares, cmap="RdBu", vmin=0, vmax=1, interpolation="nearest")
        size = 8 if n > 30 else 9
        self.ax_.set_yticks(range(n), self.names, fontsize=size)
        self.ax_.set_xticks(range(n), self.names, rotation=90, fontsize=size)
        self.ax_.tick_params(length=0)
        bar = self.figure_.colorbar(image, ax=self.ax_, shrink=0.6, aspect=25)
        bar.set_label("share that the row's item got")
        return self


class RaterDisplay:
    """Reliabilities of raters with their intervals, most reliable first.

    1 is like everyone on average, 0 answers at random; those that do are drawn in another colour.

    Parameters
    ----------
    names : list of str
        The raters.
    middle, low, high : array-likes of shape (n,)
        Reliabilities and their intervals.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, names: list[str], middle: Any, low: Any, high: Any) -> None:
        self.names = list(names)
        n = len(self.names)
        self.middle, self.low, self.high = _columns(n, middle=middle, low=low, high=high)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the raters of a fitted `BradleyTerry`."""
        check_drawable(estimator, ("reliability_interval",), ("strengths_",), _SAY_CONTESTS)
        if not len(estimator.raters_):
            raise ValueError("the model has no raters: fit it with rater=...")
        order = np.argsort(-estimator.reliabilities_, kind="stable")
        low, high = estimator.reliability_interval()[order].T
        names = [str(name) for name in estimator.raters_[order]]
        return cls(names, estimator.reliabilities_[order], low, high).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; ``ax=None`` makes a new figure. Past 60 raters the names are left out."""
        n = len(self.names)
        many = n > 60
        self.ax_ = axes_or_new(ax, size=(6.4, 7.5) if many else _rows(n))
        self.figure_ = self.ax_.figure
        rows = np.arange(n)
        coins = (self.low <= 0) & (self.high < 1)
        for chosen, color, label in (
            (~coins, "C0", "may follow the strengths"),
            (coins, "C3", "at random, or worse"),
        ):
            if chosen.any():
                self.ax_.hlines(
                    rows[chosen], self.low[chosen], self.high[chosen], color=color, alpha=0.45
                )
                self.ax_.plot(
                    self.middle[chosen], rows[chosen], "o", color=color, markersize=4, label=label
                )
        for value in (0, 1):
            self.ax_.axvline(value, color="0.6", linewidth=0.9, zorder=0)
        _list_rows(self.ax_, self.names, named=not many)
        if many:
            self.ax_.set_ylabel(f"{n} raters")
        self.ax_.set_xlabel("reliability: 1 as everyone, 0 at random")
        if many:
            self.ax_.legend(frameon=False, loc="lower right")
        else:
            # the lines of few raters leave no room
            self.ax_.legend(
                frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0
            )
        return self


class ContestCalibrationDisplay:
    """Calibration: observed against predicted shares of the favourites.

    Parameters
    ----------
    expected, observed, n : array-likes of shape (n_bins,)
        Shares, and how many contests they come from; the size of a dot tells.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, expected: Any, observed: Any, n: Any) -> None:
        size = len(check_floats(expected, "expected"))
        columns = _columns(size, expected=expected, observed=observed, n=n)
        self.expected, self.observed, self.n = columns
        shares = np.append(self.expected, self.observed)
        if shares.min() < 0 or shares.max() > 1 or self.n.min() <= 0:
            raise ValueError("expected and observed must be shares from 0 to 1, and n above 0")

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_bins: int = 10, ax: "Axes | None" = None) -> Self:
        """Draw the contests of a fitted `BradleyTerry`."""
        check_drawable(estimator, ("calibration",), ("strengths_",), _SAY_CONTESTS)
        return cls(*estimator.calibration(n_bins)).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; ``ax=None`` makes a new figure."""
        self.ax_ = axes_or_new(ax, size=(4.6, 4.4))
        self.figure_ = self.ax_.figure
        self.ax_.plot([0.5, 1], [0.5, 1], color="0.6", linewidth=0.9)
        # About 95 % of shares of so many decided contests.
        error = 1.96 * np.sqrt(self.expected * (1 - self.expected)) / np.sqrt(self.n)
        self.ax_.errorbar(self.expected, self.observed, error, fmt="none", color="C0", alpha=0.45)
        size = 12 + 90 * self.n / self.n.max()
        self.ax_.scatter(self.expected, self.observed, size, color="C0", zorder=3)
        self.ax_.set_xlabel("expected share of the favourite")
        self.ax_.set_ylabel("share that it got")
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self
