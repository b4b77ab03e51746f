"""The papers' synthetic streams: trials over them, and the table of losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets import make_herbrich
from rankwise.engine.kernels import polynomial_map
from rankwise.experiments._report import Table, Track
from rankwise.metrics import mean_interval, mean_rank_loss_per_rank, rank_losses
from rankwise.model_selection import progressive_validation

RANKS = [1, 2, 3, 4, 5]
ETAS = (0.2, 0.1, 0.05, 0.01)

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
            test, half_width = mean_interval(self.tests[name])
            online = [f"{means[name][n - 1]:.2f}" for n in rounds]
            printed = PRINTED.get(name, "-")
            rows.append([name, *online, f"{test:.3f} ± {half_width:.3f}", printed])
        columns = ["model", *(f"{n:,}" for n in rounds), "test", "paper 2"]
        return Table("Mean rank loss over the first rounds online, and on test rows", columns, rows)


def mapped_stream(n_rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw a stream in the explicit map of the kernel ``(x.x' + 1)^2``."""
    X, y = make_herbrich(n_rows, random_state=seed)
    return polynomial_map(X, degree=2), y


def run_trials(
    models: Mapping[str, Any],
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
    n_rounds, n_trials, n_test, seed, track
        As in the experiments.
    """
    if min(n_rounds, n_trials, n_test) < 1:
        raise ValueError(f"{n_rounds=}, {n_trials=} and {n_test=} must each be 1 or more")
    curves = {name: np.empty((n_trials, n_rounds)) for name in models}
    tests = {name: np.empty(n_trials) for name in models}
    per_rank = {name: np.empty((n_trials, len(RANKS))) for name in models}
    for trial in track(range(n_trials)):
        X, y = mapped_stream(n_rounds + n_test, seed + trial)
        for name, model in models.items():
            result = progressive_validation(model, X[:n_rounds], y[:n_rounds])
            guesses = result.estimator.predict(X[n_rounds:])
            curves[name][trial] = result.loss_curve
            tests[name][trial] = rank_losses(y[n_rounds:], guesses, labels=RANKS).mean()
            per_rank[name][trial] = mean_rank_loss_per_rank(y[n_rounds:], guesses, labels=RANKS)
    setting = (
        f"{n_trials} streams of {n_rounds:,} rounds, {n_test:,} test rows each, seeds from {seed}; "
        "kernel (x.x' + 1)^2 through its explicit map; ± is the half-width of a 95 % Student-t "
        "interval"
    )
    return Trials(setting, curves, tests, per_rank)
