"""Ranking from grades, pairs and queries by a score."""

from rankwise.pairwise._clicks import pairs_from_clicks
from rankwise.pairwise._ranksvm import RankSVM, pair_kernel
from rankwise.pairwise._top import AccuracyAtTop, TopPush

__all__ = [
    "AccuracyAtTop",
    "RankSVM",
    "TopPush",
    "pair_kernel",
    "pairs_from_clicks",
]
