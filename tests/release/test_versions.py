"""One version everywhere, and what is deprecated goes when it was said to."""

import ast
import re
import tomllib
import warnings
from pathlib import Path

import pytest
from packaging.version import Version

import rankwise
from rankwise._core.arguments import warn_deprecated

ROOT = Path(__file__).parents[2]


def calls_of(name):
    """Every call of a function in the source, with its file."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if name not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                yield path, node


def test_one_version_everywhere():
    version = rankwise.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == "Unreleased" or headings[0].split()[0] == version
    for heading in headings[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)", heading)


def test_what_is_deprecated_goes_when_it_was_said_to():
    found = list(calls_of("warn_deprecated"))
    assert found, "the helper is used nowhere"
    for path, call in found:
        words = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        late = Version(words["gone"]) > Version(rankwise.__version__)
        assert late, f"{path}: remove what was to go in {words['gone']}"
        # two minor releases warn before it goes
        since, gone = Version(words["since"]), Version(words["gone"])
        assert gone.major > since.major or gone.minor >= since.minor + 2


def test_the_warning_points_at_the_user():
    with pytest.warns(FutureWarning) as told:
        warn_deprecated("old(x)", "new(x)", since="0.2", gone="0.4")
    assert str(told[0].message) == (
        "old(x) is deprecated since rankwise 0.2 and goes in 0.4: use new(x)"
    )
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warn_deprecated("old(x)", "new(x)", since="0.2", gone="0.4")


def test_versions_of_python_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [
        text.rpartition(" ")[2]
        for text in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", text)
    ]
    assert project["requires-python"] == f">={named[0]}"
    sessions = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert all(f'"{version}"' in sessions for version in named)
