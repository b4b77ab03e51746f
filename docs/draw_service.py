"""Draw the page of the taste service: ``python docs/draw_service.py``, to ``_static/service.png``.

Starts the service on the embedded films, opens its page in the system's Chromium (or the one that
RANKWISE_CHROMIUM names), rates five films, presses Learn and takes a picture.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from rankwise.web import Settings

PICTURE = Path(__file__).parent / "_static" / "service.png"
STARS = (0.95, 0.75, 0.25, 0.5, 0.85)  # where on the control each film is clicked
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def start(folder: str) -> tuple[subprocess.Popen, str]:
    """Start the service and wait until it answers; return its process and address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = Settings(data="movies", database=f"{folder}/taste.sqlite", folder=folder)
    environment = {**os.environ, "RANKWISE_WEB": json.dumps(asdict(settings))}
    command = [sys.executable, "-m", "uvicorn", "rankwise.web:create_app", "--factory"]
    command += ["--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen(command, env=environment)  # noqa: S603
    address = f"http://127.0.0.1:{port}/"
    for _ in range(3000):
        try:
            with urllib.request.urlopen(f"{address}readyz", timeout=5):  # noqa: S310
                return process, address
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.2)
    raise RuntimeError("the service did not start")


def draw(address: str) -> None:
    """Rate, learn, and take the picture."""
    found = [os.environ.get("RANKWISE_CHROMIUM"), *map(shutil.which, BROWSERS)]
    path = next(filter(None, found), None)
    if path is None:
        raise SystemExit("there is no Chromium: install it, or name it by RANKWISE_CHROMIUM")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1100})
        page.goto(address)
        page.wait_for_selector(".card")
        for card, part in enumerate(STARS):
            control = page.locator("#cards [role=slider]").nth(card)
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            control.click(position={"x": part * box["width"], "y": box["height"] / 2})
        page.get_by_role("button", name="Learn", exact=True).click()
        page.locator("#unseen-list li").nth(9).wait_for(timeout=60_000)
        page.get_by_role("heading", name="Films for you").scroll_into_view_if_needed()
        page.wait_for_timeout(1_500)  # things move to their places
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        process, address = start(folder)
        try:
            draw(address)
        finally:
            process.terminate()
            process.wait()
    print(PICTURE)
