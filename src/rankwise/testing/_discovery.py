"""Which estimators there are, and what they are excused from."""

from importlib import import_module
from inspect import getmembers, isclass
from pkgutil import iter_modules
from typing import Any

from sklearn.base import BaseEstimator

import rankwise

# Estimator name -> {check name: reason}, for scikit-learn's checks and the contract alike.
EXEMPTIONS: dict[str, dict[str, str]] = {}

_ROOMS = {"ordinal", "magnitude", "pairwise", "preference"}


def all_estimators() -> dict[str, Any]:
    """Return the public estimator classes by name.

    Examples
    --------
    >>> from rankwise.testing import all_estimators
    >>> sorted(all_estimators())
    ['MulticlassPerceptron', 'OAPRank', 'PRank', 'WidrowHoff']
    """
    rooms = [m.name for m in iter_modules(rankwise.__path__) if m.name in _ROOMS]
    return {
        name: member
        for room in rooms
        for name, member in getmembers(import_module(f"rankwise.{room}"), isclass)
        if issubclass(member, BaseEstimator)
    }
