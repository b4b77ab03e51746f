"""The loops are compiled with a cache, and without one where nothing can be written."""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise
from rankwise.engine import loops
from rankwise.engine.loops.compiled import compiled


def dispatchers():
    """Yield all compiled functions of the loops."""
    for module in pkgutil.walk_packages(loops.__path__, f"{loops.__name__}."):
        members = vars(importlib.import_module(module.name))
        yield from (member for member in members.values() if hasattr(member, "targetoptions"))


def test_every_loop_releases_the_gil():
    found = list(dispatchers())
    assert len(found) > 50
    assert all(loop.targetoptions["nogil"] for loop in found)


def test_other_failures_are_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("something else")

    monkeypatch.setattr("rankwise.engine.loops.compiled.njit", broken)
    with pytest.raises(RuntimeError, match="something else"):
        compiled(abs)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """Copy the package to where no loop can be kept: files stand in the way of the folders."""
    root = tmp_path_factory.mktemp("sealed")
    source = Path(rankwise.__file__).parent
    shutil.copytree(source, root / "rankwise", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [root / "rankwise", *(root / "rankwise").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()
    return root


def run(root, code, *options, **variables):
    hidden = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    nowhere = str(root / "rankwise" / "__init__.py" / "nowhere")
    environment |= {"PYTHONPATH": str(root), "HOME": nowhere, "USERPROFILE": nowhere} | variables
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


ROOMS = "import rankwise.ordinal, rankwise.pairwise, rankwise.magnitude, rankwise.aggregation"
USE = (
    "import numpy as np; from rankwise.engine.loops.rows import rank_of; "
    "print(rank_of(1.0, np.arange(3.0)))"
)


def test_without_a_folder_to_write_to_one_warning_says_what_to_set(sealed):
    done = run(sealed, f"{ROOMS}; {USE}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n"
    assert done.stderr.count("NUMBA_CACHE_DIR") == done.stderr.count("UserWarning") == 1


def test_with_the_folder_named_nothing_is_said(sealed, tmp_path):
    done = run(sealed, USE, "-W", "error", NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")
    assert list(tmp_path.rglob("*.nbi"))


def test_worker_processes_say_nothing(sealed):
    code = (
        "import multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        pool.apply(exec, ('import rankwise.ordinal',))\n"
    )
    done = run(sealed, code, "-W", "error")
    assert (done.returncode, done.stderr) == (0, "")
