"""How many threads there are, wherever a model is fitted."""

import multiprocessing
import warnings

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed, parallel_config
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from rankwise.engine.team import count_threads
from rankwise.ordinal import OAPRank
from rankwise.pairwise import RankBoost

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)

models = pytest.mark.parametrize(
    "model",
    [OAPRank(60, n_jobs=2, random_state=0), RankBoost(3, n_jobs=2)],
    ids=["OAPRank", "RankBoost"],
)


@pytest.fixture(scope="module")
def daemon():
    """Start a process that can't start others, and where warnings are errors."""
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, warnings.simplefilter, ("error",)) as pool:
        yield lambda function, *args: pool.apply_async(function, args).get(timeout=120)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 7])
def test_as_many_as_asked(n_jobs):
    assert count_threads(n_jobs) == (n_jobs or 1)


def test_negative_numbers_count_from_all_cores():
    assert count_threads(-1) == cpu_count()
    assert count_threads(-2) == max(1, cpu_count() - 1)
    assert count_threads(-1000) == 1


def test_none_follows_the_surrounding_configuration():
    with parallel_config(n_jobs=3):
        assert count_threads(None) == 3
        assert count_threads(2) == 2


def test_a_daemonic_process_has_threads(daemon):
    assert daemon(count_threads, 2) == 2


@models
def test_models_are_fitted_silently_in_a_daemonic_process(model, daemon):
    assert_array_equal(daemon(model.fit, X, y).predict(X), model.fit(X, y).predict(X))


@models
def test_models_are_fitted_silently_by_joblib(model, capfd):
    for fitted in Parallel(n_jobs=2)(delayed(model.fit)(X, y) for _ in range(2)):
        assert_array_equal(fitted.predict(X), model.fit(X, y).predict(X))
    search = GridSearchCV(model, {"n_estimators": [2, 3]}, cv=2, n_jobs=2, error_score="raise")
    assert search.fit(X, y).best_params_["n_estimators"] in (2, 3)
    assert capfd.readouterr().err == ""


@models
@pytest.mark.parametrize("n_jobs", [0, "2", 1.5])
def test_what_is_no_number_of_threads_is_named(model, n_jobs):
    with pytest.raises(ValueError, match="'n_jobs' parameter of"):
        type(model)(n_jobs=n_jobs).fit(X, y)


@models
def test_sparing_more_cores_than_there_are_leaves_one_thread(model):
    spared, one = (type(model)(3, n_jobs=n, random_state=0).fit(X, y) for n in (-50, 1))
    assert_array_equal(spared.predict(X), one.predict(X))
