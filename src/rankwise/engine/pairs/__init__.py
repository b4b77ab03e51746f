"""Sums over ALL pairs of rows in O(m log m): the targets prepared once, then losses of scores."""

from rankwise.engine.pairs._counts import PairCounts, count_pairs
from rankwise.engine.pairs._losses import (
    Curvature,
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    PairLoss,
    exponential_mean,
    misranked_sums,
)
from rankwise.engine.pairs._pairs import Pairs, sorted_rows

__all__ = [
    "Curvature",
    "EpsilonInsensitiveLoss",
    "HingeLoss",
    "MagnitudeHingeLoss",
    "MagnitudeLoss",
    "PairCounts",
    "PairLoss",
    "Pairs",
    "count_pairs",
    "exponential_mean",
    "misranked_sums",
    "sorted_rows",
]
