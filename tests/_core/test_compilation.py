"""The loops are compiled with a cache, and without one where nothing can be written."""

import ast
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise
from rankwise._core import compilation


def loop_modules():
    """Yield the modules that hold compiled loops."""
    for module in pkgutil.walk_packages(rankwise.__path__, "rankwise."):
        if "._loops" in module.name:
            yield importlib.import_module(module.name)


def dispatchers():
    """Yield all compiled functions with the modules that hold them."""
    for module in loop_modules():
        for member in vars(module).values():
            if hasattr(member, "targetoptions"):
                yield member


def test_every_loop_releases_the_gil_and_is_kept():
    loops = list(dispatchers())
    assert len(loops) > 50
    assert all(loop.targetoptions["nogil"] for loop in loops)
    for loop in loops:
        package = loop.py_func.__module__.split(".")[1]
        assert compilation.folder_name(package) in loop.stats.cache_path


def test_compiled_functions_are_in_modules_of_loops():
    """The names of the cache folders cover these files only."""
    for path in Path(rankwise.__file__).parent.rglob("*.py"):
        if "@compiled" in path.read_text("utf-8") and path.stem != "compilation":
            assert "_loops" in (path.stem, path.parent.name)


def test_loops_import_loops_of_their_own_package_and_of_the_core():
    """The name of a package's cache folder covers no others."""
    for module in loop_modules():
        package = ".".join(module.__name__.split(".")[:2])
        for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if "rankwise" in name and name != "rankwise._core.compilation":
                    assert name.startswith((f"{package}._loops", "rankwise._core._loops"))


def copy_package(root):
    source = Path(rankwise.__file__).parent
    shutil.copytree(source, root / "rankwise", ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """Copy the package to where no loop can be kept: files stand in the way of the folders."""
    root = tmp_path_factory.mktemp("sealed")
    copy_package(root)
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


PACKAGES = "import rankwise.ordinal, rankwise.pairwise, rankwise.magnitude, rankwise.aggregation"
USE = (
    "import numpy as np; from rankwise._core._loops.rows import rank_of; "
    "print(rank_of(1.0, np.arange(3.0)))"
)


def test_without_a_folder_to_write_to_one_warning_says_what_to_set(sealed):
    done = run(sealed, f"{PACKAGES}; {USE}")
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


SHARED = (
    "from rankwise._core.compilation import compiled\n\n\n@compiled\ndef answer():\n    return {}\n"
)
CALLER = (
    "from rankwise._core.compilation import compiled\n"
    "from rankwise._core._loops.shared import answer\n\n\n"
    "@compiled\ndef ask():\n    return answer()\n"
)
COUNT = """
from numba.core import event
class Count(event.Listener):
    n = 0
    def on_start(self, found):
        Count.n += 1
    def on_end(self, found):
        pass
event.register("numba:compile", Count())
"""
ASK = f"{COUNT}\nfrom rankwise._core._loops.caller import ask; print(ask(), Count.n)"


@pytest.fixture
def package(tmp_path):
    """Copy the package, with a compiled function that calls another in another file."""
    copy_package(tmp_path)
    loops_folder = tmp_path / "rankwise" / "_core" / "_loops"
    (loops_folder / "shared.py").write_text(SHARED.format(1))
    (loops_folder / "caller.py").write_text(CALLER)
    return tmp_path


def test_a_change_in_another_file_is_never_missed(package):
    assert run(package, ASK).stdout == "1 2\n"
    assert run(package, ASK).stdout == "1 0\n"
    shared = package / "rankwise" / "_core" / "_loops" / "shared.py"
    shared.write_text(SHARED.format(2))
    assert run(package, ASK).stdout == "2 2\n"
    # The old sources find their own code again.
    shared.write_text(SHARED.format(1))
    assert run(package, ASK).stdout == "1 0\n"


def test_checked_indices_are_kept_apart(package):
    assert run(package, ASK, NUMBA_BOUNDSCHECK="0").stdout == "1 2\n"
    assert run(package, ASK, NUMBA_BOUNDSCHECK="1").stdout == "1 2\n"


def test_a_read_only_cache_is_read_and_nothing_is_said(package):
    assert run(package, ASK).stdout == "1 2\n"
    refuse = (
        "import tempfile\nbefore = tempfile.TemporaryFile\n"
        "def refuse(dir=None):\n"
        f"    if str(dir).startswith({str(package)!r}):\n        raise PermissionError\n"
        "    return before(dir=dir)\n"
        "tempfile.TemporaryFile = refuse\n"
    )
    done = run(package, refuse + ASK, "-W", "error")
    assert (done.stdout, done.stderr) == ("1 0\n", "")
    (package / "rankwise" / "_core" / "_loops" / "shared.py").write_text(SHARED.format(2))
    done = run(package, refuse + ASK)
    assert done.stdout == "2 2\n"


def test_only_the_packages_that_may_call_a_loop_are_compiled_again(package):
    names = "from rankwise._core.compilation import folder_name; print(folder_name('{}'))"

    def folders():
        packages = ("_core", "magnitude", "")
        return {name: run(package, names.format(name)).stdout for name in packages}

    before = folders()
    with (package / "rankwise" / "pairwise" / "_loops.py").open("a") as file:
        file.write("\n")
    after = folders()
    assert {name for name in before if before[name] != after[name]} == {""}
    (package / "rankwise" / "_core" / "_loops" / "shared.py").write_text(SHARED.format(2))
    assert not set(after.values()) & set(folders().values())


def test_shipped_loops_are_copied_once_and_nothing_half_made_is_left(tmp_path):
    current, shipped = compilation.folder_name("ordinal"), tmp_path / "shipped"
    for name in (current, "ordinal-000000000000"):
        (shipped / name).mkdir(parents=True)
        (shipped / name / "loop.nbc").write_text("shipped")
    home = tmp_path / "home"
    home.mkdir()
    assert compilation._copy(shipped, home) == home
    assert [path.name for path in home.iterdir()] == [current]
    (home / current / "loop.nbc").write_text("newer")
    compilation._copy(shipped, home)
    assert (home / current / "loop.nbc").read_text() == "newer"


def test_old_code_can_be_removed(tmp_path):
    names = [compilation.folder_name(package) for package in ("_core", "model_selection")]
    for name in (*names, "_core-000000000000", "no_package-000000000000"):
        (tmp_path / name).mkdir()
    assert compilation.remove_old(tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_without_compilation_numbers_wrap_around_as_well():
    code = (
        "import numpy as np; from rankwise._core.compilation import compiled\n"
        "@compiled\ndef square(word):\n    return word * word\n"
        "print(square(np.uint64(2**63 + 1)))"
    )
    root = Path(rankwise.__file__).parents[1]
    done = run(root, code, "-W", "error", NUMBA_DISABLE_JIT="1")
    assert (done.stdout, done.stderr) == ("1\n", "")
