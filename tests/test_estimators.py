"""Every estimator against scikit-learn's checks and against our own contract."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise.testing import EXEMPTIONS, all_estimators, parametrize_with_contract

VARIANTS = {
    "PRank": [
        {},
        {"vote": "averaged"},
        {"vote": "voted"},
        {"vote": "voted", "max_voters": 5},
        {"update": "pa"},
        {"update": "romma", "vote": "averaged"},
        {"epochs": 3, "shuffle": True, "random_state": 0},
    ],
    "OAPRank": [
        {"n_estimators": 7, "combine": combine, "random_state": 0}
        for combine in ("bpm", "bagging", "voted")
    ],
    "WidrowHoff": [{}, {"eta": 0.01, "epochs": 2}],
    "MulticlassPerceptron": [{"update": u} for u in ("uniform", "max", "proportional")],
}
ESTIMATORS = [
    estimator(**params)
    for name, estimator in all_estimators().items()
    for params in VARIANTS.get(name, [{}])
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda e: EXEMPTIONS.get(type(e).__name__, {})
)
def test_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_contract(ESTIMATORS)
def test_contract(check):
    check()
