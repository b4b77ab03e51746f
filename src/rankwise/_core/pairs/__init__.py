"""Sums over ALL pairs of rows in O(m log m): the targets prepared once, then losses of scores."""

from rankwise._core.pairs._implicit import Curve, Evaluation, PairCosts, both_sweeps
from rankwise._core.pairs._misranked import (
    PairCounts,
    count_pairs,
    misranked_mean,
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
    "both_sweeps",
    "count_pairs",
    "misranked_mean",
    "sorted_rows",
]
