"""Score-based pairwise ranking: items with grades, pairs or queries."""

from rankwise.pairwise._pair_kernel import pair_kernel
from rankwise.pairwise._ranksvm import RankSVM

__all__ = ["RankSVM", "pair_kernel"]
