"""Transactions that write. Those of SQLite that come at once share a commit.

A commit waits for the disk, some milliseconds, and SQLite has one writer. So threads queue, and
whoever has the turn runs all that is in the queue in one transaction. Nobody goes on before the
commit: what is answered is kept. A refused write never happens: a thread that waits too long
cancels its write, or waits for the result if the write has begun.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DisconnectionError

from rankwise.web._database import SECONDS, identity

T = TypeVar("T")


class UnwrittenError(Exception):
    """One write that is not done; others in the same transaction are."""


class _Task(NamedTuple):
    """A write, and the future of its result, which whoever gives up waiting cancels."""

    write: Callable[[Connection], Any]
    future: Future[Any]


class Writer:
    """Runs functions in transactions.

    Parameters
    ----------
    engine : Engine
        The database.
    path : Path or None
        Its file, if it is SQLite.
    """

    def __init__(self, engine: Engine, path: Path | None) -> None:
        self._engine, self._path = engine.execution_options(writes=True), path
        self._queue: deque[_Task] = deque()
        self._turn = Lock()

    def run(self, write: Callable[[Connection], T]) -> T:
        """Run a function with a connection, commit, and return what it returned.

        Raises
        ------
        UnwrittenError
            As the function raised it; nothing that it wrote is kept.
        DisconnectionError
            If other writers take too long; the function is not called.
        """
        if self._path is None:
            with self._engine.begin() as connection:
                return write(connection)
        task = _Task(write, Future())
        self._queue.append(task)
        if self._turn.acquire(timeout=SECONDS):
            try:
                if not task.future.done():
                    self._run_all()
            finally:
                self._turn.release()
        elif task.future.cancel():  # it had not begun, and never will
            raise DisconnectionError("other writers take too long")
        return task.future.result()

    def _run_all(self) -> None:
        """Run all tasks of the queue in one transaction. Its failure is the error of all."""
        queued = [self._queue.popleft() for _ in range(len(self._queue))]
        tasks = [task for task in queued if task.future.set_running_or_notify_cancel()]
        file = identity(self._path) if self._path else None
        results: list[Any]
        try:
            with self._engine.begin() as connection:
                if len(tasks) == 1:  # an error rolls the transaction back
                    results = [tasks[0].write(connection)]
                else:
                    results = [_run_apart(connection, task.write) for task in tasks]
            if self._path and identity(self._path) != file:
                raise DisconnectionError("the file of the database went away while it was written")
        except BaseException as error:
            results = [error] * len(tasks)
        for task, result in zip(tasks, results, strict=True):
            if isinstance(result, BaseException):
                task.future.set_exception(result)
            else:
                task.future.set_result(result)


def _run_apart(connection: Connection, write: Callable[[Connection], Any]) -> Any:
    """Return the result of a write, or its UnwrittenError, which leaves other writes alone."""
    try:
        with connection.begin_nested():
            return write(connection)
    except UnwrittenError as error:
        return error
