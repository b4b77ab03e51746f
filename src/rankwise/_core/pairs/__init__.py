"""Sums over ALL pairs of rows in O(m log m): the targets prepared once, then losses of scores."""

from rankwise._core.pairs._costs import Curve, Evaluation, PairCosts
from rankwise._core.pairs._counts import (
    PairCounts,
    Placements,
    RowCounts,
    count_pairs,
    count_placements,
    row_counts,
)
from rankwise._core.pairs._explicit import ListedCosts
from rankwise._core.pairs._losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    PairLoss,
)
from rankwise._core.pairs._misranked import exponential_mean, misranked_mean
from rankwise._core.pairs._order import sorted_rows
from rankwise._core.pairs._pairs import Pairs

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
