"""Many fits at once: what runs by joblib runs on the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import sleep
from typing import Any

import joblib

from rankwise.distributed._cluster import import_dask, say_dashboard
from rankwise.distributed._waiting import PATIENCE, Absence

# Seconds until a scheduler must have answered.
_CONNECT = 10


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Connect to a scheduler, and let joblib use its workers; None: neither.

    Grid searches, `rankwise.comparison.compare` and the experiments then run there. The link of the
    dashboard is logged, to the logger ``rankwise.distributed``.

    Parameters
    ----------
    address : str or None
        Such as "tcp://host:8786".

    Yields
    ------
    distributed.Client or None

    Raises
    ------
    ValueError
        If the address is none.
    ConnectionError
        If there is no scheduler at it.
    RuntimeError
        If the scheduler has no worker, nor gets one: after 300 seconds, or what Dask's setting
        ``distributed.scheduler.no-workers-timeout`` says.
    """
    if address is None:
        yield None
        return
    with _connected(address) as client, joblib.parallel_config("dask"):
        say_dashboard(client)
        absence = Absence(client)
        while not absence.check():
            sleep(PATIENCE)
        yield client


def _connected(address: str) -> Any:
    connect = partial(import_dask("distributed").Client, address, timeout=_CONNECT)
    try:
        # One that fails would stay the default client of the process.
        with connect(set_as_default=False):
            pass
        return connect()
    except OSError as error:
        raise ConnectionError(
            f"no scheduler answers at {address!r} within {_CONNECT} seconds: start one by 'dask "
            "scheduler', which prints its address"
        ) from error
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{address!r} is not the address of a scheduler ({error}): give one such as "
            "tcp://host:8786"
        ) from error


def on_cluster() -> bool:
    """Whether joblib was told to use a Dask cluster."""
    backend, _ = joblib.parallel.get_active_backend()
    return type(backend).__name__ == "DaskDistributedBackend"
