"""Transactions that write. Those of SQLite that come at once share a commit.

A commit waits for the disk, some milliseconds, and SQLite has one writer. So threads queue, and
whoever has the turn runs all that is in the queue in one transaction. Nobody goes on before the
commit: what is answered is kept.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DisconnectionError

from rankwise.web._database import SECONDS, identity

T = TypeVar("T")


class UnwrittenError(Exception):
    """One write that is not done; others in the same transaction are."""


class _Task:
    """A write, and what became of it."""

    def __init__(self, write: Callable[[Connection], Any]) -> None:
        self.write, self.result, self.done = write, None, False
        self.error: Exception | None = None


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
        """
        if self._path is None:
            with self._engine.begin() as connection:
                return write(connection)
        task = _Task(write)
        self._queue.append(task)
        if not self._turn.acquire(timeout=SECONDS):
            raise DisconnectionError("other writers take too long")
        try:
            if not task.done:
                self._run_all([self._queue.popleft() for _ in range(len(self._queue))])
        finally:
            self._turn.release()
        if task.error is not None:
            raise task.error
        return task.result  # type: ignore[return-value]

    def _run_all(self, tasks: list[_Task]) -> None:
        """Run tasks in one transaction. What it can't do is the error of all."""
        file = identity(self._path) if self._path else None
        try:
            with self._engine.begin() as connection:
                if len(tasks) == 1:  # what it raises takes back the transaction
                    tasks[0].result = tasks[0].write(connection)
                else:
                    _run_apart(connection, tasks)
            if self._path and identity(self._path) != file:
                raise DisconnectionError("the file of the database went away while it was written")
        except Exception as error:
            for task in tasks:
                task.error = task.error or error
        finally:
            for task in tasks:
                task.done = True


def _run_apart(connection: Connection, tasks: list[_Task]) -> None:
    """Run tasks so that one which refuses leaves the others alone."""
    for task in tasks:
        try:
            with connection.begin_nested():
                task.result = task.write(connection)
        except UnwrittenError as error:
            task.error = error
