"""Boosted rankers: RankBoost on stumps, and trees for the same pair losses."""

from rankwise.boosting._ensemble import FeatureScore
from rankwise.boosting._rankboost import RankBoost

__all__ = ["FeatureScore", "RankBoost"]
