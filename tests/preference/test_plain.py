"""The package without compilation: slow, and the same results."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from rankwise.preference import *
h = lambda u, v: float((u * 7 + v * 3) % 5 < 2)
print(quicksort(range(20), h, random_state=0), quicksort(range(9), h, k=3, random_state=1))
print(sort_by_degree(range(9), h), ranking_regret("bac", ["abc", "cab", "bca"]))
print(preference_loss([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [0, 1, 2]))
print(order_loss([3, 0, 1, 2], range(4)))
print(check_weight(lambda i, j: 1.0, 5))
"""


def printed(**variables):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE],
        env={**os.environ, **variables}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_results_are_those_of_compiled_code():
    assert printed(NUMBA_DISABLE_JIT="1") == printed()
