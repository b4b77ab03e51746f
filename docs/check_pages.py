"""Look at built pages in a browser: ``python docs/check_pages.py FOLDER``.

Every page is opened on a phone and on a wide screen, light and dark. Faults are what runs out of
the page, images that are not there, text that can't be read on its background, errors of scripts,
and requests to another host (check_pages.js). Links inside the site must lead to a page, and to a
place on it, that exists. Without a Chromium, or one that RANKWISE_CHROMIUM names, only the links
are looked at. ``--shots FOLDER`` keeps a picture of each page in each form; ``--only TEXT`` takes
the pages whose name contains it.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urldefrag

SCRIPT = Path(__file__).with_suffix(".js")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = {"phone": 400, "wide": 1300}
THEMES = ("light", "dark")
# parts of the theme that are no pages
LEFT_OUT = re.compile(r"^_static/")

# -- Links ------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Collects where a page leads, and the places on it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the link and the place of an element."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value or "")
            elif tag == "a" and name in {"href", "xlink:href"}:
                self.links.append(value or "")


def names_of(folder: Path) -> list[str]:
    """Return the pages of a site."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return sorted(name for name in found if not LEFT_OUT.match(name))


def broken(folder: Path) -> list[str]:
    """Return a line for each link inside the site that leads nowhere."""
    pages = {}
    for name in names_of(folder):
        pages[name] = Page()
        pages[name].feed((folder / name).read_text(encoding="utf-8"))
    lines = []
    for name, page in pages.items():
        for link in dict.fromkeys(page.links):
            if re.match(r"[a-z]+:|//", link, re.IGNORECASE):
                continue
            address, place = urldefrag(unquote(link))
            path = folder / name if not address else (folder / name).parent / address
            target = os.path.relpath(path.resolve(), folder.resolve()).replace(os.sep, "/")
            if not path.exists():
                lines.append(f"{name}: {link} leads to no page")
            elif target in pages and place not in pages[target].places:
                lines.append(f"{name}: {link} leads to no place on its page")
    return lines


# -- The browser ------------------------------------------------------------------------------


def find_browser() -> str | None:
    """Return the path of a Chromium, if there is one."""
    found = [os.environ.get("RANKWISE_CHROMIUM"), *map(shutil.which, BROWSERS)]
    return next(filter(None, found), None)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without telling of each."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing."""


def look(folder: Path, browser_path: str, names: list[str], shots: Path | None) -> Iterator[str]:
    """Open pages in a browser, and give a line for each fault."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    heard: list[str] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_page()
        page.add_init_script(path=SCRIPT)
        page.on("console", lambda said: said.type == "error" and heard.append(said.text))
        page.on("pageerror", lambda error: heard.append(f"error of a script: {error}"))
        page.on(
            "request",
            lambda asked: (
                asked.url.startswith((url, "data:", "blob:"))
                or heard.append(f"request to {asked.url}")
            ),
        )
        for name in names:
            page.set_viewport_size({"width": WIDTHS["phone"], "height": 800})
            page.goto(url + name, wait_until="load")
            heard += page.evaluate("look.prepare()")
            for form, width in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": 800})
                heard += [f"{form}: {fault}" for fault in page.evaluate("look.outside()")]
                for theme in THEMES:
                    page.evaluate(f"look.turn('{theme}')")
                    heard += [f"{form}, {theme}: {fault}" for fault in page.evaluate("look.pale()")]
                    if shots is not None:
                        path = shots / f"{name.replace('/', '-')}-{form}-{theme}.png"
                        page.screenshot(path=path, full_page=True)
            yield from (f"{name}: {line}" for line in dict.fromkeys(heard))
            heard.clear()
        browser.close()
    server.shutdown()
    server.server_close()


def main() -> int:
    """Check a folder; the exit status is 1 if there are faults."""
    parser = argparse.ArgumentParser(description="Look at built pages in a browser.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", type=Path, help="keep a picture of each page here")
    parser.add_argument("--only", default="", help="only pages whose name contains this")
    given = parser.parse_args()
    if not (given.folder / "index.html").is_file():
        parser.error(f"{given.folder} holds no index.html: build the pages first, make docs")
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    lines = broken(given.folder)
    names = [name for name in names_of(given.folder) if given.only in name]
    path = find_browser()
    if path is None:
        print("there is no Chromium: only the links were looked at", file=sys.stderr)
    else:
        lines += look(given.folder, path, names, given.shots)
    print("\n".join(lines) or f"{len(names)} pages: all links lead somewhere, all can be read")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
