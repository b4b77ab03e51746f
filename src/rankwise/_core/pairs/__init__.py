"""Sums over ALL pairs of rows in O(m log m): the targets prepared once, then losses of scores."""

from rankwise._core.pairs._implicit import Curve, Evaluation, PairCosts
from rankwise._core.pairs._misranked import (
    PairCounts,
    Placements,
    RowCounts,
    count_pairs,
    count_placements,
    exponential_mean,
    misranked_mean,
    row_counts,
)
from rankwise._core.pairs._order import sorted_rows
from rankwise._core.pairs._pairs import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    ListedCosts,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    PairLoss,
    Pairs,
)

__all__ = [
    "Curve",
    "EpsilonInsensitiveLoss",
    "Evaluation",
    "HingeLoss",
    "ListedCosts",
    "MagnitudeHingeLoss",
    "MagnitudeLoss",
    "PairCosts",
    "PairCounts",
    "PairLoss",
    "Pairs",
    "Placements",
    "RowCounts",
    "count_pairs",
    "count_placements",
    "exponential_mean",
    "misranked_mean",
    "row_counts",
    "sorted_rows",
]
