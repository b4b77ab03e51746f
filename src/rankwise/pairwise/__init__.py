"""Ranking from grades, pairs and queries by a score."""

from rankwise.pairwise._rankboost import FeatureScore, RankBoost

__all__ = ["FeatureScore", "RankBoost"]
