"""Each extra alone brings all that its modules import, and the core needs none of them.

No environment is made: a subprocess refuses to import what neither the core nor the extra would
have installed, dependencies of dependencies included.
"""

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rankwise.cli._doctor import _EXTRAS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

# What a module needs beside the core. All other modules must import without any extra.
NEEDS = {
    "rankwise.cli.": {"cli"},
    "rankwise.web.": {"web"},
    "rankwise.reports.terminal": {"cli"},
    "rankwise.testing.strategies": {"test"},
}

IMPORT_ALL = """
import importlib, json, pkgutil, sys

blocked = set(json.loads(sys.argv[1]))

class Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in blocked:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)

sys.meta_path.insert(0, Blocker())
import rankwise

failed, seen = {}, 0

def look(package):
    global seen
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if found.name.endswith("__main__"):
            continue
        seen += 1
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            failed[found.name] = error.name
            if found.ispkg:
                failed[found.name + ".*"] = error.name
        else:
            if found.ispkg:
                look(module)

look(rankwise)
print(json.dumps([failed, seen]))
"""


def closure(requirements, found=None):
    """Names of all distributions that installing the requirements brings."""
    found = set() if found is None else found
    for text in requirements:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if name == "rankwise":
            for extra in requirement.extras:
                closure(EXTRAS[extra], found)
            continue
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        key = (name, tuple(sorted(requirement.extras)))
        if key in found:
            continue
        found.add(key)
        try:
            theirs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            pytest.skip(f"{name} is not installed: run in an environment with the extra test")
        for line in theirs:
            marker = Requirement(line).marker
            extras = requirement.extras or {""}
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                closure([str(_plain(line))], found)
    return found


def _plain(line):
    """A requirement whose marker has been looked at."""
    requirement = Requirement(line)
    requirement.marker = None
    return requirement


def blocked_by(extra):
    """Top-level modules that are here, and would not be with the core and this extra alone."""
    wanted = PROJECT["dependencies"] + (EXTRAS[extra] if extra else [])
    there = {name for name, _ in closure(wanted)} | {"rankwise"}
    return sorted(
        module
        for module, owners in metadata.packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & there
    )


@pytest.mark.slow
@pytest.mark.parametrize("extra", [None, "cli", "plots", "data", "web", "dask", "all"])
def test_nothing_imports_what_its_extra_does_not_bring(extra):
    blocked = blocked_by(extra)
    assert "pytest" in blocked
    assert ("click" in blocked) == (extra not in {"cli", "web", "dask", "all"})
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, json.dumps(blocked)],
        check=True,
        capture_output=True,
        text=True,
    )
    failed, seen = json.loads(done.stdout)
    assert seen > 100
    given = {"cli", "plots", "data", "web", "dask"} if extra == "all" else {extra}
    wrong = {
        module: name
        for module, name in failed.items()
        if not any(module.startswith(prefix) and needs - given for prefix, needs in NEEDS.items())
    }
    assert not wrong, f"these modules need more than rankwise[{extra or ''}] brings: {wrong}"


def test_the_doctor_knows_every_extra():
    for extra in ("cli", "plots", "data", "web", "dask"):
        # uvloop is left out on Windows
        wanted = [Requirement(text) for text in EXTRAS[extra] if ";" not in text]
        modules = {requirement.name.replace("-", "_") for requirement in wanted}
        assert modules <= set(_EXTRAS.get(extra, ())), f"_EXTRAS of cli/_doctor.py lacks {extra}"


def test_every_extra_of_the_install_page_is_there():
    page = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
    for extra, requirements in EXTRAS.items():
        assert f"`{extra}`" in page
        if extra in {"cli", "plots", "data", "web", "dask"}:
            row = next(line for line in page.splitlines() if line.startswith(f"| `{extra}`"))
            for requirement in requirements:
                assert Requirement(requirement).name in row
