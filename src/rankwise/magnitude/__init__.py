"""Ranking that preserves the size of preferences: items with a rating whose differences matter."""

from rankwise.magnitude._cv import MPRankCV
from rankwise.magnitude._gap import cut_at_gap
from rankwise.magnitude._mprank import MPRank

__all__ = ["MPRank", "MPRankCV", "cut_at_gap"]
