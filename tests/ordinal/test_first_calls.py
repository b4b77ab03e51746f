"""A first call compiles little: no loop reaches numba's own text and array machinery."""

import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np
from numba.core import event
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff

modules = set()

class Note(event.Listener):
    def on_start(self, found):
        modules.add(found.data["dispatcher"].py_func.__module__)

    def on_end(self, found):
        pass

X = np.random.default_rng(0).normal(size=(60, 4))
y = np.digitize(X @ [1.0, 2.0, -1.0, 0.0], [-1.5, 0.0, 1.5])
event.register("numba:compile", Note())
models = PRank(), PRank(vote="voted"), PRank(kernel="rbf", budget=9), OAPRank(8, random_state=0)
for model in (*models, WidrowHoff(), MulticlassPerceptron()):
    model.fit(X, y).predict(X)
print(*sorted(modules))
"""


@pytest.mark.slow
def test_no_text_is_compiled(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    compiled = done.stdout.split()
    assert "rankwise.ordinal._loops.prank" in compiled
    assert "numba.cpython.unicode" not in compiled
