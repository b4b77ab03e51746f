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
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

import rankwise
from rankwise.engine import loops
from rankwise.engine.loops.cache import digest, remove_old, warn_once
from rankwise.engine.loops.compiled import compiled
from rankwise.engine.loops.numba_cache import EngineCache


def dispatchers():
    """Yield all compiled functions of the loops."""
    for module in pkgutil.walk_packages(loops.__path__, f"{loops.__name__}."):
        members = vars(importlib.import_module(module.name))
        yield from (member for member in members.values() if hasattr(member, "targetoptions"))


def test_every_loop_releases_the_gil():
    found = list(dispatchers())
    assert len(found) > 50
    assert all(loop.targetoptions["nogil"] for loop in found)


def with_reordered_sums(module):
    """Yield the functions of a module whose floating-point sums the compiler may reorder."""
    tree = ast.parse(Path(module.__file__).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    reordered = set()
    for function in functions:
        for call in (d for d in function.decorator_list if isinstance(d, ast.Call)):
            options = [k.value for k in call.keywords if k.arg == "fastmath"]
            flags = eval(ast.unparse(options[0]), vars(module)) if options else set()  # noqa: S307
            generic = ast.unparse(call.func).removesuffix(".register")
            if flags is True or "reassoc" in flags or generic in reordered:
                reordered.add(function.name)
    yield from (function for function in functions if function.name in reordered)


def test_loops_with_reordered_sums_write_to_no_array():
    # A loop that writes is compiled twice, one number at a time for arrays that may overlap.
    # Which one runs depends on addresses, and reordered sums differ between the two.
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(loops.__path__, f"{loops.__name__}.")
    ]
    found = [(m.__name__, f) for m in modules for f in with_reordered_sums(m)]
    assert {"total", "_dense_dot", "_squared_spread"} <= {function.name for _, function in found}
    writing = [
        f"{name}.{function.name}"
        for name, function in found
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    assert not writing


def test_no_loop_has_numbas_own_cache():
    assert {type(loop._cache) for loop in dispatchers()} <= {EngineCache, NullCache}


@pytest.fixture
def refused(monkeypatch):
    """Let numba's own cache, which serves functions outside the engine, refuse with a message."""

    def refuse(message):
        def enable_caching(_):
            raise RuntimeError(message)

        monkeypatch.setattr(Dispatcher, "enable_caching", enable_caching)

    return refuse


def test_without_the_cache_of_the_engine_numbas_serves(refused):
    def double(x):
        return 2 * x

    refused("cannot cache function: no locator available for file")
    warn_once.cache_clear()
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        loop = compiled(double)
    assert loop(2) == 4
    refused("something else")
    with pytest.raises(RuntimeError, match="something else"):
        compiled(double)


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


SHARED = (
    "from rankwise.engine.loops.compiled import compiled\n\n\n"
    "@compiled\ndef answer():\n    return {}\n"
)
CALLER = (
    "from rankwise.engine.loops.compiled import compiled\n"
    "from rankwise.engine.loops.shared import answer\n\n\n"
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
ASK = f"{COUNT}\nfrom rankwise.engine.loops.caller import ask; print(ask(), Count.n)"


@pytest.fixture
def package(tmp_path):
    """Copy the package, with a compiled function that calls another in another file."""
    copy_package(tmp_path)
    loops_folder = tmp_path / "rankwise" / "engine" / "loops"
    (loops_folder / "shared.py").write_text(SHARED.format(1))
    (loops_folder / "caller.py").write_text(CALLER)
    return tmp_path


def test_a_change_in_another_file_is_never_missed(package):
    assert run(package, ASK).stdout == "1 2\n"
    assert run(package, ASK).stdout == "1 0\n"
    shared = package / "rankwise" / "engine" / "loops" / "shared.py"
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
        "import tempfile\ndef refuse(**_):\n    raise PermissionError\n"
        "tempfile.TemporaryFile = refuse\n"
    )
    done = run(package, refuse + ASK, "-W", "error")
    assert (done.stdout, done.stderr) == ("1 0\n", "")
    (package / "rankwise" / "engine" / "loops" / "shared.py").write_text(SHARED.format(2))
    done = run(package, refuse + ASK)
    assert done.stdout == "2 2\n"
    assert done.stderr.count("NUMBA_CACHE_DIR") == done.stderr.count("UserWarning") == 1


def test_old_code_can_be_removed(tmp_path):
    names = ["f-1-000000000000.py311.nbi", "f-1-000000000000.py311.1.nbc", "g-7.py311.nbi"]
    kept = ["f-1-" + digest() + ".py311.nbi", "other.txt"]
    for name in names + kept:
        (tmp_path / name).touch()
    assert remove_old(tmp_path) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_without_compilation_numbers_wrap_around_as_well():
    code = (
        "import numpy as np; from rankwise.engine.loops.compiled import compiled\n"
        "@compiled\ndef square(word):\n    return word * word\n"
        "print(square(np.uint64(2**63 + 1)))"
    )
    root = Path(rankwise.__file__).parents[1]
    done = run(root, code, "-W", "error", NUMBA_DISABLE_JIT="1")
    assert (done.stdout, done.stderr) == ("1\n", "")
