"""Boosted rankers: RankBoost on stumps, and trees for losses over pairs."""

from rankwise.boosting.predictor import Explanation, FeatureScore
from rankwise.boosting.rankboost import RankBoost

__all__ = ["Explanation", "FeatureScore", "RankBoost"]
