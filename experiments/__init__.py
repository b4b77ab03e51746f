"""Every table and figure of the papers, and some more, as a function that returns a `Report`."""

from collections.abc import Callable
from typing import Any

from experiments.adaboost import adaboost
from experiments.advice import advice
from experiments.arena import arena
from experiments.auc_coverage import auc_coverage
from experiments.budgets import budgets
from experiments.contest_coverage import contest_coverage
from experiments.contests import contests
from experiments.drift import drift
from experiments.elections import elections
from experiments.ensembles import ensembles
from experiments.judges import judges
from experiments.left_out import left_out
from experiments.letor import letor
from experiments.magnitude import magnitude
from experiments.preference import preference
from experiments.ratings import ratings
from experiments.sizes import sizes
from experiments.steps import steps
from experiments.synthetic import synthetic
from experiments.top import top
from experiments.viewers import viewers
from rankwise.reports import Report

# The experiments, and the sizes of their long form: the one list of them.
_LONG_FORMS: dict[Callable[..., Report], dict[str, Any]] = {
    adaboost: {"n_rounds": 10_000},
    arena: {},
    advice: {"splits": 3},
    auc_coverage: {"n_trials": 10_000},
    budgets: {"n_rounds": 20_000, "n_trials": 10, "sizes": (10, 25, 50, 100, 200)},
    contest_coverage: {"n_trials": 1_000},
    contests: {"n_trials": 100, "budgets": (32, 48, 64, 120, 240, 480)},
    drift: {"n_rounds": 48_000, "window": 1_000},
    elections: {"n_elections": 50, "n_candidates": 80, "time_limit": 60.0},
    ensembles: {"n_rounds": (5_000, 50_000)},
    judges: {"n_trials": 500},
    left_out: {"n_trials": 3_000},
    letor: {},
    magnitude: {"sizes": (350, 700, 1400, 2800, 5600, 11200), "n_trials": 50},
    preference: {
        "n_few": 7,
        "n_many": 100,
        "n_tournaments": 400,
        "n_sorts": 400,
        "sizes": (100, 1_000, 10_000, 100_000, 1_000_000),
        "tops": (1, 10, 100, 1_000),
    },
    ratings: {"n_repetitions": 10, "n_reviewers": 300, "n_held_out": 50},
    sizes: {
        "rows": (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
        "member_rows": (1_000, 50_000),
    },
    steps: {"n_rounds": 50_000},
    synthetic: {"n_rounds": 50_000},
    top: {"n_rows": 10_000, "n_trials": 30},
    viewers: {"n_targets": 500, "n_ablation": 100, "n_choose": 50},
}
EXPERIMENTS = {run.__name__: run for run in _LONG_FORMS}
LONG_FORMS = {run.__name__: sizes for run, sizes in _LONG_FORMS.items()}

__all__ = ["EXPERIMENTS", "LONG_FORMS", *EXPERIMENTS]  # noqa: PLE0604
