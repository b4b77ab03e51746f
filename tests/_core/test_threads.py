"""Threads that share passes: how many there are, what they return, and how they end."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed, parallel_config
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from rankwise._core.threads import WORTH_SHARING, Pool, count_threads
from rankwise.boosting import RankBoost
from rankwise.ordinal import OAPRank

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
        yield lambda function, *args: pool.apply_async(function, args).get(timeout=600)


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


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("work", [0, WORTH_SHARING])
def test_results_come_in_order(n_jobs, work):
    with Pool(n_jobs) as pool:
        for n in (0, 1, 7, 50):
            assert pool.run(lambda t: t * t, n, work=work) == [t * t for t in range(n)]
            ranges = pool.run_ranges(range, n, work=work)
            assert [i for some in ranges for i in some] == list(range(n))
            assert len(ranges) == (1 if n_jobs == 1 or work == 0 else min(n, 4 * n_jobs))


def test_a_long_pass_is_shared():
    both = threading.Barrier(2, timeout=60)
    with Pool(2) as pool:
        # each of the two tasks waits for the other one
        names = pool.run(lambda _: both.wait() * 0 + threading.get_ident(), 2, work=WORTH_SHARING)
    assert len({*names, threading.get_ident()}) == 3


def test_a_short_pass_is_not():
    with Pool(2) as pool:
        idents = pool.run(lambda _: threading.get_ident(), 5, work=WORTH_SHARING - 1)
    assert set(idents) == {threading.get_ident()}


def test_an_error_cancels_the_rest():
    raised, begun = threading.Event(), []

    def task(t):
        begun.append(t)
        if t == 0:
            raise ZeroDivisionError("task 0")
        raised.wait(60)

    threads = threading.active_count()
    with Pool(2) as pool:
        with pytest.raises(ZeroDivisionError, match="task 0"):
            pool.run(task, 100, work=WORTH_SHARING)
        raised.set()
    assert len(begun) <= 3
    assert threading.active_count() == threads


def test_an_error_without_threads_is_raised():
    with Pool(1) as pool, pytest.raises(ZeroDivisionError):
        pool.run(lambda t: 1 / t, 3, work=WORTH_SHARING)


INTERRUPTED = """
import signal, threading
from rankwise._core.threads import WORTH_SHARING, Pool

def task(t):
    if t == 3:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    begun.append(t)
    interrupted.wait(0.05)

begun, interrupted = [], threading.Event()
try:
    with Pool(2) as pool:
        pool.run(task, 10_000, work=WORTH_SHARING)
except KeyboardInterrupt:
    print(len(begun) < 1_000, threading.active_count())
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals here")
def test_an_interrupt_ends_the_pass():
    # in a process of its own, which is ended if it hangs
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["True", "1"], done.stderr
