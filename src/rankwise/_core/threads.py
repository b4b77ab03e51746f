"""A pool of threads for passes of compiled code, which run without the GIL."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs, parallel_config

from rankwise._core.sklearn_private import Interval

JOBS_CONSTRAINTS: list[Any] = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]

# Steps of a pass, such as additions to a histogram, from which threads share it. One core took 0.7
# to 1.1 ms for the passes of RankBoost of that size. To hand eight tasks to two threads and
# wait for them took 0.09 ms, the median of 300 times.
WORTH_SHARING = 1_000_000
# Ranges that a thread gets of a pass: enough to even out if one thread is slower.
RANGES_PER_THREAD = 4


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for, in the main process and in any other.

    As for joblib, None is 1 unless `joblib.parallel_config` says otherwise, -1 all cores, -2 all
    but one. The backend is threads whatever the surrounding one is: some processes can't start
    others, and joblib would warn there that it counts 1.
    """
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))


class Pool:
    """Threads that share the passes of one fit. Use it as ``with Pool(n_jobs) as pool:``.

    A pass is cut into tasks: functions that call compiled code and write to places of their own, so
    the result does not depend on which thread takes which task. A pass that is too short to pay for
    the threads is run by the caller alone; with one thread all are.

    If a task raises, tasks that have not begun are left out, and the exception is raised in the
    caller. So is KeyboardInterrupt. Leaving the ``with`` block waits for tasks that are running,
    and ends the threads. Between passes they sleep.

    Parameters
    ----------
    n_jobs : int or None
        The number of threads, as `count_threads` reads it.

    Attributes
    ----------
    n_threads : int
        The number of threads.

    Examples
    --------
    >>> with Pool(2) as pool:
    ...     pool.run(lambda t: t * t, 4, work=10**9)
    ...     pool.run_ranges(lambda first, last: last - first, 100, work=50)
    [0, 1, 4, 9]
    [100]
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_threads = count_threads(n_jobs)
        self._executor = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def run(self, task: Callable[[int], Any], n: int, *, work: float) -> list[Any]:
        """Return task(0), ..., task(n - 1).

        Parameters
        ----------
        task : callable
            Takes the number of a task.
        n : int
            The number of tasks.
        work : float
            About how many steps all tasks take together: additions to a histogram, values read.
        """
        if self._executor is None or n == 1 or work < WORTH_SHARING:
            return [task(t) for t in range(n)]
        todo, results = deque(range(n)), [None] * n

        def work_off() -> None:
            try:
                while (t := _take(todo)) is not None:
                    results[t] = task(t)
            except BaseException:
                todo.clear()
                raise

        # Few submissions: an interrupt in one may leave a lock of the executor taken.
        try:
            futures = [self._executor.submit(work_off) for _ in range(self.n_threads)]
            wait(futures)
        finally:
            todo.clear()
        for future in futures:
            future.result()  # raises what a task has raised
        return results

    def run_ranges(self, task: Callable[[int, int], Any], n: int, *, work: float) -> list[Any]:
        """Return task(first, last) for consecutive ranges that cover 0 to n; one if run alone.

        Parameters
        ----------
        task : callable
            Takes the first member of a range and the one after its last.
        n : int
            The number of members: rows, features or parts.
        work : float
            About how many steps all of it takes, as for `run`.
        """
        if self._executor is None or work < WORTH_SHARING:
            return [task(0, n)]
        n_ranges = min(n, RANGES_PER_THREAD * self.n_threads)
        ranges = list(pairwise(np.linspace(0, n, n_ranges + 1).astype(int).tolist()))
        return self.run(lambda t: task(*ranges[t]), n_ranges, work=work)


def _take(todo: deque[int]) -> int | None:
    """Return the next task; None if another thread took the last one."""
    try:
        return todo.popleft()
    except IndexError:
        return None
