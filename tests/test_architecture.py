"""The picture of the packages in the documentation is that of the code."""

import ast
import re
from pathlib import Path

import rankwise

PACKAGE = Path(rankwise.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
# The score of a ranker is a metric, which is imported when it is called.
UPWARDS = {("_core", "metrics")}


def imported(path):
    """Return the names of ours that a source file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rankwise":
            yield from (f"{node.module}.{name.name}".split(".") for name in node.names)
        elif isinstance(node, ast.Import):
            names = (name.name.split(".") for name in node.names)
            yield from (name for name in names if name[0] == "rankwise" and len(name) > 1)


def sources():
    """Return each source file with its package."""
    for path in PACKAGE.rglob("*.py"):
        package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if package != "__init__":
            yield package, path


def imports():
    """Return which packages each package imports."""
    found = {}
    for package, path in sources():
        others = {name[1] for name in imported(path) if name[1][:2] != "__"}
        found.setdefault(package, set()).update(others - {package})
    return found


def reaches_into(package, name):
    """Whether a name is in a private module of another package."""
    private = any(part.startswith("_") and part[:2] != "__" for part in name[2:])
    return private and name[1] not in {package, "_core"} and package != "testing"


def test_the_table_of_packages_is_true():
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    stated = {package: set(re.findall(r"`(\w+)`", others)) for package, others in rows}
    assert stated == imports()


def test_packages_stand_below_those_that_import_them():
    order = re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    position = {package: n for n, package in enumerate(order)}
    pairs = {(package, other) for package, others in imports().items() for other in others}
    assert not [(a, b) for a, b in pairs - UPWARDS if position[a] >= position[b]]


def test_no_package_imports_a_private_module_of_another():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {'.'.join(name)}"
        for package, path in sources()
        for name in imported(path)
        if reaches_into(package, name)
    ]
    assert not wrong


def test_an_import_of_a_private_module_is_noticed(tmp_path):
    path = tmp_path / "new.py"
    path.write_text(
        "from rankwise.ordinal._prank import PRank\nimport rankwise.ordinal._oap\n"
        "from rankwise.ordinal import _loops, PRank\nfrom rankwise._core.pairs import Pairs\n"
    )
    seen = [reaches_into("pairwise", name) for name in imported(path)]
    assert seen == [True, True, True, False, False]
    assert not any(reaches_into("ordinal", name) for name in imported(path))
