"""The client of a Dask cluster: find it, wait for its workers, and give them to joblib."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import joblib

from rankwise._core.arguments import shortened

logger = logging.getLogger("rankwise.distributed")

# Seconds between two looks at the workers while results are waited for.
PATIENCE = 1.0
# Seconds that a cluster may be without workers, unless Dask's setting says otherwise.
TIMEOUT = 60.0
SETTING = "distributed.scheduler.no-workers-timeout"
# How often Dask runs a failed task again.
RETRIES = 3
# Seconds until a scheduler must have answered.
_CONNECT = 10


class NoWorkersError(RuntimeError):
    """A cluster has had no worker for too long, or no scheduler."""


def import_dask(name: str = "dask", extra: str = "dask") -> Any:
    """Import an optional module, or raise with the extra that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is not installed, which this needs: pip install 'rankwise[{extra}]'"
        ) from error


def find_client(client: Any) -> Any:
    """Return the client given, else the current one, else None for Dask's local scheduler.

    Raises
    ------
    TypeError
        If it is not a client.
    NoWorkersError
        If it is closed.
    """
    if client is None:
        if "distributed" in sys.modules:
            with suppress(ValueError):  # there is none
                return sys.modules["distributed"].default_client()
        return None
    if not (hasattr(client, "compute") and hasattr(client, "persist")):
        raise TypeError(f"client={shortened(client)} must be a distributed.Client")
    check_open(client)
    return client


def check_open(client: Any) -> None:
    """Raise if a client is closed."""
    if client.status in {"closed", "closing"}:
        raise NoWorkersError(
            "the client is closed, or has lost its scheduler: connect again by "
            "distributed.Client(address)"
        )


def log_dashboard(client: Any) -> None:
    """Log where a cluster shows its progress."""
    if link := getattr(client, "dashboard_link", None):
        logger.info("the cluster's dashboard: %s", link)


def seconds_without_workers(timeout: Any = None) -> float:
    """Return how many seconds a cluster may be without workers.

    That is ``timeout``, else Dask's setting ``distributed.scheduler.no-workers-timeout`` in this
    process, such as "10 minutes", else 60.
    """
    dask = import_dask()
    limit = dask.config.get(SETTING, None) if timeout is None else timeout
    return TIMEOUT if limit is None else float(import_dask("dask.utils").parse_timedelta(limit))


def require_workers(client: Any, timeout: Any = None) -> None:
    """Return as soon as the cluster has a worker.

    Raises
    ------
    NoWorkersError
        If it gets none in time, if the scheduler does not answer, or the client is closed.
    """
    check_open(client)
    seconds, address = seconds_without_workers(timeout), client.scheduler.address
    try:
        if not client.nthreads():
            logger.warning("the cluster has no worker: waiting %g s for one", seconds)
            client.wait_for_workers(1, timeout=max(seconds, 1e-3))
    except TimeoutError as error:
        raise _no_workers(address, seconds) from error
    except OSError as error:
        raise NoWorkersError(
            f"the scheduler at {address} does not answer ({error}): see whether it runs, connect "
            "again and fit again"
        ) from error


def _no_workers(address: str, seconds: float) -> NoWorkersError:
    return NoWorkersError(
        f"the cluster at {address} has had no worker for {seconds:g} seconds: start some by 'dask "
        f"worker {address}', or wait longer by timeout=, or by dask.config.set({{{SETTING!r}: "
        "'1 hour'})"
    )


def results_of(
    client: Any,
    futures: Sequence[Any],
    look: Callable[[], object] = lambda: None,
    timeout: Any = None,
) -> list[Any]:
    """Return the values of futures, once they are computed.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of Future
    look : callable, default: nothing
        Called every second; what it raises ends the waiting.
    timeout : float, default=None
        See `seconds_without_workers`.

    Raises
    ------
    NoWorkersError
        If the cluster has had no worker for this time.
    """
    wait, waiting = import_dask("distributed").wait, True
    while waiting:
        try:
            with client.as_current():  # it may not be the default one
                wait(list(futures), timeout=PATIENCE)
            waiting = False
        except TimeoutError:
            require_workers(client, timeout)
            look()
    try:
        return list(client.gather(list(futures)))
    except Exception as error:
        # the scheduler has a limit of its own, if its configuration says so
        if type(error).__name__ in {"NoWorkerError", "NoValidWorkerError"}:
            seconds = float(getattr(error, "timeout", 0.0))
            raise _no_workers(client.scheduler.address, seconds) from error
        raise


def release(futures: Iterable[Any]) -> None:
    """Release futures of ours, so that those which are not done are not computed any more.

    The caller's futures are left alone, also those that ours depend on. A scheduler that is asked
    to cancel a task which nobody holds drops the client with everything that it holds.
    """
    with suppress(RuntimeError):  # the event loop may be closed
        for future in futures:
            future.release()


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
        If it is not an address.
    ConnectionError
        If no scheduler answers there.
    RuntimeError
        If the scheduler has no worker, nor gets one: after 60 seconds, or what Dask's setting
        ``distributed.scheduler.no-workers-timeout`` says.
    """
    if address is None:
        yield None
        return
    connect = import_dask("distributed").Client
    try:
        # as the default client it would stay that of the process if it failed
        client = connect(address, timeout=_CONNECT, set_as_default=False)
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
    with client, client.as_current(), joblib.parallel_config("dask", client=client):
        log_dashboard(client)
        require_workers(client)
        yield client


def on_cluster() -> bool:
    """Return whether joblib's backend is a Dask cluster."""
    backend, _ = joblib.parallel.get_active_backend()
    return type(backend).__name__ == "DaskDistributedBackend"
