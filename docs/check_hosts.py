"""Check that built pages load nothing from another host: ``python docs/check_hosts.py FOLDER``.

Links that a reader may follow are fine. Scripts, styles, fonts, images and frames are not, neither
in the pages nor in their style sheets.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

# what a browser loads by itself: the attribute of each element
LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "video": ("src", "poster"),
}
# links of these kinds tell something and load nothing
TOLD = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
FOREIGN = re.compile(r"(?:^|[\s,])(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s;]+)""", re.IGNORECASE)


class Page(HTMLParser):
    """Collects what a page loads from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at what an element loads."""
        given = {name: value or "" for name, value in attrs}
        self.inside = tag
        self.found += IN_STYLES.findall(given.get("style", ""))
        if tag == "link" and set(given.get("rel", "").lower().split()) & TOLD:
            return
        names = LOADED.get(tag, ())
        self.found += [given[name] for name in names if FOREIGN.search(given.get(name, ""))]

    def handle_data(self, data: str) -> None:
        """Look at the styles that a page carries."""
        if self.inside == "style":
            self.found += IN_STYLES.findall(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        if tag == self.inside:
            self.inside = ""


def foreign(folder: Path) -> list[str]:
    """Return a line for each thing that a page or style sheet loads from another host."""
    lines = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".html":
            page = Page()
            page.feed(path.read_text(encoding="utf-8"))
            found = page.found
        elif path.suffix == ".css":
            found = IN_STYLES.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        lines += [f"{path.relative_to(folder)}: {name}" for name in found]
    return lines


def main(arguments: list[str]) -> int:
    """Check a folder; the exit status is 1 if something is loaded from another host."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "index.html").is_file():
        print("usage: python docs/check_hosts.py FOLDER_OF_PAGES", file=sys.stderr)
        return 2
    lines = foreign(Path(arguments[0]))
    print("\n".join(lines) or "nothing is loaded from another host")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
