"""A cluster without workers, interrupts and progress: a fit ends, and leaves nothing behind."""

import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from rankwise.boosting import RankBoost
from rankwise.distributed import connection, fit, fit_taste
from rankwise.distributed._rankboost import RemoteBlocks
from rankwise.distributed._recommend import People
from rankwise.distributed.connection import NoWorkersError, seconds_without_workers
from rankwise.magnitude import MPRank
from rankwise.ordinal import OAPRank
from rankwise.pairwise import RankSVM
from rankwise.recommend import RatingTable, TasteModel

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

MODELS = [
    MPRank(),
    RankSVM(),
    OAPRank(8, epochs=2, shuffle=False, random_state=0),
    RankBoost(20),
]


def rows(n=400, size=50):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    y = np.digitize(X[:, 0] + random.normal(size=n), [-0.5, 0.5])
    return da.from_array(X, chunks=(size, 4)), da.from_array(y, chunks=size)


def ratings():
    people, items = np.nonzero(np.random.default_rng(0).random((30, 9)) < 0.7)
    return RatingTable.from_arrays(people, items, (people * items) % 5)


def test_the_wait_is_said_by_dask():
    assert seconds_without_workers() == 60
    with dask.config.set({connection.SETTING: "2 minutes"}):
        assert seconds_without_workers() == 120


@pytest.fixture(scope="module")
def deserted():
    """A client of a cluster that has no worker."""
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=0, processes=False, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        dask.config.set({connection.SETTING: "0.2s"}),
    ):
        yield client


@pytest.mark.slow
class TestNoWorkers:
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
    def test_a_fit_ends(self, deserted, model, caplog):
        before = vars(model).copy()
        with pytest.raises(NoWorkersError, match=r"no worker for 0.2 seconds: start some by 'dask"):
            fit(model, *rows(), client=deserted)
        assert vars(model) == before
        assert "the cluster has no worker" in caplog.text

    def test_a_fit_says_how_long_it_waits(self, deserted):
        with (
            dask.config.set({connection.SETTING: "1 hour"}),
            pytest.raises(NoWorkersError, match=r"no worker for 0\.3 seconds"),
        ):
            fit(MPRank(), *rows(), client=deserted, timeout=0.3)

    def test_a_taste_ends(self, deserted):
        with pytest.raises(NoWorkersError, match="has had no worker"):
            fit_taste(TasteModel(), ratings(), client=deserted)

    @pytest.mark.parametrize("limited", ["here", "at the scheduler"])
    def test_rounds_end_if_all_workers_leave(self, monkeypatch, limited):
        run, asked = RemoteBlocks.run, []

        def run_and_leave(self, function, *arguments, **others):
            asked.append(function)
            if len(asked) == 9:
                cluster.scale(0)
                while self.client.nthreads():
                    time.sleep(0.05)
            return run(self, function, *arguments, **others)

        monkeypatch.setattr(RemoteBlocks, "run", run_and_leave)
        options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "threads_per_worker": 1}
        scheduler = {"here": None, "at the scheduler": "0.2s"}[limited]
        with dask.config.set({connection.SETTING: scheduler}):
            cluster = distributed.LocalCluster(n_workers=2, processes=False, **options)
        with (
            cluster,
            distributed.Client(cluster) as client,
            dask.config.set({connection.SETTING: "0.2s" if limited == "here" else None}),
            pytest.raises(NoWorkersError, match=r"has had no worker for 0.2 seconds"),
        ):
            fit(RankBoost(20), *rows(), client=client)
        assert len(asked) >= 9

    def test_a_client_that_is_closed(self, deserted):
        with distributed.Client(deserted.scheduler.address, set_as_default=False) as client:
            pass
        with pytest.raises(NoWorkersError, match=r"the client is closed.* connect again"):
            fit(MPRank(), *rows(), client=client)


def nothing_is_left(client):
    """Whether the scheduler knows of no task, as soon as those that can't be ended have ended."""

    def count(dask_scheduler):
        return len(dask_scheduler.tasks)

    for _ in range(600):  # a busy scheduler takes long to forget thousands of tasks
        if not client.run_on_scheduler(count):
            return True
        time.sleep(0.1)
    return False


def slowly(array):
    """Return an array whose blocks take a while: ten on two workers a second or more."""

    def slow(block):
        time.sleep(0.2)
        return block

    return array.map_blocks(slow, dtype=array.dtype)


@pytest.mark.slow
class TestInterrupts:
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
    def test_an_interrupt_leaves_no_task(self, client, model):
        X, y = rows(2_000, 10)
        before = vars(model).copy()
        # Python drops an interrupt in the middle of compiling
        fit(clone(model), X, y, client=client)
        # a real one, as from Ctrl-C, while the main thread waits for the workers
        timer = threading.Timer(0.7, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt) as caught:  # which holds on to what was under way
            fit(model, slowly(X), y, client=client)
        assert vars(model) == before
        assert nothing_is_left(client)
        assert caught.value is not None

    def test_rounds_are_interrupted(self, client):
        def stop(what):
            if what == "round 3 of 500":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            fit(RankBoost(500), *rows(), client=client, progress=stop)
        assert nothing_is_left(client)
        assert caught.value is not None

    def test_a_fit_that_ends_leaves_no_task(self, client):
        for model in MODELS:
            fit(model, *rows(), client=client)
            assert nothing_is_left(client)
        fit_taste(TasteModel(), ratings(), client=client)
        assert nothing_is_left(client)

    def test_a_taste_is_interrupted(self, client, monkeypatch):
        rounds, step = [], People.multiply_scores

        def step_and_stop(self, *arguments):
            rounds.append(self._send(np.zeros(3)))  # something that is under way
            if len(rounds) == 2:
                raise KeyboardInterrupt
            return step(self, *arguments)

        monkeypatch.setattr(People, "multiply_scores", step_and_stop)
        with pytest.raises(KeyboardInterrupt) as caught:
            fit_taste(TasteModel(), ratings(), client=client)
        assert nothing_is_left(client)
        assert caught.value is not None

    def test_the_futures_of_the_caller_live(self, client):
        mine = client.submit(sum, [1, 2, 3])
        X, y = (client.persist(each) for each in rows())
        frame = client.persist(X.sum(axis=1))

        def stop(_):
            raise KeyboardInterrupt

        def fit_interrupted(model):
            with pytest.raises(KeyboardInterrupt):
                fit(model, X, y, client=client, progress=stop)

        calls = [
            *(partial(fit, model, X, y, client=client) for model in MODELS),
            partial(fit_taste, TasteModel(), ratings(), client=client),
            *(partial(fit_interrupted, model) for model in MODELS),
        ]
        for call in calls:
            call()
            call()
            assert mine.result() == 6
            assert_array_equal(frame.compute(), X.compute().sum(axis=1))
            others = {mine.key, *X.__dask_keys__()[0], *frame.__dask_keys__()}
            assert others <= client.futures.keys()

    def test_a_cluster_says_how_far_it_is(self, client, monkeypatch):
        monkeypatch.setattr(connection, "PATIENCE", 0.1)
        X, y = rows(400, 10)
        said = []
        fit(RankSVM(), slowly(X), y, client=client, progress=said.append)
        assert said[0] == "pass 1 over 40 parts"
        assert any(text.startswith("pass 1 over 40 parts, ") for text in said)


class TestProgress:
    def test_from_disk(self):
        X, y = (each.compute() for each in rows())
        said = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rankwise.distributed._partitions._LARGEST_BLOCK", 8 * 4 * 150)
            fit(MPRank(), X, y, progress=said.append)
            first = ["pass 1 over 3 parts", "pass 1 over 3 parts, 1 done"]
            assert said[:2] == first
            del said[:]
            fit(RankBoost(3), X, y, progress=said.append)
        assert said[:2] == first
        assert said[-1] == "round 3 of 3"

    def test_in_collections(self):
        said = []
        fit(RankBoost(3), *rows(), progress=said.append)
        assert said[0] == "pass 1 over 8 parts"
        assert said[-1] == "round 3 of 3"

    def test_refused(self):
        with pytest.raises(ValueError, match="progress='yes' must be a function of a string"):
            fit(MPRank(), *rows(), progress="yes")

    @pytest.mark.parametrize("timeout", [0, -1, float("nan")])
    def test_a_time_that_is_none(self, timeout):
        with pytest.raises(ValueError, match="is invalid: expected a positive number of seconds"):
            fit(MPRank(), *rows(), timeout=timeout)

    def test_what_it_raises_ends_the_fit(self):
        def stop(_):
            raise RuntimeError("enough")

        model = MPRank()
        with pytest.raises(RuntimeError, match="enough"):
            fit(model, *rows(), progress=stop)
        assert not hasattr(model, "coef_")
