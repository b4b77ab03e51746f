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
    "MPRank": [
        {},
        {"C": 10.0, "solver": "dual"},
        {"C": 10.0, "kernel": "rbf"},
        {"C": 10.0, "kernel": "poly", "degree": 2},
        {"solver": "online", "tol": 1e-12},
        {"kernel": "rbf", "solver": "online", "tol": 1e-12},
    ],
    "MPRankCV": [{}, {"kernel": "rbf", "gammas": (0.1, 1.0), "scoring": "misranking"}],
    "SVRank": [
        {},
        {"power": 2, "epsilon": 0.0, "C": 10.0},
        {"kernel": "rbf", "C": 10.0},
        {"power": 2, "kernel": "poly", "degree": 2},
    ],
    "RankSVM": [
        {},
        {"power": 2, "C": 10.0},
        {"power": 2, "margin": "magnitude", "pair_weight": "magnitude"},
        {"kernel": "rbf", "C": 10.0},
        {"power": 2, "kernel": "poly", "degree": 2},
    ],
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
