"""Workflows can't run here; what they name must be there."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps_of(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_names_is_there(path):
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "untested" in text.splitlines()[0]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    sessions = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    for step in steps_of(path):
        assert ("run" in step) != ("uses" in step)
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= set(targets)
        for names in re.findall(r"nox -s (.*)", command):
            assert all(f"def {name}(" in sessions for name in names.split())
        for name in re.findall(r"\b(?:tests|docs)/[\w/.]+|README\.md", command):
            assert (ROOT / name).exists()


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} >= {"test", "release"}
