"""Rank aggregation: from several complete or partial rankings to one."""

from rankwise.aggregation._agreement import (
    Concordance,
    concordance,
    footrule_distance,
    kendall_distance,
)
from rankwise.aggregation._kemeny import kemeny, kemeny_cost, local_kemenisation, pairwise_wins
from rankwise.aggregation._rules import borda, copeland, footrule, kwiksort, markov_chain

__all__ = [
    "Concordance",
    "borda",
    "concordance",
    "copeland",
    "footrule",
    "footrule_distance",
    "kemeny",
    "kemeny_cost",
    "kendall_distance",
    "kwiksort",
    "local_kemenisation",
    "markov_chain",
    "pairwise_wins",
]
