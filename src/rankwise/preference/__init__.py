"""Preference-based ranking: from a comparator that may contradict itself to an order."""

from rankwise.engine.sorting import expected_calls
from rankwise.preference._sorts import aquicksort, asort_by_degree, quicksort, sort_by_degree

__all__ = [
    "aquicksort",
    "asort_by_degree",
    "expected_calls",
    "quicksort",
    "sort_by_degree",
]
