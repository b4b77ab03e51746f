"""Sums over ALL pairs of rows in O(m log m): the targets prepared once, then losses of scores."""

from rankwise.engine.pairs._costs import Curve, Evaluation, PairCosts
from rankwise.engine.pairs._counts import (
    PairCounts,
    Placements,
    RowCounts,
    count_pairs,
    count_placements,
    row_counts,
)
from rankwise.engine.pairs._listed import ListedCosts
from rankwise.engine.pairs._losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    PairLoss,
)
from rankwise.engine.pairs._misranked import exponential_mean, misranked_mean
from rankwise.engine.pairs._order import sorted_rows
from rankwise.engine.pairs._pairs import Pairs
from rankwise.engine.pairs._top import TopCosts

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
    "TopCosts",
    "count_pairs",
    "count_placements",
    "exponential_mean",
    "misranked_mean",
    "row_counts",
    "sorted_rows",
]
