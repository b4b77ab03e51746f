"""Waiting for the workers of a cluster: as long as there are some, or may be again."""

from collections.abc import Callable, Sequence
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


def longest_wait() -> float:
    """Return how many seconds a cluster may be without workers.

    It is Dask's setting ``distributed.scheduler.no-workers-timeout`` as it is here, on the driver,
    such as "10 minutes"; 300 seconds, where it is not set.
    """
    from dask import config  # noqa: PLC0415
    from dask.utils import parse_timedelta  # noqa: PLC0415

    given = config.get(SETTING, None)  # type: ignore[no-untyped-call]
    return LONGEST if given is None else float(parse_timedelta(given))


class Absence:
    """Notes since when a cluster has had no worker.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client, self._since = client, None

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
            address = address_of(self._client)
            raise NoWorkersError(
                f"the cluster at {address} has had no worker for {longest:g} seconds: start some "
                f"by 'dask worker {address}', or wait longer by dask.config.set({{{SETTING!r}: "
                "'1 hour'})"
            )
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
            wait(list(futures), timeout=PATIENCE)  # type: ignore[no-untyped-call]
            return
        except TimeoutError:
            look(absence.check())


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
