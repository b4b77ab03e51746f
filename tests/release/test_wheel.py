"""The wheel and the sdist: what they hold, and that the wheel runs in an empty environment."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import rankwise

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# what pip says where no index can be reached
OFFLINE = ("No matching distribution", "Could not find a version", "ConnectionError", "timed out")

pytestmark = pytest.mark.slow


def run(*command, **options):
    # nothing of this environment may be seen by the other
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COVERAGE"))}
    return subprocess.run(
        [*map(str, command)], check=False, capture_output=True, text=True, env=env, **options
    )


def installed(*command):
    """Run pip, or a build that runs pip; skip the test where no index can be reached."""
    done = run(*command)
    said = done.stdout + done.stderr
    if done.returncode and any(words in said for words in OFFLINE):
        pytest.skip("no package index can be reached, which a build and an installation need")
    assert done.returncode == 0, said
    return done


def build(folder):
    """Return the wheel, which is built from the sdist, and the sdist."""
    installed(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def make_empty(folder, wheel):
    """Return the folder of programs of an environment that has the wheel and no extra."""
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip_install(programs, wheel)
    return programs


def pip_install(programs, what):
    installed(programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", what)


# One test, since what it builds is dear and workers share nothing.
def test_the_wheel_is_whole_and_runs_in_an_empty_environment(tmp_path):
    wheel, sdist = build(tmp_path / "dist")
    check_contents(wheel, sdist)
    done = run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    assert done.returncode == 0, done.stdout + done.stderr
    empty = make_empty(tmp_path / "venv", wheel)
    check_core(empty, tmp_path)
    check_command(empty, wheel, tmp_path)


def check_contents(wheel, sdist):
    assert wheel.name == f"rankwise-{rankwise.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(sdist) as archive:
        sources = [name.partition("/")[2] for name in archive.getnames()]
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == ours
    assert {f"src/{name}" for name in ours} <= set(sources)
    for name in ("tests/conftest.py", "docs/conf.py", "noxfile.py", "SECURITY.md", "LICENSE"):
        assert name in sources
    assert not [name for name in names + sources if name.endswith((".nbc", ".nbi", ".pyc"))]


def check_core(empty, folder):
    page = ROOT / "docs" / "install.md"
    done = run(empty / "python", HERE / "smoke.py", page, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"rankwise {rankwise.__version__}: " in done.stdout
    assert "6 models learned" in done.stdout


def check_command(empty, wheel, folder):
    """The command says what it lacks, and runs once that is there."""
    done = run(empty / "rankwise", "--version", cwd=folder)
    assert done.returncode == 1
    assert "click is not installed: pip install 'rankwise[cli,plots]'" in done.stderr
    pip_install(empty, f"{wheel}[cli,data]")
    done = run(empty / "python", HERE / "smoke.py", ROOT / "README.md", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(empty / "rankwise", "--version", cwd=folder)
    assert rankwise.__version__ in done.stdout
    votes = folder / "votes.txt"
    votes.write_text("a > b > c\nb > a > c\na > c > b\n")
    done = run(empty / "rankwise", "aggregate", votes, cwd=folder)
    assert done.returncode == 0, done.stderr
