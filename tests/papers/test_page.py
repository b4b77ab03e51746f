"""The page "From the papers to the code": its calls run, its tests exist, its links lead on."""

import ast
import re
from pathlib import Path

import pytest

import rankwise
from experiments import EXPERIMENTS
from rankwise.cli._commands import rankwise as commands

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "papers.md"
# How many items the audit of the five documents found in each.
ITEMS = {1: 18, 2: 23, 3: 19, 4: 44, 5: 39}


def rows():
    """Yield the document and the cells of each row."""
    for part in re.split(r"^\(document-", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        for line in part.splitlines():
            if line.startswith("| ") and not line.startswith("| item"):
                yield int(part[0]), re.split(r" (?<!\\)\| ", line.strip("| ") + " ")


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


CALLS = sorted({call for _, cells in rows() for call in code(cells[2])})
PROOFS = sorted({name for _, cells in rows() for name in code(cells[3])})


def test_every_item_has_a_call_and_a_test():
    found = [document for document, _ in rows()]
    assert {n: found.count(n) for n in ITEMS} == ITEMS
    for _, cells in rows():
        assert len(cells) == 5, cells
        assert all(code(cell) or "](" in cell for cell in cells[2:4]), cells


@pytest.mark.parametrize("call", CALLS)
def test_the_call_runs(call):
    if call.startswith("python -m experiments "):
        assert call.split()[3] in EXPERIMENTS
    elif call.startswith("rankwise "):
        assert call.split()[1] in commands.list_commands(None)
    elif re.fullmatch(r"\w+\.[A-Z]\w+\.\w+_", call):
        package, estimator, _ = call.split(".")
        assert call.split(".")[2] in getattr(getattr(rankwise, package), estimator).__doc__
    else:
        names = {name: getattr(rankwise, name) for name in rankwise.__all__}
        assert eval(call, names) is not None  # noqa: S307


@pytest.mark.parametrize("name", PROOFS)
def test_the_test_exists(name):
    path, function = name.split("::")
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert function in found


def links(page):
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    figures = re.findall(r"^```\{figure\} (\S+)", page.read_text("utf-8"), re.MULTILINE)
    return [link for link in found if "://" not in link] + figures


def anchors(page):
    text = page.read_text("utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


PAGES = [PAGE, DOCS / "experiments.md", *sorted((DOCS / "experiments").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_on(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        if path.startswith("gallery/"):
            assert (DOCS.parent / "examples" / f"{Path(path).stem}.py").exists(), link
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_figures_are_small():
    figures = list((DOCS / "_static" / "papers").glob("*.svg"))
    assert len(figures) > 5
    assert max(path.stat().st_size for path in figures) < 60_000
