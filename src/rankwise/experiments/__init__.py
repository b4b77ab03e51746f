"""Every table and figure of the papers as a function that returns a `Report`."""

from collections.abc import Callable

from rankwise.experiments._report import Report, Table
from rankwise.experiments.auc_coverage import auc_coverage
from rankwise.experiments.ensembles import ensembles
from rankwise.experiments.magnitude import magnitude
from rankwise.experiments.synthetic import synthetic

EXPERIMENTS: dict[str, Callable[..., Report]] = {
    "auc_coverage": auc_coverage,
    "ensembles": ensembles,
    "magnitude": magnitude,
    "synthetic": synthetic,
}

__all__ = ["EXPERIMENTS", "Report", "Table", "auc_coverage", "ensembles", "magnitude", "synthetic"]
