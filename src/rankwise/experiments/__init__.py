"""Every table and figure of the papers as a function that returns a `Report`."""

from collections.abc import Callable

from rankwise.experiments._report import Report, Table
from rankwise.experiments.ensembles import ensembles
from rankwise.experiments.letor import letor
from rankwise.experiments.magnitude import magnitude
from rankwise.experiments.synthetic import synthetic

EXPERIMENTS: dict[str, Callable[..., Report]] = {
    "ensembles": ensembles,
    "letor": letor,
    "magnitude": magnitude,
    "synthetic": synthetic,
}

__all__ = ["EXPERIMENTS", "Report", "Table", "ensembles", "letor", "magnitude", "synthetic"]
