"""Which estimators there are, and what they are excused from."""

from importlib import import_module
from inspect import getmembers, isclass
from typing import Any

from sklearn.base import BaseEstimator

# Estimator name -> {check name: reason}, for scikit-learn's checks and the contract alike.
_BOTH_COPIES = "leaving out a row of weight 2 leaves out both copies of it, so errors differ"
_SHARES = "probabilities are shares of members, whose mean, not their mode, is the prediction"
EXEMPTIONS: dict[str, dict[str, str]] = {
    "OAPRank": {
        "check_classifiers_train": _SHARES,
        "check_decision_proba_consistency": _SHARES,
    },
    "MPRankCV": {
        "check_sample_weight_equivalence_on_dense_data": _BOTH_COPIES,
        "check_sample_weight_equivalence_on_sparse_data": _BOTH_COPIES,
        "check_weight_is_repetition": _BOTH_COPIES,
    },
    "ThresholdRanker": {
        "check_sample_weight_equivalence_on_dense_data": _BOTH_COPIES,
        "check_sample_weight_equivalence_on_sparse_data": _BOTH_COPIES,
    },
}

# Estimators that do not learn from rows X and y, so that no check of either kind can be asked of
# them: name -> what they learn from. Their own tests look at refusals, inputs, clones and files.
NOT_OF_ROWS: dict[str, str] = {
    "BradleyTerry": "contests: two columns of items and an outcome",
    "EloRating": "contests: two columns of items and an outcome",
    "PlackettLuce": "rankings: lists of items, best first",
}

_PACKAGES = ("ordinal", "magnitude", "pairwise", "boosting", "preference", "contests")


def all_estimators() -> dict[str, Any]:
    """Return the public estimator classes that learn from rows, by name.

    Examples
    --------
    >>> from rankwise.testing import all_estimators
    >>> [name for name in sorted(all_estimators()) if name.startswith("Rank")]
    ['RankBoost', 'RankSVM']
    """
    return {
        name: member
        for package in _PACKAGES
        for name, member in getmembers(import_module(f"rankwise.{package}"), isclass)
        if issubclass(member, BaseEstimator) and name not in NOT_OF_ROWS
    }
