"""Preference-based ranking: from a comparator that may contradict itself to an order."""

from rankwise.engine.sorting import expected_calls
from rankwise.preference._bradley_terry import BradleyTerry
from rankwise.preference._elo import EloRating
from rankwise.preference._goodness import GoodnessOfFit
from rankwise.preference._greedy import greedy_order
from rankwise.preference._losses import check_weight, order_loss, preference_loss
from rankwise.preference._next_pairs import aask, ask, next_pairs
from rankwise.preference._plackett_luce import PlackettLuce
from rankwise.preference._ranker import PreferenceRanker
from rankwise.preference._regrets import (
    AlternativesGap,
    alternatives_gap,
    preference_regret,
    ranking_regret,
)
from rankwise.preference._sorts import aquicksort, asort_by_degree, quicksort, sort_by_degree

__all__ = [
    "AlternativesGap",
    "BradleyTerry",
    "EloRating",
    "GoodnessOfFit",
    "PlackettLuce",
    "PreferenceRanker",
    "aask",
    "alternatives_gap",
    "aquicksort",
    "ask",
    "asort_by_degree",
    "check_weight",
    "expected_calls",
    "greedy_order",
    "next_pairs",
    "order_loss",
    "preference_loss",
    "preference_regret",
    "quicksort",
    "ranking_regret",
    "sort_by_degree",
]
