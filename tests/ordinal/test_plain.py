"""With NUMBA_DISABLE_JIT=1, which is how people debug, the loops run as plain Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from rankwise.ordinal._loops.prank import UPDATES
from rankwise.papers import multiclass_perceptron, oap_bpm, prank, widrow_hoff

MODELS = [
    prank(),
    prank(vote="voted", max_voters=4),
    *(prank(update=update, vote="averaged") for update in UPDATES),
    prank(kernel="rbf"),
    prank(kernel="rbf", budget=10),
    prank(kernel="poly"),
    prank(kernel="precomputed"),
    oap_bpm(10, random_state=0),
    oap_bpm(10, kernel="rbf", combine="voted", random_state=0),
    widrow_hoff(0.1),
    multiclass_perceptron(),
]


def guesses():
    """Return what each model predicts, before and after learning, from dense and CSR rows."""
    # Real numbers: a sum in another order differs in its last bits, which decide ties only.
    X = np.random.default_rng(0).normal(size=(40, 4))
    y = np.digitize(X @ [1.0, 2.0, -1.0, 0.0], [-1.5, 0.0, 1.5])
    found = {}
    for model in MODELS:
        rows = X @ X.T if model.kernel == "precomputed" else X
        for container in (np.asarray, sparse.csr_array):
            given = container(rows)
            on_the_way = model.fit(given, y).partial_fit_predict(given, y)
            name = f"{model} {container.__name__}"
            found[name] = [on_the_way.tolist(), model.predict(given).tolist()]
    return found


@pytest.mark.filterwarnings("ignore:rows of X have a typical length")
def test_plain_python_gives_the_same_ranks():
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == guesses()


if __name__ == "__main__":
    print(json.dumps(guesses()))
