"""How far to trust: one pure function per theorem, computed on the user's own data."""

from rankwise.bounds._prank import prank_mistake_bound, prank_regret_bound, ranking_margin
from rankwise.bounds._result import Bound
from rankwise.bounds._stability import kernel_radius, stability_beta, stability_bound

__all__ = [
    "Bound",
    "kernel_radius",
    "prank_mistake_bound",
    "prank_regret_bound",
    "ranking_margin",
    "stability_beta",
    "stability_bound",
]
