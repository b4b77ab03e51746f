"""The types that a user's program sees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise

HERE = Path(__file__).parent
SOURCE = Path(rankwise.__file__).parents[1]


def check(path, tmp_path):
    """Run mypy as a user would, who has installed rankwise: its own files are not reported."""
    settings = tmp_path / "mypy.ini"
    lacking = [
        "joblib",
        "threadpoolctl",
        "llvmlite",
        "numba",
        "sklearn",
        "scipy",
        "pandas",
        "polars",
        "matplotlib",
    ]
    sections = [f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in lacking]
    settings.write_text(f"[mypy]\nmypy_path = {SOURCE}\n" + "\n".join(sections))
    command = ["--strict", "--follow-imports=silent", "--config-file", settings, "--no-incremental"]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, command), str(path)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )


@pytest.mark.slow
def test_a_strict_program_sees_the_types(tmp_path):
    done = check(HERE / "consumer.py", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_packages_that_load_on_demand_are_imported_for_the_types():
    tree = ast.parse((SOURCE / "rankwise" / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = {alias.name for node in imports for alias in node.names} - {"TYPE_CHECKING", "Any"}
    assert named == set(rankwise.__all__), "import each name of __all__ under TYPE_CHECKING"


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "rankwise" / "py.typed").is_file()
