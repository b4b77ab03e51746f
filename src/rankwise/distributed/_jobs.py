"""Many fits at once: what runs by joblib runs on the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

from rankwise.distributed._cluster import import_dask, say_dashboard


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
    """
    if address is None:
        yield None
        return
    distributed = import_dask("distributed")
    with distributed.Client(address, timeout=10) as client, joblib.parallel_config("dask"):
        say_dashboard(client)
        yield client


def on_cluster() -> bool:
    """Whether joblib was told to use a Dask cluster."""
    backend, _ = joblib.parallel.get_active_backend()
    return type(backend).__name__ == "DaskDistributedBackend"
