"""Strengths from contests and rankings, with intervals, and the pairs to ask about next."""

from rankwise.contests._bradley_terry import BradleyTerry
from rankwise.contests._elo import EloRating
from rankwise.contests._likelihood import GoodnessOfFit
from rankwise.contests._next_pairs import aask, ask, next_pairs
from rankwise.contests._plackett_luce import PlackettLuce

__all__ = [
    "BradleyTerry",
    "EloRating",
    "GoodnessOfFit",
    "PlackettLuce",
    "aask",
    "ask",
    "next_pairs",
]
