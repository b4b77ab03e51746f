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
        {"kernel": "poly", "vote": "averaged"},
        {"kernel": "rbf", "vote": "voted"},
        {"kernel": "rbf", "budget": 9},
    ],
    "OAPRank": [
        {"n_estimators": 7, "combine": combine, "random_state": 0}
        for combine in ("bpm", "bagging", "voted")
    ]
    + [{"n_estimators": 7, "kernel": "rbf", "random_state": 0}],
    "WidrowHoff": [{}, {"eta": 0.01, "epochs": 2}, {"kernel": "rbf"}],
    "MulticlassPerceptron": [{"update": u} for u in ("uniform", "max", "proportional")]
    + [{"kernel": "rbf"}],
    "MPRank": [
        {},
        {"C": 10.0, "solver": "dual"},
        {"C": 10.0, "kernel": "rbf"},
        {"C": 10.0, "kernel": "poly", "degree": 2},
        {"solver": "online", "tol": 1e-12},
        {"kernel": "rbf", "solver": "online", "tol": 1e-12},
    ],
    "PreferenceRanker": [{}, {"features": "concat", "max_pairs": 200, "random_state": 0}],
    "MPRankCV": [{}, {"kernel": "rbf", "gammas": (0.1, 1.0), "scoring": "misranking"}],
    "RankBoost": [
        {},
        {"criterion": "edge", "max_bins": None},
        {"n_estimators": 20, "pair_weight": "magnitude", "n_jobs": 2},
    ],
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
}
ESTIMATORS = [
    estimator(**params)
    for name, estimator in all_estimators().items()
    for params in VARIANTS.get(name, [{}])
]
# Columns that are rows of the data, which the contract's checks don't know. Some models refuse what
# is not positive semidefinite, such as kernel values that a check has cut to whole numbers.
PRECOMPUTED = [
    cls(kernel="precomputed")
    for name, cls in all_estimators().items()
    if "kernel" in cls().get_params() and name not in {"MPRankCV", "RankSVM", "SVRank"}
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    ESTIMATORS + PRECOMPUTED, expected_failed_checks=lambda e: EXEMPTIONS.get(type(e).__name__, {})
)
def test_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_contract(ESTIMATORS)
def test_contract(check):
    check()
