"""Rows in parts of every kind, and one cluster of two processes for all tests that ask for it."""

import os
import signal
import time
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from rankwise.distributed import _partitions


@pytest.fixture(scope="session")
def cluster():
    """A cluster of two worker processes, one for all tests."""
    distributed = pytest.importorskip("distributed")
    # workers compile nothing twice at once, and leave the cores to each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of that cluster, whose two workers are there."""
    from distributed import Client

    with Client(cluster) as client:
        # one that a test has killed comes back, on a busy machine after a while
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture
def kill(client):
    """What kills a worker, and waits until the scheduler has noticed."""

    def kill_one():
        pids = client.run(os.getpid)
        address = next(iter(pids))
        os.kill(pids[address], signal.SIGKILL)
        while address in client.nthreads():
            time.sleep(0.05)

    return kill_one


@pytest.fixture
def small_blocks(monkeypatch):
    """Let blocks of an array have some hundred rows."""
    monkeypatch.setattr(_partitions, "_LARGEST_BLOCK", 8 * 4 * 150)


@pytest.fixture
def cut(tmp_path):
    """What makes parts of rows: `_cut` without a folder."""
    return partial(_cut, tmp_path)


def _cut(folder, kind, X, y, qid=None, weight=None):
    """Return rows as parts of some kind, among them an empty one where that is possible."""
    columns = {"qid": qid, "sample_weight": weight}
    given = {name: value for name, value in columns.items() if value is not None}
    edges = [0, 90, 90, 100, max(100, len(X) // 2), len(X)]
    if kind == "memmap":
        path = folder / "X.npy"
        np.save(path, X)
        return (np.load(path, mmap_mode="r"), y), given
    if kind in ("array", "unknown"):
        import dask.array as da

        sizes = tuple(np.diff(edges).tolist())
        to_dask = [
            None if value is None else da.from_array(value, chunks=(sizes, *value.shape[1:]))
            for value in (X, y, qid, weight)
        ]
        if kind == "unknown":
            to_dask = [
                None if value is None else value.map_blocks(np.asarray, dtype=value.dtype)
                for value in to_dask
            ]
            for value in to_dask:
                if value is not None:
                    value._chunks = ((np.nan,) * len(sizes), *value.chunks[1:])
        X, y, qid, weight = to_dask
        given = {"qid": qid, "sample_weight": weight}
        return (X, y), {name: value for name, value in given.items() if value is not None}
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["grade"] = y
    for name, value in given.items():
        frame[name] = value
    names = {name: name for name in given}
    parts = [frame[a:b] for a, b in pairwise(edges)]
    if kind == "parquet":
        for n, part in enumerate(parts):
            part.to_parquet(folder / f"{n}.parquet", row_group_size=120)
        return (str(folder), "grade"), names
    import dask

    parts = [dask.delayed(part) for part in parts]
    if kind == "delayed":
        return (parts, "grade"), names
    import dask.dataframe as dd

    return (dd.from_delayed(parts, meta=frame[:0]), "grade"), names
