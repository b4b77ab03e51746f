"""Bounds on errors: one pure function per theorem, computed on the user's own data."""

from rankwise.bounds._bound import Bound
from rankwise.bounds._margin import (
    auc_deviation,
    disjoint_pairs,
    empirical_rademacher,
    margin_bound,
    margin_loss,
    margin_share,
)
from rankwise.bounds._prank import prank_mistake_bound, prank_regret_bound, ranking_margin
from rankwise.bounds._stability import kernel_radius, stability_beta, stability_bound

__all__ = [
    "Bound",
    "auc_deviation",
    "disjoint_pairs",
    "empirical_rademacher",
    "kernel_radius",
    "margin_bound",
    "margin_loss",
    "margin_share",
    "prank_mistake_bound",
    "prank_regret_bound",
    "ranking_margin",
    "stability_beta",
    "stability_bound",
]
