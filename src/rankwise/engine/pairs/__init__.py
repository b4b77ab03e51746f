"""Sums over ALL pairs of rows in O(m log m): the targets prepared once, then losses of scores."""

from rankwise.engine.pairs._losses import (
    Curvature,
    EpsilonInsensitiveLoss,
    HingeLoss,
    MagnitudeHingeLoss,
    MagnitudeLoss,
    PairLoss,
)
from rankwise.engine.pairs._pairs import Pairs

__all__ = [
    "Curvature",
    "EpsilonInsensitiveLoss",
    "HingeLoss",
    "MagnitudeHingeLoss",
    "MagnitudeLoss",
    "PairLoss",
    "Pairs",
]
