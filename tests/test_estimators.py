"""Every estimator against scikit-learn's checks and against our own contract."""

import re
from importlib import import_module
from inspect import getmembers, isclass
from pkgutil import iter_modules

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise
from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.testing import EXEMPTIONS, all_estimators, parametrize_with_contract
from rankwise.testing._contract import NOT_OF_ROWS
from rankwise.testing._invariance import INVARIANCES, invariance_checks
from rankwise.testing._repeated import check_same_bits_twice
from rankwise.testing._tiny import check_tiny_problems, run_tiny_problem
from rankwise.testing._weights import check_zero_weight_is_absence, weight_checks

# Each reads rows or labels, or learns, in another way: all checks.
VARIANTS = {
    "PRank": [
        {},
        {"vote": "voted", "max_voters": 5},
        {"kernel": "poly"},
        {"kernel": "rbf", "vote": "voted"},
        {"kernel": "rbf", "budget": 9},
    ],
    "OAPRank": [
        {"n_estimators": 7, "random_state": 0},
        {"n_estimators": 7, "combine": "voted", "random_state": 0},
        {"n_estimators": 7, "sampling": "poisson", "kernel": "rbf", "budget": 9, "random_state": 0},
    ],
    "WidrowHoff": [{}, {"kernel": "rbf"}],
    "MulticlassPerceptron": [{}, {"kernel": "rbf"}],
    "ThresholdRanker": [{}, {"estimator": Ridge(), "costs": "observed"}],
    "MPRank": [
        {},
        {"C": 10.0, "kernel": "rbf"},
        {"solver": "online", "tol": 1e-12},
        {"kernel": "rbf", "solver": "online", "tol": 1e-12},
    ],
    "PreferenceRanker": [
        {"random_state": 0},
        {"features": "concat", "max_pairs": 200, "random_state": 0},
    ],
    "MPRankCV": [{}, {"kernel": "rbf", "gammas": (0.1, 1.0), "scoring": "misranking"}],
    "RankBoost": [
        {"n_estimators": 20},
        {"n_estimators": 20, "max_leaf_nodes": 8, "learning_rate": 0.3, "min_samples_leaf": 3},
    ],
    "SVRank": [{}, {"kernel": "rbf", "C": 10.0}],
    "RankSVM": [{}, {"kernel": "rbf", "C": 10.0}],
    "TopPush": [{}, {"kernel": "rbf", "C": 10.0}],
    "AccuracyAtTop": [{}, {"power": 2, "tau": 0.3, "kernel": "rbf", "C": 10.0}],
}
# The same to scikit-learn's checks, which look at the interface: the contract, and those if slow.
MORE = {
    "PRank": [
        {"vote": None},
        {"vote": "voted"},
        {"update": "pa", "vote": None},
        *({"update": update} for update in UPDATES if update not in ("perceptron", "pa")),
        {"epochs": 3, "shuffle": True, "random_state": 0},
    ],
    "OAPRank": [
        {"n_estimators": 7, "combine": "bagging", "random_state": 0},
        {"n_estimators": 7, "kernel": "rbf", "random_state": 0},
        *(
            {"n_estimators": 7, "update": update, "random_state": 0}
            for update in UPDATES
            if update not in ("perceptron", "pa")
        ),
        {"n_estimators": 7, "update": "pa", "sampling": "poisson", "tau": 1.0, "random_state": 0},
    ],
    "WidrowHoff": [{"eta": 0.01, "epochs": 2, "step": "plain", "fit_intercept": False}],
    "MulticlassPerceptron": [
        {"update": "max"},
        {"update": "proportional"},
        {"vote": None, "fit_intercept": False},
    ],
    "ThresholdRanker": [{"estimator": Ridge(), "loss": "squared", "cv": None}],
    "MPRank": [
        {"C": 10.0, "solver": "dual"},
        {"C": 10.0, "kernel": "poly", "degree": 2},
    ],
    "RankBoost": [
        {"n_estimators": 20, "criterion": "edge", "max_bins": None},
        {"n_estimators": 20, "pair_weight": "magnitude", "n_jobs": 2},
        {"n_estimators": 20, "step": "smooth-margin"},
    ],
    "SVRank": [
        {"power": 2, "epsilon": 0.0, "C": 10.0},
        {"power": 2, "kernel": "poly", "degree": 2},
    ],
    "RankSVM": [
        {"power": 2, "C": 10.0},
        {"power": 2, "margin": "magnitude", "pair_weight": "magnitude"},
        {"power": 2, "kernel": "poly", "degree": 2},
    ],
}
ESTIMATORS = [
    estimator(**params)
    for name, estimator in all_estimators().items()
    for params in VARIANTS.get(name, [{}])
]
WITH_MORE = [all_estimators()[name](**params) for name in MORE for params in MORE[name]]
WITH_KERNELS = [cls for cls in all_estimators().values() if "kernel" in cls().get_params()]


def with_kernel(cls, kernel):
    seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    return cls(kernel=kernel, **seed)


def laplacian(X, Y):
    """A kernel whose values do not depend on the rows around, to the last bit."""
    X, Y = (rows.toarray() if issparse(rows) else rows for rows in (X, Y))
    return np.exp(-np.abs(X[:, None] - Y[None]).sum(axis=2))


CALLED = [with_kernel(cls, laplacian) for cls in WITH_KERNELS]
PRECOMPUTED = [with_kernel(cls, "precomputed") for cls in WITH_KERNELS]
REFUSING = {"AccuracyAtTop", "MPRankCV", "RankSVM", "SVRank", "TopPush"}
# Some models refuse kernel values that a check of scikit-learn has cut to whole numbers, since they
# are not positive semi-definite.
CUT = [e for e in PRECOMPUTED if type(e).__name__ not in REFUSING]
# Of those that share the code of a kernel, one each; the others are slow.
SHARING = {"OAPRank", "WidrowHoff", "MulticlassPerceptron", "MPRankCV", "TopPush", "AccuracyAtTop"}


def split(estimators):
    """Return those to check in each run, and the slow ones."""
    names = [type(e).__name__ for e in estimators]
    return (
        [e for e, name in zip(estimators, names, strict=True) if name not in SHARING],
        [e for e, name in zip(estimators, names, strict=True) if name in SHARING],
    )


(CALLED, CALLED_SLOW), (CUT, CUT_SLOW) = split(CALLED), split(CUT)
# Options that are not worth all checks: those of weight 0, of tiny problems, of shifts and scales,
# and of two fits.
OPTIONS = {
    "ThresholdRanker": [
        {"estimator": Ridge(), "loss": "zero-one", "costs": "expected"},
    ],
    "TopPush": [{"kernel": "poly"}],
    "AccuracyAtTop": [{"kernel": "poly"}],
    "MPRank": [
        {"solver": "primal"},
        {"C": 1e6},
        {"kernel": "rbf", "solver": "dual"},
        {"kernel": "poly", "solver": "online", "tol": 1e-12},
    ],
    "MPRankCV": [{"kernel": "poly"}],
    "RankSVM": [{"C": 1e5}, {"pair_weight": "magnitude"}],
    "RankBoost": [
        {"loss": "magnitude", "max_leaf_nodes": 3, "min_samples_leaf": 1, "n_estimators": 10},
        {"n_estimators": 10, "loss": "logistic", "max_leaf_nodes": 4, "min_samples_leaf": 1},
        {"n_estimators": 10, "pair_weight": "ndcg", "max_leaf_nodes": 4, "min_samples_leaf": 1},
        {"n_estimators": 10, "max_leaf_nodes": 3, "min_samples_leaf": 1, "l2": 0.0},
        {"n_estimators": 10, "max_bins": 3},
        {"n_estimators": 10, "criterion": "loss", "pair_weight": "uniform", "loss": "exponential"},
        {"n_estimators": 10, "n_iter_no_change": 3, "validation_fraction": 0.4, "random_state": 0},
    ],
    "PRank": [
        {"update": "pa", "kernel": "rbf", "budget": 2},
        *({"update": update, "kernel": "rbf"} for update in UPDATES if update != "perceptron"),
        {"update": "pa", "vote": "voted"},
    ],
    "OAPRank": [{"n_estimators": 3, "update": "romma", "kernel": "poly", "random_state": 0}],
    "WidrowHoff": [{"kernel": "poly"}],
    "MulticlassPerceptron": [{"kernel": "poly"}],
}
WITH_OPTIONS = [all_estimators()[name](**params) for name in OPTIONS for params in OPTIONS[name]]
OF_TABLES = {"BestColumn", "GradeProbabilities", "TasteModel"}
EVERYTHING = [*ESTIMATORS, *WITH_MORE, *WITH_OPTIONS, *CALLED, *CALLED_SLOW, *PRECOMPUTED]


def excused(estimator):
    return EXEMPTIONS.get(type(estimator).__name__, {})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS + CUT, expected_failed_checks=excused)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(WITH_MORE + CUT_SLOW, expected_failed_checks=excused)
def test_scikit_learn_on_more(estimator, check):
    check(estimator)


@parametrize_with_contract(ESTIMATORS + WITH_MORE + CALLED + PRECOMPUTED)
def test_contract(check):
    check()


@pytest.mark.slow
@parametrize_with_contract(CALLED_SLOW)
def test_contract_of_more(check):
    check()


def test_every_public_estimator_is_known_to_the_contract():
    public = {
        name
        for package in iter_modules(rankwise.__path__)
        if not package.name.startswith("_")
        for name, member in getmembers(import_module(f"rankwise.{package.name}"), isclass)
        if issubclass(member, BaseEstimator) and f".{package.name}" in member.__module__
    }
    # baselines of a comparison, and a table of ratings, with their own tests
    assert public - OF_TABLES == all_estimators().keys() | NOT_OF_ROWS.keys()


def test_every_estimator_says_what_it_does_not_depend_on():
    assert INVARIANCES.keys() == all_estimators().keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "params", VARIANTS["RankBoost"] + MORE["RankBoost"] + OPTIONS["RankBoost"][:2], ids=str
)
def test_hundreds_of_fits_are_the_same(params):
    check_same_bits_twice(all_estimators()["RankBoost"](**{**params, "n_estimators": 5}), 300)


@pytest.mark.parametrize("estimator", WITH_OPTIONS, ids=str)
def test_options(estimator):
    checks = [*weight_checks(estimator), check_tiny_problems, check_same_bits_twice]
    for check in checks + invariance_checks(estimator):
        check(estimator)


@pytest.mark.parametrize("cls", all_estimators().values())
def test_every_option_is_checked(cls):
    tried = [e for e in EVERYTHING if type(e) is cls]
    for name, constraints in cls._parameter_constraints.items():
        for options in (each for each in constraints if isinstance(each, StrOptions)):
            assert options.options <= {
                value for each in tried if isinstance(value := getattr(each, name), str)
            }, name


@pytest.mark.parametrize("push", [2.0, 16.0])
def test_push(push):
    for seed in range(10):
        run_tiny_problem(RankBoost(10, push=push), seed)


def without_address(estimator):
    """Return a name that is the same in every process."""
    return re.sub(r" at 0x\w+", "", str(estimator))[:60]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", EVERYTHING, ids=without_address)
def test_many_tiny_problems(estimator):
    """A defect in one of 170 problems is found with a probability of 95 %."""
    check_tiny_problems(estimator, 500)


class Careless(MPRank):
    """A ranker that ignores weights, and inverts a matrix that may be singular."""

    def fit(self, X, y, *, qid=None, sample_weight=None):  # noqa: ARG002
        return super().fit(X, y, qid=qid)

    def explain(self, X):
        return np.linalg.inv(np.asarray(X).T @ X)


def test_checks_find_what_they_look_for():
    with pytest.raises((AssertionError, ValueError)):
        check_zero_weight_is_absence(Careless())
    with pytest.raises(np.linalg.LinAlgError) as raised:
        check_tiny_problems(Careless(), 100)
    assert "seed" in raised.value.__notes__[0]
