"""Other versions of Python and of the dependencies: ``nox -s oldest newest``, ``nox --list``.

Each session builds the wheel, installs it into an environment of its own, and runs the examples of
the README and of the start page, and a model of each kind (tests/release/smoke.py).
``nox -s tests-3.12`` runs all but the slow tests there, which takes as long as ``make test``.
"""

import shutil
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["oldest", "newest"]
nox.options.error_on_missing_interpreters = False

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = ("README.md", "docs/install.md", "docs/start.md")
EXTRAS = ("cli", "data")  # what the command and the start page need


def wheel(session: nox.Session) -> str:
    """Build the wheel and return its path."""
    folder = Path(session.create_tmp()) / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT), silent=True)
    return str(next(folder.glob("*.whl")))


def smoke(session: nox.Session) -> None:
    """Run the examples of the pages and a model of each kind."""
    session.run("python", "-m", "pip", "list")
    session.run("python", "tests/release/smoke.py", *PAGES)
    session.run("rankwise", "doctor")


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """The oldest Python with exactly the least versions that pyproject.toml allows."""
    requirements = list(PROJECT["dependencies"])
    for extra in EXTRAS:
        requirements += PROJECT["optional-dependencies"][extra]
    exactly = [requirement.replace(">=", "==") + ".*" for requirement in requirements]
    session.install(f"{wheel(session)}[{','.join(EXTRAS)}]", *exactly)
    smoke(session)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def newest(session: nox.Session) -> None:
    """Each Python with the newest versions."""
    wanted = f"{wheel(session)}[{','.join(EXTRAS)}]"
    session.install("--upgrade", "--upgrade-strategy", "eager", wanted)
    smoke(session)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """All but the slow tests, on each Python."""
    session.install("--upgrade", "pip>=25.1")
    session.install("--editable", ".[all]", "--group", "dev")
    session.run(
        "python",
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-m",
        "not slow",
        *session.posargs,
    )
