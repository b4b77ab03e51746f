"""Synthetic streams, trials over them, and the table of losses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankwise.datasets import make_herbrich
from rankwise.metrics import mean_interval, mean_rank_loss_per_rank, rank_losses
from rankwise.model_selection import progressive_validation
from rankwise.ordinal.online_kernel import polynomial_map
from rankwise.reports import Table, Track

RANKS = [1, 2, 3, 4, 5]
ETAS = (0.2, 0.1, 0.05, 0.01)
INTERVAL = "± is the half-width of a 95 % Student-t interval"
KERNEL = "kernel (x.x' + 1)^2 through its explicit map"

# Draws so many rows of a stream with a seed.
Draw = Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.int64]]]

# Test loss and half-width of the 95 % interval, as the text of paper 2 prints them.
PRINTED = {"PRank": "0.37 ± 0.07", "PRank, voted": "0.31 ± 0.00", "Widrow-Hoff 0.1": "0.30 ± 0.2"}


@dataclass(frozen=True, eq=False)
class Trials:
    """Online curves, test losses and test losses by true rank of every model, a row a trial."""

    setting: str
    curves: dict[str, NDArray[np.float64]]
    tests: dict[str, NDArray[np.float64]]
    per_rank: dict[str, NDArray[np.float64]]

    @property
    def means(self) -> dict[str, NDArray[np.float64]]:
        """The mean curve of every model."""
        return {name: trials.mean(axis=0) for name, trials in self.curves.items()}

    def table(self) -> Table:
        """Return the losses online and on test rows beside those of the paper, best first."""
        means = self.means
        n_rounds = len(next(iter(means.values())))
        rounds = [n for n in (100, 1_000) if n < n_rounds] + [n_rounds]
        rows = []
        for name in sorted(means, key=lambda name: means[name][-1]):
            online = [f"{means[name][n - 1]:.2f}" for n in rounds]
            rows.append([name, *online, with_interval(self.tests[name]), PRINTED.get(name, "-")])
        columns = ["model", *(f"{n:,}" for n in rounds), "test", "paper 2"]
        title = f"Mean rank loss over the first rounds online, and on test rows after {n_rounds:,}"
        return Table(title, columns, rows)


def mapped_stream(n_rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw a stream in the explicit map of the kernel ``(x.x' + 1)^2``."""
    X, y = make_herbrich(n_rows, random_state=seed)
    return polynomial_map(X, degree=2), y


def linear_stream(
    n_rows: int, seed: int, *, n_features: int, noise: float = 0.0, margin: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw standard normal rows and cut a direction of them into five ranks of equal mass.

    Parameters
    ----------
    n_rows, seed, n_features : int
        The size, and the seed of direction, rows and noise.
    noise : float, default=0.0
        The standard deviation of what is added to the scores before they are cut.
    margin : float, default=0.0
        How far rows are moved along the direction, away from the nearest cut; up to 0.12 no row
        comes nearer than that to another cut.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features))
    direction = random.standard_normal(n_features)
    direction /= np.linalg.norm(direction)
    score = X @ direction
    cuts = ndtri(np.arange(1, 5) / 5) * np.sqrt(1 + noise**2)
    nearest = cuts[np.abs(score[:, None] - cuts).argmin(axis=1)]
    X += margin * np.sign(score - nearest)[:, None] * direction
    return X, 1 + np.searchsorted(cuts, score + noise * random.standard_normal(n_rows))


def check_sizes(least: int = 1, /, **sizes: int | Sequence[Any]) -> None:
    """Refuse sizes, and sequences of them, that are too small, and empty ones."""
    for name, size in sizes.items():
        if np.min(size, initial=np.iinfo(np.int64).max) < least or not np.size(size):
            raise ValueError(f"{name}={size} must be {least} or more")


def with_interval(trials: NDArray[np.float64]) -> str:
    """Return the mean over trials and the half-width of its 95 % interval, as text."""
    mean, half_width = mean_interval(trials)
    return f"{mean:.3f} ± {half_width:.3f}"


def run_trials(
    models: Mapping[str, Any],
    draw: Draw = mapped_stream,
    *,
    n_rounds: int,
    n_trials: int,
    n_test: int,
    seed: int,
    track: Track[int],
) -> Trials:
    """Run every model over every stream, online, and test what it has become.

    Parameters
    ----------
    models : mapping of str to estimator
        The models, left unfitted.
    draw : callable, default=mapped_stream
        Draws a stream.
    n_rounds, n_trials, n_test, seed, track
        As in the experiments.
    """
    check_sizes(n_rounds=n_rounds, n_trials=n_trials, n_test=n_test)
    curves = {name: np.empty((n_trials, n_rounds)) for name in models}
    tests = {name: np.empty(n_trials) for name in models}
    per_rank = {name: np.empty((n_trials, len(RANKS))) for name in models}
    for trial in track(range(n_trials)):
        X, y = draw(n_rounds + n_test, seed + trial)
        for name, model in models.items():
            result = progressive_validation(model, X[:n_rounds], y[:n_rounds])
            guesses = result.estimator.predict(X[n_rounds:])
            curves[name][trial] = result.loss_curve
            tests[name][trial] = rank_losses(y[n_rounds:], guesses, labels=RANKS).mean()
            per_rank[name][trial] = mean_rank_loss_per_rank(y[n_rounds:], guesses, labels=RANKS)
    setting = (
        f"{n_trials} streams of {n_rounds:,} rounds, {n_test:,} test rows each, seeds from {seed}"
    )
    return Trials(setting, curves, tests, per_rank)
