"""The command lines on a real cluster: compare and experiments with --scheduler."""

import json
import subprocess
import sys
from functools import partial, wraps

import numpy as np
import pytest
from click.testing import CliRunner

import experiments
from experiments.__main__ import experiment
from rankwise import load
from rankwise.cli._commands import rankwise as main
from rankwise.distributed import cluster as connect
from rankwise.distributed.connection import find_client

pytest.importorskip("distributed")
pytest.importorskip("matplotlib")


def rankwise(*words, **options):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-c", "from rankwise.cli import main; main()", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def table(tmp_path):
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(90, 3)), columns=["a", "b", "c"]).round(3)
    frame["grade"] = np.digitize(frame["a"] - frame["b"], [-0.7, 0.7])
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def transitions(client):
    """How many changes of tasks the scheduler has seen."""

    def count(dask_scheduler):
        return dask_scheduler.transition_counter

    return client.run_on_scheduler(count)


@pytest.mark.slow
class TestScheduler:
    def test_compare(self, client, cluster, table, tmp_path):
        def run(folder, *more):
            done = rankwise(
                "compare", table, "--target", "grade", "--quick", "--method", "MPRank",
                "--method", "ridge", "--format", "json", "--out", tmp_path / folder, *more,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)["methods"]

        before = transitions(client)
        there = run("there", "--scheduler", cluster.scheduler_address)
        assert transitions(client) > before
        here = run("here")
        for one, other in zip(there, here, strict=True):
            assert one["name"] == other["name"]
            assert one["failure"] == ""
            assert one["measures"] == other["measures"]
        X = np.random.default_rng(1).normal(size=(5, 3))
        models = [load(tmp_path / name / "model.rankwise") for name in ("there", "here")]
        import pandas as pd

        rows = pd.DataFrame(X, columns=["a", "b", "c"])
        np.testing.assert_array_equal(*(model.predict(rows) for model in models))

    def test_experiment(self, client, cluster, tmp_path, monkeypatch):
        few = wraps(experiments.judges)(partial(experiments.judges, n_trials=2))
        monkeypatch.setitem(experiments.EXPERIMENTS, "judges", few)
        monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))  # the films that come along

        def run(folder, *more):
            words = ["judges", "--jobs", "1", "--out", str(tmp_path / folder), *more]
            done = CliRunner().invoke(experiment, words, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return (tmp_path / folder / "results.csv").read_text()

        before = transitions(client)
        there = run("there", "--scheduler", cluster.scheduler_address)
        assert transitions(client) > before
        assert len(list((tmp_path / "there" / "trials").iterdir())) == 2
        assert there == run("here")


class TestRefused:
    def test_addresses(self, table, monkeypatch):
        monkeypatch.setattr("rankwise.distributed.connection._CONNECT", 0.2)
        words = ["compare", str(table), "--target", "grade", "--scheduler"]
        done = CliRunner().invoke(main, [*words, "nonsense"])
        assert "'nonsense' is not the address of a scheduler" in done.output
        assert done.exit_code
        done = CliRunner().invoke(main, [*words, "tcp://127.0.0.1:9"])
        assert "no scheduler answers at 'tcp://127.0.0.1:9' within 0.2 seconds" in done.output
        assert "Traceback" not in done.output
        with pytest.raises(ConnectionError, match="start one by 'dask scheduler'"):
            connect("tcp://127.0.0.1:9").__enter__()
        # nothing of that is left to the next fit
        assert find_client(None) is None

    def test_experiments_without_trials(self, tmp_path):
        words = ["drift", "--scheduler", "tcp://127.0.0.1:9", "--out", str(tmp_path)]
        done = CliRunner().invoke(experiment, words)
        assert "--scheduler has no effect on drift, only on advice, judges" in done.output

    @pytest.mark.slow
    def test_a_cluster_without_workers(self):
        import dask
        import distributed

        options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        with (
            distributed.LocalCluster(n_workers=0, processes=False, **options) as cluster,
            dask.config.set({"distributed.scheduler.no-workers-timeout": "0.1s"}),
            pytest.raises(RuntimeError, match="has had no worker"),
            connect(cluster.scheduler_address),
        ):
            pass
