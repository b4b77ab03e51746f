"""Every table and figure of the papers as a function that returns a `Report`."""

from collections.abc import Callable

from rankwise.experiments._report import Report, Table
from rankwise.experiments.synthetic import synthetic

EXPERIMENTS: dict[str, Callable[..., Report]] = {"synthetic": synthetic}

__all__ = ["EXPERIMENTS", "Report", "Table", "synthetic"]
