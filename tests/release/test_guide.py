"""Every page of the guide has the same frame: a reader finds the way without reading it all."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "user_guide"
FRAME = [
    "Ten lines",
    "How it works",
    "What it costs",
    "How far to trust it",
    "When to use something else",
]
# What is no method: the contents, a choice between methods, and a collection of short answers.
OTHER = {"index", "which_method", "recipes"}
PAGES = sorted(path for path in GUIDE.glob("*.md") if path.stem not in OTHER)
LONGEST = 320


def frame_of(text):
    """The question, the picture (or transcript) before the first heading, and the headings."""
    bare = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    bare = re.sub(r"^:::\{.*?^:::$", "", bare, flags=re.M | re.S)
    headings = re.findall(r"^## (.*)$", bare, re.M)
    top = text.partition("\n## ")[0].partition("\n")[2]
    shown = re.search(r"^(:::\{figure\} |```(text|sh|console)$)", top, re.M)
    question = bare.partition("\n## ")[0].partition("\n")[2]
    return question, shown, headings


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_the_frame(path):
    text = path.read_text(encoding="utf-8")
    question, shown, headings = frame_of(text)
    assert "?" in question.strip().partition("\n\n")[0], f"{path.name} opens without a question"
    assert shown, f"{path.name} has neither a picture nor a transcript before its first heading"
    assert headings[: len(FRAME)] == FRAME
    assert headings[len(FRAME) :] in ([], ["References"])
    ten = text.split("\n## Ten lines\n")[1].split("\n## ")[0]
    assert ">>> " in ten, f"{path.name} has nothing to run under its first heading"
    assert len(text.splitlines()) <= LONGEST, f"{path.name} is too long: move a part to a page"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_picture_is_made_by_the_gallery_or_kept(path):
    for name in re.findall(r"\{figure\} (\S+)", path.read_text(encoding="utf-8")):
        drawn = re.fullmatch(r"\.\./gallery/images/sphx_glr_(plot_\w+)_\d{3}\.png", name)
        source = ROOT / "examples" / f"{drawn[1]}.py" if drawn else path.parent / name
        assert source.is_file(), f"{path.name} shows {name}, which nothing makes"


def test_the_contents_name_every_page():
    text = (GUIDE / "index.md").read_text(encoding="utf-8")
    listed = text.partition(":hidden:")[2].split()
    for path in GUIDE.glob("*.md"):
        if path.stem != "index":
            assert f"({path.name})" in text
            assert path.stem in listed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("## What it costs\n", "## Prices\n"),
        ("## How it works\n", "## Ten lines\n"),
        (":::{figure} a.png\n:::\n", ""),
    ],
)
def test_a_page_without_the_frame_is_noticed(old, new):
    page = "# A\n\nWhy?\n\n:::{figure} a.png\n:::\n" + "".join(f"\n## {name}\n" for name in FRAME)
    _, shown, headings = frame_of(page)
    assert shown
    assert headings == FRAME
    _, shown, headings = frame_of(page.replace(old, new))
    assert not shown or headings != FRAME
