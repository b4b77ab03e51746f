"""Waiting for the workers of a cluster: as long as there are some, or may be again."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from rankwise.distributed._parts import logger

# Seconds after which it is looked whether the workers are still there.
PATIENCE = 1.0
# Seconds that a cluster may be without any worker, unless Dask's setting says otherwise.
LONGEST = 300.0
SETTING = "distributed.scheduler.no-workers-timeout"


class NoWorkersError(RuntimeError):
    """A cluster has had no worker for too long."""


def lost_errors() -> tuple[type[BaseException], ...]:
    """Return what says that a worker was lost with what it held, or what was sent to it."""
    from distributed import CancelledError, KilledWorker  # noqa: PLC0415
    from distributed.comm.core import CommClosedError  # noqa: PLC0415

    return CancelledError, KilledWorker, CommClosedError


def longest_wait() -> float:
    """Return how many seconds a cluster may be without workers.

    It is Dask's setting ``distributed.scheduler.no-workers-timeout`` as it is here, on the driver,
    such as "10 minutes"; 300 seconds, where it is not set.
    """
    from dask import config  # noqa: PLC0415
    from dask.utils import parse_timedelta  # noqa: PLC0415

    given = config.get(SETTING, None)
    return LONGEST if given is None else float(parse_timedelta(given))


class Absence:
    """Notes since when a cluster has had no worker.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._since: float | None = None

    def check(self) -> dict[str, Any]:
        """Return the workers that there are.

        Raises
        ------
        NoWorkersError
            If there have been none for too long, the scheduler is gone, or the client is closed.
        """
        check_open(self._client)
        try:
            here: dict[str, Any] = self._client.nthreads()
        except OSError as error:
            raise NoWorkersError(
                f"the scheduler at {address_of(self._client)} does not answer ({error}): see "
                "whether it runs, connect again and fit again"
            ) from error
        now, longest = monotonic(), longest_wait()
        if here:
            self._since = None
            return here
        if self._since is None:
            self._since = now
            logger.warning("the cluster has no worker: waiting %g s for one", longest)
        if now - self._since >= longest:
            raise no_workers(self._client, longest)
        return here


def wait_for(
    client: Any,
    futures: Sequence[Any],
    look: Callable[[dict[str, Any]], object] = lambda _: None,
) -> None:
    """Wait until futures are done, have failed or are cancelled.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of Future
    look : callable, default: nothing
        Called every second with the workers that there are; what it raises ends the waiting.

    Raises
    ------
    NoWorkersError
        If there has been no worker for `longest_wait` seconds.
    """
    from distributed import wait  # noqa: PLC0415

    absence = Absence(client)
    while True:
        try:
            with client.as_current():  # it may not be the default one
                wait(list(futures), timeout=PATIENCE)  # type: ignore[no-untyped-call]
            return
        except TimeoutError:
            look(absence.check())


def results_of(
    client: Any,
    futures: Sequence[Any],
    look: Callable[[dict[str, Any]], object] = lambda _: None,
) -> list[Any]:
    """Return the values of futures, once they are there; as `wait_for`."""
    wait_for(client, futures, look)
    try:
        return list(client.gather(list(futures)))
    except Exception as error:
        # the scheduler has a limit of its own, if it was given one
        if type(error).__name__ in {"NoWorkerError", "NoValidWorkerError"}:
            raise no_workers(client, float(getattr(error, "timeout", 0.0))) from error
        raise


def release(futures: Iterable[Any]) -> None:
    """Release futures of ours, so that those which are not done are not computed any more.

    The caller's futures are left alone, also those that ours depend on. A scheduler that is asked
    to cancel a task which nobody holds drops the client with everything that it holds.
    """
    with suppress(RuntimeError):  # the event loop may be closed
        for future in futures:
            future.release()


def no_workers(client: Any, seconds: float) -> NoWorkersError:
    """Return the error that says how long there was no worker, and what to do."""
    address = address_of(client)
    return NoWorkersError(
        f"the cluster at {address} has had no worker for {seconds:g} seconds: start some by 'dask "
        f"worker {address}', or wait longer by dask.config.set({{{SETTING!r}: '1 hour'}})"
    )


def address_of(client: Any) -> str:
    """Return where the scheduler of a client is."""
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", "the scheduler's address"))


def check_open(client: Any) -> None:
    """Refuse a client that is closed.

    Raises
    ------
    NoWorkersError
        If it is.
    """
    if getattr(client, "status", "running") in {"closed", "closing"}:
        raise NoWorkersError(
            "the client is closed, or has lost its scheduler: connect again by "
            "distributed.Client(address)"
        )
