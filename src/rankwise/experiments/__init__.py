"""Every table and figure of the papers, and some more, as a function that returns a `Report`."""

from collections.abc import Callable

from rankwise.experiments.auc_coverage import auc_coverage
from rankwise.experiments.budgets import budgets
from rankwise.experiments.drift import drift
from rankwise.experiments.elections import elections
from rankwise.experiments.ensembles import ensembles
from rankwise.experiments.letor import letor
from rankwise.experiments.magnitude import magnitude
from rankwise.experiments.preference import preference
from rankwise.experiments.sizes import sizes
from rankwise.experiments.steps import steps
from rankwise.experiments.synthetic import synthetic
from rankwise.reports import Report

EXPERIMENTS: dict[str, Callable[..., Report]] = {
    "auc_coverage": auc_coverage,
    "budgets": budgets,
    "drift": drift,
    "elections": elections,
    "ensembles": ensembles,
    "letor": letor,
    "magnitude": magnitude,
    "preference": preference,
    "sizes": sizes,
    "steps": steps,
    "synthetic": synthetic,
}

__all__ = [
    "EXPERIMENTS",
    "auc_coverage",
    "budgets",
    "drift",
    "elections",
    "ensembles",
    "letor",
    "magnitude",
    "preference",
    "sizes",
    "steps",
    "synthetic",
]
