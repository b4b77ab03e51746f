"""Import stays light, packages load on demand, streams stay out of memory."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import rankwise
from rankwise.ordinal import PRank


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_import_is_light():
    heavy = "numpy sklearn numba matplotlib click rich"
    code = f"import sys, rankwise; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_importing_a_package_compiles_nothing_and_draws_nothing():
    code = (
        "import sys; from rankwise.ordinal import PRank; "
        "from rankwise.ordinal._loops.prank import prank; "
        "print(prank.signatures, 'matplotlib' in sys.modules)"
    )
    assert run(code).strip() == "[] False"


def test_packages_load_on_demand():
    assert rankwise.ordinal.PRank is PRank
    assert "ordinal" in dir(rankwise)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rankwise.nonsense


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_memory_mapped_stream_is_not_copied(tmp_path, learn):
    path = tmp_path / "stream.dat"
    X = np.memmap(path, dtype=np.float64, mode="w+", shape=(20_000, 100))
    X[:] = np.random.default_rng(0).normal(size=X.shape)
    X.flush()
    y = np.arange(len(X)) % 5
    model = PRank(label_order=range(5)).fit(X[:10], y[:10])
    stream = np.memmap(path, dtype=np.float64, mode="r", shape=X.shape)
    tracemalloc.start()
    getattr(model, learn)(stream, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < stream.nbytes / 10
