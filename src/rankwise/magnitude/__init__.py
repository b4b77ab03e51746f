"""Ranking that preserves the size of preferences: items with a rating whose differences matter."""

from rankwise._core.ranking import cut_at_gap
from rankwise.magnitude._cv import MPRankCV
from rankwise.magnitude._mprank import MPRank
from rankwise.magnitude._svrank import SVRank

__all__ = ["MPRank", "MPRankCV", "SVRank", "cut_at_gap"]
