"""Calls in a child process that can be ended: for solvers that ignore deadlines and Ctrl-C."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.spawn import get_executable
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic
from typing import Any, Self

import numpy as np

# Seconds, 11 days: operating systems can't wait much longer.
_LONGEST = 1e6
# What solvers print must not go where the result goes.
_PROGRAM = """
import os, pickle, sys
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.path[:] = pickle.load(sys.stdin.buffer)
while sys.stdin.buffer.peek(1):
    pickle.dump(pickle.load(sys.stdin.buffer)(), answer)
    answer.flush()
"""


class ChildError(RuntimeError):
    """The call has not come to its end: it has failed, or memory was short."""


def call(function: Callable[[], Any], deadline: float = np.inf) -> Any:
    """Return what a function returns in a separate Python process.

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
    with Child() as child:
        return child.call(function, deadline)


class Child:
    """A Python process that makes calls one after the other; it is started when it is needed.

    Starting takes about half a second, and what a call has imported stays for the next one. Used
    in a ``with`` block, at whose end the process is ended.

    Examples
    --------
    >>> from functools import partial
    >>> from rankwise._core.child_process import Child
    >>> with Child() as child:
    ...     child.call(partial(pow, 2, 5)), child.call(partial(pow, 3, 2))
    (32, 9)
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._said: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def call(self, function: Callable[[], Any], deadline: float = np.inf) -> Any:
        """Return what a function returns there; as `call` of this module."""
        process = self._process or self._start()
        task = pickle.dumps(function)
        answer: list[Any] = []

        def wait() -> None:
            # The call is ours, and so is the answer: nothing from outside is unpickled.
            with suppress(EOFError, OSError, pickle.UnpicklingError):
                process.stdin.write(task)  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                answer.append(pickle.load(process.stdout))  # type: ignore[arg-type]  # noqa: S301

        waiting = Thread(target=wait, daemon=True)
        waiting.start()
        late = True
        try:
            left = max(deadline - monotonic(), 0.0)
            waiting.join(left if left < _LONGEST else None)
            late = waiting.is_alive()
        finally:
            if late:
                process.kill()
                waiting.join()
                self.end()
        if late:
            raise TimeoutError
        if not answer:
            raise ChildError(self.end())
        return answer[0]

    def end(self) -> str:
        """End the process, which is at nothing or killed, and return how it went."""
        process, self._process = self._process, None
        if process is None:
            return ""
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        code = process.wait()
        process.stdout.close()  # type: ignore[union-attr]
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines() or ["no message"]
        self._said.close()
        return f"it ended with {code}: {lines[-1]}"

    def _start(self) -> "subprocess.Popen[bytes]":
        if getattr(sys, "frozen", False) or not get_executable():
            raise OSError("this program has no Python interpreter to start")
        self._said = TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(  # noqa: S603
            [get_executable(), "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )
        self._process.stdin.write(pickle.dumps(sys.path))  # type: ignore[union-attr]
        return self._process
