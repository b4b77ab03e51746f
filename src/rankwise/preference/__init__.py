"""Preference-based ranking: from a comparator that may contradict itself to an order."""

from rankwise.preference._all_pairs import asort_by_degree, greedy_order, sort_by_degree
from rankwise.preference._losses import check_weight, order_loss, preference_loss
from rankwise.preference._ranker import PreferenceRanker
from rankwise.preference._regrets import (
    AlternativesGap,
    alternatives_gap,
    preference_regret,
    ranking_regret,
)
from rankwise.preference.sorting import aquicksort, expected_calls, quicksort

__all__ = [
    "AlternativesGap",
    "PreferenceRanker",
    "alternatives_gap",
    "aquicksort",
    "asort_by_degree",
    "check_weight",
    "expected_calls",
    "greedy_order",
    "order_loss",
    "preference_loss",
    "preference_regret",
    "quicksort",
    "ranking_regret",
    "sort_by_degree",
]
