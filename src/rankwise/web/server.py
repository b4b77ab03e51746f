"""Run the service on a port."""

import os
import shutil
import tempfile
import webbrowser
from collections.abc import Callable
from threading import Timer
from typing import Any

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from rankwise.web._app import build_app
from rankwise.web._metrics import FOLDER
from rankwise.web._service import Service
from rankwise.web._settings import Settings, hand_over

_SECONDS = 10


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
    """Open the service, then answer until the process is told to end.

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
        Is told what happens.
    """
    if root_path and (root_path[0] != "/" or root_path[-1] == "/"):
        raise ValueError(f"{root_path=} must begin with / and not end with it")
    say(f"Reading {settings.data} and what it teaches; the first time this takes a minute ...")
    try:
        service = Service.open(settings, verbose=True)
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise ValueError(f"the database can't be opened: {cause}") from error
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}{root_path}/"
    say(f"{len(service.items):,} items at {where}  (Ctrl+C ends it)")
    if show:
        Timer(1.0, webbrowser.open, [where]).start()
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "root_path": root_path,
        "access_log": False,  # it would name addresses and items
        "log_level": "warning",
        "proxy_headers": True,
        "forwarded_allow_ips": proxies,
        "server_header": False,
        "timeout_graceful_shutdown": _SECONDS,
        "timeout_keep_alive": 75,  # longer than proxies keep a connection
    }
    if workers == 1:
        try:
            uvicorn.run(build_app(settings, service), **options)
        finally:
            service.close()
        return
    service.close()
    hand_over(settings)
    folder = tempfile.mkdtemp(prefix="rankwise-metrics-")
    os.environ[FOLDER] = folder
    try:
        uvicorn.run("rankwise.web:create_app", factory=True, workers=workers, **options)
    finally:
        del os.environ[FOLDER]
        shutil.rmtree(folder, ignore_errors=True)
