"""How far to trust: one pure function per theorem, computed on the user's own data."""

from rankwise.bounds._prank import prank_mistake_bound, prank_regret_bound, ranking_margin
from rankwise.bounds._result import Bound

__all__ = ["Bound", "prank_mistake_bound", "prank_regret_bound", "ranking_margin"]
