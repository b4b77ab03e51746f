"""On a cluster of two processes: the fits of one machine, and a worker that is killed."""

import os
import signal
import time
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.comparison.runner import run_jobs
from rankwise.comparison.trials import Trials
from rankwise.distributed import _partitions, fit, predict, rank
from rankwise.distributed import cluster as connect
from rankwise.distributed._partitions import DaskPartitions
from rankwise.distributed.connection import on_cluster
from rankwise.magnitude import MPRank, SVRank
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from rankwise.pairwise import RankSVM

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.slow

STREAM = {"epochs": 1, "shuffle": False}


def table(n=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = np.digitize(X @ [2.0, -1.0, 0.5, 0.0] + random.normal(size=n), [-1.5, 0, 1.5])
    return X, y, random.integers(0, 25, n), random.integers(0, 3, n).astype(float)


@pytest.mark.parametrize(
    ("kind", "queries"),
    [("array", False), ("unknown", True), ("frame", True), ("delayed", True), ("parquet", True)],
)
def test_rankers(cut, client, kind, queries):
    X, y, qid, weight = table()
    rows = {"qid": qid} if queries else {}
    args, given = cut(kind, X, y, rows.get("qid"), weight)
    rows["sample_weight"] = weight
    found = fit(MPRank(), *args, **given, client=client)
    alone = MPRank(solver="primal").fit(X, y, **rows)
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-10)
    np.testing.assert_allclose(found.objective_, alone.objective_, rtol=1e-10)
    for model in (RankSVM(tol=1e-10), SVRank(power=2, tol=1e-10)):
        found = fit(clone(model), *args, **given, client=client)
        alone = clone(model).fit(X, y, **rows)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-4, atol=1e-5)
        assert found.duality_gap_ <= 1e-10 * found.objective_


@pytest.mark.parametrize(
    "model",
    [
        PRank(**STREAM),
        WidrowHoff(0.001, **STREAM),
        MulticlassPerceptron(**STREAM),
        OAPRank(20, epochs=2, shuffle=False, random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_parts", [1, 7])
def test_streams_bit_for_bit(client, model, n_parts):
    X, y, _, _ = table()
    size = -(-len(X) // n_parts)
    lazy = da.from_array(X, chunks=(size, 4)), da.from_array(y, chunks=size)
    found, alone = fit(clone(model), *lazy, client=client), clone(model).fit(X, y)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    assert found.rank_loss_ == alone.rank_loss_
    if isinstance(model, OAPRank):
        np.testing.assert_array_equal(found.members_coef_, alone.members_coef_)


def test_a_part_without_positives(client):
    X, y, _, _ = table()
    y = (y > 1).astype(int)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    lazy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    found = fit(RankSVM(tol=1e-9), *lazy, client=client)
    np.testing.assert_allclose(found.coef_, RankSVM(tol=1e-9).fit(X, y).coef_, rtol=1e-4)


def test_pipelines(client):
    X, y, qid, _ = table()
    lazy = [da.from_array(value, chunks=(100, *value.shape[1:])) for value in (X, y, qid)]
    model = make_pipeline(
        StandardScaler(), Nystroem(gamma=0.3, n_components=20, random_state=0), RankSVM(tol=1e-9)
    )
    found = fit(clone(model), *lazy[:2], qid=lazy[2], client=client)
    alone = clone(model).fit(X, y, ranksvm__qid=qid)
    np.testing.assert_allclose(found.predict(X), alone.predict(X), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(predict(found, lazy[0]).compute(), found.predict(X), rtol=1e-10)
    mapped = lazy[0].map_blocks(found[:-1].transform, chunks=(100, 20), dtype=float)
    positions = rank(found[-1], mapped)
    np.testing.assert_array_equal(positions.compute(), found[-1].rank(found[:-1].transform(X)))


def test_a_bad_row_is_named(client):
    X, y, _, _ = table()
    X[333, 1] = np.inf
    lazy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    with pytest.raises(ValueError, match=r"part 3: Input X contains infinity \(row 33, column 1\)"):
        fit(RankSVM(), *lazy, client=client)


def test_joblib_on_the_cluster(cluster):
    X, y, _, _ = table()
    search = GridSearchCV(MPRank(), {"C": [0.1, 1.0, 10.0]}, cv=3)
    with connect(cluster.scheduler_address) as client:
        assert on_cluster()
        found = clone(search).fit(X, y)
        jobs = {name: partial(Trials, name, failure="none") for name in "ab"}
        trials = run_jobs(jobs, 600, 1, lambda _: None)  # seconds: the machine may be busy
        assert client.status == "running"
    assert not on_cluster()
    assert {name: tried.failure for name, tried in trials.items()} == {"a": "none", "b": "none"}
    alone = clone(search).fit(X, y)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


class TestLost:
    """A worker is killed in the middle of a fit."""

    @pytest.mark.parametrize(
        "model",
        [
            MPRank(),
            RankSVM(tol=1e-6),
            OAPRank(40, epochs=8, shuffle=False, random_state=0),
        ],
        ids=str,
    )
    def test_the_result_is_the_same(self, client, model):
        X, y, _, _ = table(30_000)
        lazy = [_slowly(da.from_array(value, chunks=(2_000, *value.shape[1:]))) for value in (X, y)]
        killed, compute = [], DaskPartitions._compute
        when = 1 if isinstance(model, MPRank) else 3

        def kill_in_between(self, build):
            if not killed and self.traffic.passes >= when:
                killed.append(_kill_soon(client))
            return compute(self, build)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DaskPartitions, "_compute", kill_in_between)
            patch.setattr(_partitions, "_LARGE", 0)  # values are lost with the worker, too
            found = fit(clone(model), *lazy, client=client)
        assert killed
        alone = clone(model).set_params(**_exact(model)).fit(X, y)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-5)
        killed[0].join()


def _exact(model):
    return {"solver": "primal"} if isinstance(model, MPRank) else {}


def _slowly(array):
    """Return an array whose blocks take a while."""

    def slow(block):  # sent as it is: workers can't import this module
        time.sleep(0.03)
        return block

    return array.map_blocks(slow, dtype=array.dtype)


def _kill_soon(client):
    """Kill a worker in a moment, while the pass is under way."""
    from threading import Thread

    pids = list(client.run(os.getpid).values())

    def kill():
        time.sleep(0.2)
        os.kill(pids[0], signal.SIGKILL)

    thread = Thread(target=kill)
    thread.start()
    return thread
