"""Threads that share work, and cost next to nothing while their cores are busy elsewhere."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from threading import Event
from time import perf_counter, thread_time
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from rankwise.engine.loops import meeting

Work = Callable[..., tuple[Any, ...]]

JOBS_CONSTRAINTS: list[Any] = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]

# Runs that a team of no use sits out at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 15, 255
# Seconds that a useful team may lose, and that sleepers have to wake up.
CREDIT, WAKING = 5e-3, 2e-4
LOAD = Path("/proc/loadavg")
# Looks at the board that are timed, to know what one takes.
LOOKS = 5_000


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for, in the main process and in any other.

    As for joblib, None is 1 unless `joblib.parallel_config` says otherwise, -1 all cores, -2 all
    but one. The backend is threads whatever the surrounding one is: some processes can't start
    others, and joblib would warn there that it counts 1.
    """
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))


class Team:
    """Threads that share work: tasks by `run`, and compiled loops in `helping`.

    A task that another thread has begun is not waited for, since that may have been put to sleep,
    but done again; it must give the same result each time. Compiled loops are only shared with
    threads that answer at once, but may be left waiting if one of them is put to sleep.

    Each run tells how much time the others saved, from what one's own share of the work took.
    When they have cost more than they saved, because their cores are busy, they are not asked for
    a while, longer each time; nor are they woken when no core is free, unless they just helped.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None
        self._rest = self._pause = 0
        self._credit = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=False)

    def parts(self, n: int) -> int:
        """Return into how many of n parts to divide what is run next: all, or one."""
        return n if self._pool is not None and self._rest <= 0 else 1

    def _asked(self, asleep: bool = True) -> bool:
        """Return whether to ask the others for help with what comes next."""
        self._rest -= 1
        if self._pool is None or self._rest >= 0:
            return False
        if asleep and self._credit <= 0.0 and no_core_is_free():
            self._rest = FIRST_PAUSE
            return False
        return True

    def _learn(self, saved: float) -> None:
        self._credit += saved
        if self._credit < 0.0:
            self._rest = self._pause = min(4 * self._pause + FIRST_PAUSE, LONGEST_PAUSE)
            self._credit = 0.0
        elif self._credit > CREDIT:
            self._pause, self._credit = 0, CREDIT

    def run(self, task: Callable[[int], Any], n: int) -> list[Any]:
        """Return task(0), ..., task(n - 1)."""
        if not self._asked() or self._pool is None or n == 1:
            return [task(t) for t in range(n)]
        results: dict[int, Any] = {}
        todo = iter(range(n))

        def work() -> int:
            mine = 0
            for t in todo:
                results[t] = task(t)
                mine += 1
            return mine

        start, used = perf_counter(), thread_time()
        for _ in range(self.n_threads - 1):
            self._pool.submit(work)
        mine = work()
        each = (thread_time() - used) / max(mine, 1)
        for t in range(n):
            if t not in results:
                results[t] = task(t)
        self._learn(n * each - (perf_counter() - start))
        return [results[t] for t in range(n)]

    @contextmanager
    def helping(self, work: Work, job: tuple[Any, ...]) -> Iterator[Callable[[], tuple[Any, ...]]]:
        """Yield a function that leads compiled ``work(board, seat, *job)``, as the others help.

        With no seat, -1, the work is led, and returns after all else the size of the team, how
        often the leader looked at it, and how much more work there was than it did. With a seat it
        helps, and returns when it is idle for long.
        """
        board, nobody = meeting.new_board(self.n_threads - 1), meeting.new_board(0)
        bells = [Event() for _ in range(self.n_threads - 1)]
        over, a_look = False, min(_time_looks(board) for _ in range(3))
        seats: list[Future[None]] = []

        def sit(seat: int) -> None:
            while bells[seat].wait() and not over:
                bells[seat].clear()
                work(board, seat, *job)

        def wake(away: list[int]) -> None:
            for seat in away:
                bells[seat].set()
            if self._pool and not seats:
                seats.extend(self._pool.submit(sit, seat) for seat in range(len(bells)))
            meeting.await_all(board, int(WAKING / a_look))

        def lead() -> tuple[Any, ...]:
            start = perf_counter()
            away = [seat for seat in range(len(bells)) if meeting.is_empty(board, seat)]
            asked = self._asked(asleep=bool(away))
            if asked and away:
                wake(away)
            used = thread_time()
            *found, _, looks, more = work(board if asked else nobody, -1, *job)
            if asked:
                mine = thread_time() - used - looks * a_look
                self._learn(more * mine - (perf_counter() - start))
            return tuple(found)

        try:
            yield lead
        finally:
            over = True
            meeting.dismiss(board)
            for bell in bells:
                bell.set()


def _time_looks(board: NDArray[np.int64]) -> float:
    start = perf_counter()
    meeting.await_all(board, LOOKS)
    return (perf_counter() - start) / LOOKS


def no_core_is_free() -> bool:
    """Return whether the system, if it is Linux, has as much to do now as it has cores."""
    try:
        running = LOAD.read_text().split()[3].split("/")[0]
    except OSError:
        return False
    return int(running) >= (os.cpu_count() or 1)
