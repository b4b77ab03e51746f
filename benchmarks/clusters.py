"""What the races past one machine share: a cluster here, peers on it, and a watch on memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import load

PEERS = ("LightGBM", "XGBoost")
# Rows of a query, for peers: both ask for sorted queries, and LightGBM takes no more than 10,000.
LIST_ROWS = 100


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A cluster of processes on this machine, of one thread each."""
    distributed = import_module("distributed")
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=50,
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def fit_peer(name: str, X: Any, y: Any, client: Any) -> Any:
    """Fit 100 trees by the Dask ranker of a peer; return what predicts here.

    Parameters
    ----------
    name : {"LightGBM", "XGBoost"}
    X, y : dask arrays
        Their chunks are multiples of `LIST_ROWS`, whose rows are a query each.
    client : distributed.Client
    """
    array, sizes = import_module("dask.array"), X.chunks[0]
    if name == "LightGBM":
        lists = array.from_array(
            np.full(sum(sizes) // LIST_ROWS, LIST_ROWS),
            chunks=(tuple(size // LIST_ROWS for size in sizes),),
        )
        model = load("lightgbm.DaskLGBMRanker")(n_estimators=100, verbose=-1, client=client)
        return model.fit(X, y, group=lists).to_local()
    qid = array.from_array(np.arange(sum(sizes)) // LIST_ROWS, chunks=(sizes,))
    model = load("xgboost.dask.DaskXGBRanker")(
        n_estimators=100, tree_method="hist", objective="rank:pairwise", allow_group_split=True
    )
    model.client = client
    return model.fit(X, y, qid=qid).get_booster()


def misranked(model: Any, X: Any, y: Any, qid: Any = None) -> float:
    """Return the share of pairs of rows that a model of ours, or of a peer, puts wrong."""
    if type(model).__name__ == "Booster":
        scores = model.predict(load("xgboost.DMatrix")(np.asarray(X)))
    else:
        scores = model.project(X) if hasattr(model, "project") else model.predict(X)
    return load("rankwise.metrics.pairwise_misranking_loss")(y, scores, qid=qid)


class Watched(NamedTuple):
    """How a command went: what it printed, why it was ended if so, seconds, most bytes at once."""

    said: str
    failure: str
    seconds: float
    peak: int


def watch(command: Sequence[str], limit: int, seconds: float) -> Watched:
    """Run a command; end it and its children past some bytes, or some seconds of processor, in all.

    They are looked at four times a second. A page of memory is counted once however many processes
    share it, those of mapped files included. Seconds of processor, since the machine may have
    other work.
    """
    begin, peak, failure = perf_counter(), 0, ""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        while process.poll() is None and not failure:
            held, computed = _use_of(process.pid)
            peak = max(peak, held)
            if peak > limit:
                failure = f"not within {limit / 1e9:g} GB"
            elif computed > seconds:
                failure = f"not within {seconds / 60:g} minutes"
            sleep(0.25)
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    said, wrong = process.communicate()
    if process.returncode and not failure:
        raised = re.findall(r"^[\w.]*(?:Error|Exception)\b.*", wrong, re.MULTILINE)
        failure = (raised or ["failed"])[-1][:100]
    return Watched(said, failure, perf_counter() - begin, peak)


def _use_of(pid: int) -> tuple[int, float]:
    """Return the proportional bytes and the processor seconds of a process and its children."""
    psutil = import_module("psutil")
    held, computed = 0, 0.0
    with suppress(psutil.Error):
        first = psutil.Process(pid)
        for each in [first, *first.children(recursive=True)]:
            with suppress(psutil.Error):
                held += each.memory_full_info().pss
                computed += sum(each.cpu_times()[:2])
    return held, computed
