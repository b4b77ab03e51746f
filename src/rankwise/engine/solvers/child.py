"""Calls that can be ended: of compiled solvers that see neither a deadline nor Ctrl-C in time."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.spawn import get_executable
from time import monotonic
from typing import Any

import numpy as np

# Seconds, 11 days: operating systems can't wait much longer.
_LONGEST = 1e6
# What solvers print must not go where the result goes.
_PROGRAM = """
import os, pickle, sys
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.path[:] = pickle.load(sys.stdin.buffer)
function = pickle.load(sys.stdin.buffer)
pickle.dump(function(), answer)
"""


class ChildError(RuntimeError):
    """The call has not come to its end: it has failed, or memory was short."""


def call(function: Callable[[], Any], deadline: float = np.inf) -> Any:
    """Return what a function returns in a Python process of its own.

    The process takes about half a second to start. It is killed at the deadline and on Ctrl-C, and
    with it goes the memory that it held.

    Parameters
    ----------
    function : callable
        Without arguments; it and its result are pickled.
    deadline : float, default=inf
        The value of ``time.monotonic()`` at which to give up.

    Raises
    ------
    TimeoutError
        At the deadline.
    ChildError
        If the process ends without a result.
    OSError
        If there can be no such process.
    """
    if getattr(sys, "frozen", False) or not get_executable():
        raise OSError("this program has no Python interpreter to start")
    left = max(deadline - monotonic(), 0.0)
    try:
        # The call is ours, and so is the answer: nothing from outside is unpickled.
        done = subprocess.run(  # noqa: S603
            [get_executable(), "-c", _PROGRAM],
            input=pickle.dumps(sys.path) + pickle.dumps(function),
            capture_output=True,
            timeout=left if left < _LONGEST else None,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise ChildError(f"it ended with {done.returncode}: {lines[-1]}")
    return pickle.loads(done.stdout)  # noqa: S301
