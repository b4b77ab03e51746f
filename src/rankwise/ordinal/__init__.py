"""Ordinal ranking: items with a grade, often as a stream."""

from rankwise.ordinal._multiclass import MulticlassPerceptron
from rankwise.ordinal._oap import OAPRank
from rankwise.ordinal._prank import PRank
from rankwise.ordinal._threshold import ThresholdRanker
from rankwise.ordinal._widrow_hoff import WidrowHoff

__all__ = ["MulticlassPerceptron", "OAPRank", "PRank", "ThresholdRanker", "WidrowHoff"]
