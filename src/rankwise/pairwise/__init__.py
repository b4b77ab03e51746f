"""Ranking from grades, pairs and queries by a score."""

from rankwise.pairwise._accuracy_at_top import AccuracyAtTop
from rankwise.pairwise._clicks import pairs_from_clicks
from rankwise.pairwise._ranksvm import RankSVM, pair_kernel
from rankwise.pairwise._top_push import TopPush

__all__ = [
    "AccuracyAtTop",
    "RankSVM",
    "TopPush",
    "pair_kernel",
    "pairs_from_clicks",
]
