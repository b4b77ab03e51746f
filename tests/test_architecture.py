"""The picture of the rooms in the documentation is that of the code."""

import ast
import re
from pathlib import Path

import rankwise

PACKAGE = Path(rankwise.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def imported(path):
    """Return the rooms that a source file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "rankwise":
            yield from (name.name for name in node.names if name.name[:2] != "__")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankwise."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (n.name.split(".")[1] for n in node.names if n.name.startswith("rankwise."))


def imports():
    """Return which rooms each room imports."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room != "__init__":
            found.setdefault(room, set()).update(set(imported(path)) - {room})
    return found


def test_the_table_of_rooms_is_true():
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    stated = {room: set(re.findall(r"`(\w+)`", others)) for room, others in rows}
    assert stated == imports()


def test_rooms_stand_below_those_that_import_them():
    order = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    place = {room: n for n, room in enumerate(order)}
    assert all(place[room] < place[other] for room, those in imports().items() for other in those)
