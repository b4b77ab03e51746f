"""The package without compilation: slow, and the same results."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from rankwise.aggregation import *
votes = [[2, 0, (1, 3)], [3, 1, 0, 2], [1, 2, 3, 0], [0, 3, 2]]
circles = [np.random.default_rng(seed).permutation(12).tolist() for seed in range(3)]
print(borda(votes), copeland(votes), footrule(votes), markov_chain(votes))
print(kemeny(votes), kemeny(circles), kwiksort(circles, random_state=0), concordance(circles))
print(kendall_distance([2, 0, 1, 3], [3, 1, 0, 2]), kendall_distance(*circles[:2]))
"""


def printed(**variables):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE],
        env={**os.environ, **variables}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_results_are_those_of_compiled_code():
    assert printed(NUMBA_DISABLE_JIT="1") == printed()
