"""Run the service on a port."""

import os
import tempfile
import webbrowser
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from threading import Timer
from typing import Any

import h11
import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from uvicorn.protocols.http.h11_impl import H11Protocol

from rankwise.web._app import METRICS_FOLDER, build_app
from rankwise.web._service import Service
from rankwise.web._settings import Settings, hand_over

HEADER_SECONDS = 10.0


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that ends a connection whose next headers take too long."""

    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first headers."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEADER_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Wait on while headers are incomplete. Between two requests a connection may rest."""
        super().data_received(data)
        incomplete = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if self._timer is not None and not incomplete:
            self._timer.cancel()
            self._timer = None
        elif self._timer is None and incomplete:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)


OPTIONS: dict[str, Any] = {
    # by name: a worker that is started must not import all this before it answers its parent
    "http": "rankwise.web.server:TimedProtocol",
    "h11_max_incomplete_event_size": 65_536,
    "ws": "none",
    "access_log": False,  # it would name addresses and items
    "log_level": "warning",
    "proxy_headers": True,
    "server_header": False,
    "timeout_graceful_shutdown": 10,
    "timeout_keep_alive": 75,  # longer than proxies keep a connection
}


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    workers: int = 1,
    root_path: str = "",
    proxies: str = "127.0.0.1",
    show: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Open the service, then answer until the process is stopped.

    Everything that can be wrong with the data or the database is found before the port is opened.
    Requests that are being answered at the end have ten seconds.

    Parameters
    ----------
    settings : Settings
        What to serve.
    host, port : str, int
        Where.
    workers : int, default=1
        Processes that answer.
    root_path : str, default=""
        The path under which a proxy serves the app, such as ``"/taste"``.
    proxies : str, default="127.0.0.1"
        Addresses of proxies whose word about a visitor's address and https is believed.
    show : bool, default=False
        Whether to open the page in a browser.
    say : callable, default=print
        Receives messages about the progress.
    """
    if root_path and (root_path[0] != "/" or root_path[-1] == "/"):
        raise ValueError(f"{root_path=} is invalid: it must begin with / and not end with it")
    say(f"Reading {settings.data} and what it teaches; the first time this takes a minute ...")
    try:
        service = Service.open(settings, verbose=True)
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise ValueError(f"the database can't be opened: {cause}") from error
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}{root_path}/"
    say(f"{len(service.items):,} {settings.nouns[1]} at {where}  (Ctrl+C ends it)")
    if show:
        Timer(1.0, webbrowser.open, [where]).start()
    options = {
        **OPTIONS,
        "host": host,
        "port": port,
        "root_path": root_path,
        "forwarded_allow_ips": proxies,
    }
    if workers == 1:
        try:
            uvicorn.run(build_app(settings, service), **options)
        finally:
            service.store.close()
        return
    service.store.close()
    hand_over(settings)
    with tempfile.TemporaryDirectory(prefix="rankwise-metrics-") as folder:
        os.environ[METRICS_FOLDER] = folder
        uvicorn.run("rankwise.web:create_app", factory=True, workers=workers, **options)
