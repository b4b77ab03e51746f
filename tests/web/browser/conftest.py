"""A server, a browser, and pages that may not misbehave."""

import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import asdict

import pytest

from rankwise.web import Settings

HOSTILE = '<img src="x" onerror="alert(1)"> & <b>bold</b>'
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def films_and_hostile(films, folder):
    """The small table of films, and one with HTML in its title that nearly all have rated."""
    rows = films.read_text("utf-8")
    path = folder / "hostile.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(rows)
        for user in range(140):
            csv.writer(file).writerow([user, 500, 2 + user % 3, HOSTILE, 1999, "Drama"])
    return path


class Server:
    """The service as a process of its own, on a port that stays the same when it starts again."""

    def __init__(self, settings, *options):
        self._settings, self._options = settings, options
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._process = None

    def start(self):
        """Start, and wait until it answers."""
        environment = {**os.environ, "RANKWISE_WEB": json.dumps(asdict(self._settings))}
        command = [sys.executable, "-m", "uvicorn", "rankwise.web:create_app", "--factory"]
        options = ["--port", str(self.port), "--log-level", "warning", "--no-access-log"]
        self._process = subprocess.Popen([*command, *options, *self._options], env=environment)
        for _ in range(1200):
            try:
                with urllib.request.urlopen(f"{self.url}readyz", timeout=5):  # noqa: S310
                    return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def stop(self):
        """End it, as an unplugged cable would."""
        self._process.kill()
        self._process.wait()


def service_settings(films, folder, place):
    """Return the settings of a service whose database is in a folder."""
    return Settings(
        data=str(films),
        noun="film,films",
        database=str(place / "taste.sqlite"),
        folder=str(folder),
        rate_visitor=0,
        rate_address=0,
    )


@pytest.fixture(scope="session")
def server(films_and_hostile, folder, tmp_path_factory):
    """The server that most tests share; each of their visitors is a new one."""
    place = tmp_path_factory.mktemp("browser")
    running = Server(service_settings(films_and_hostile, folder, place))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def own_server(films_and_hostile, folder, tmp_path):
    """A server that a test may stop and start."""
    running = Server(service_settings(films_and_hostile, folder, tmp_path))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, without a window."""
    from playwright.sync_api import expect, sync_playwright

    found = [os.environ.get("RANKWISE_CHROMIUM"), *map(shutil.which, _BROWSERS)]
    path = next(filter(None, found), None)
    if path is None:
        pytest.skip("there is no Chromium: install it, or name it by RANKWISE_CHROMIUM")
    expect.set_options(timeout=20_000)  # of a busy machine
    with sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


class Watch:
    """What pages do that they should not: errors, and requests to other hosts."""

    def __init__(self):
        self.faults = []
        self.allowed = ()
        self.hosts = ()

    def follow(self, context, url):
        """Watch all pages of a context."""
        context.on("console", self._console)
        context.on("weberror", lambda error: self.faults.append(f"error: {error.error}"))
        context.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        context.on("request", lambda request: self._request(request.url, url))

    def _console(self, message):
        said = message.text
        if message.type in {"error", "warning"} and not any(text in said for text in self.allowed):
            self.faults.append(f"console: {message.text}")

    def _request(self, asked, url):
        if not asked.startswith((url, "data:", *self.hosts)):
            self.faults.append(f"request to {asked}")


@pytest.fixture
def watch():
    """Fail if a page had an error or asked another host."""
    watching = Watch()
    yield watching
    assert watching.faults == []


@pytest.fixture
def visit(browser, server, watch):
    """Return a function that opens a new visitor's context."""
    contexts = []

    def begin(url=server.url, **options):
        options = {"viewport": {"width": 1300, "height": 900}, **options}
        context = browser.new_context(base_url=url, **options)
        context.set_default_timeout(20_000)
        watch.follow(context, url)
        contexts.append(context)
        return context

    yield begin
    for context in contexts:
        for routed in (*context.pages, context):
            routed.unroute_all(behavior="ignoreErrors")
        context.close()


@pytest.fixture
def page(visit):
    """A new visitor's page."""
    opened = visit().new_page()
    opened.goto("")
    opened.wait_for_selector(".card")
    return opened
