"""Connections to SQLite or PostgreSQL, migrations, and transactions that write.

A commit waits for the disk, some milliseconds, and SQLite has one writer. So threads queue, and
whoever has the turn runs all that is in the queue in one transaction. Nobody goes on before the
commit: what is answered is kept. A refused write never happens: a thread that waits too long
cancels its write, or waits for the result if the write has begun.
"""

import os
import sqlite3
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError

from rankwise.web._tables import metadata

_MIGRATIONS = Path(__file__).parent / "migrations"
SECONDS = 5
_CONNECTIONS = 16
# The name of a lock of PostgreSQL: one process migrates at a time.
_LOCK = 7_265_170_001


def database_url(database: str | None, home: Path) -> URL:
    """Return the URL of a database: as given, of a file, or of the usual file.

    Raises
    ------
    ValueError
        If it is neither SQLite in a file nor PostgreSQL.
    """
    if database is None:
        return URL.create("sqlite", database=str(home / "taste.sqlite"))
    if "://" not in database:
        return URL.create("sqlite", database=database)
    try:
        url = make_url(database)
    except ArgumentError as error:
        raise ValueError("database must be a URL such as postgresql://user@host/name") from error
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database not in {None, "", ":memory:"}:
        return url
    if kind == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise ValueError(
        f"database has the scheme {url.drivername!r}: give sqlite:///FILE or postgresql://..."
    )


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database, None for PostgreSQL."""
    return Path(str(url.database)).absolute() if url.get_backend_name() == "sqlite" else None


def make_engine(url: URL) -> Engine:
    """Return an engine. What it sends is never shown in an error.

    SQLite has a write-ahead log and syncs at each commit. A file that is gone or was replaced is
    noticed at the next request, and never made anew: what is written to a file without a name would
    be lost.
    """
    path = file_of(url)
    shared: dict[str, Any] = {
        "hide_parameters": True,
        "pool_size": _CONNECTIONS,
        "max_overflow": 0,
        "pool_timeout": SECONDS,
    }
    if path is None:
        options = f"-c statement_timeout={2000 * SECONDS} -c lock_timeout={1000 * SECONDS}"
        given = {"connect_timeout": SECONDS, "options": options}
        return create_engine(url, pool_pre_ping=True, connect_args=given, **shared)
    engine = create_engine(
        "sqlite://", creator=lambda: _connect(path), poolclass=QueuePool, **shared
    )

    @event.listens_for(engine, "connect")
    def remember(_: Any, record: Any) -> None:
        record.info["file"] = identity(path)

    @event.listens_for(engine, "checkout")
    def compare(_: Any, record: Any, __: Any) -> None:
        if record.info["file"] is None or identity(path) != record.info["file"]:
            raise DisconnectionError("the file of the database is gone")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of the same name, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=SECONDS,
        isolation_level=None,  # transactions begin where we say so
        check_same_thread=False,
    )
    try:
        _keep_log(connection)
        for pragma in (
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _keep_log(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log; SQLite does not wait for a lock there, so this does."""
    end = monotonic() + SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            return
        except sqlite3.OperationalError:
            if monotonic() > end:
                raise
            sleep(0.01)


def migrate(engine: Engine, path: Path | None) -> None:
    """Bring the tables to the newest version, in one transaction; make the file if there is none.

    A process that is killed in between leaves the database as it was. Others wait.

    Raises
    ------
    ValueError
        If the database is of a newer version, or has our tables and no version.
    """
    if path is not None and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with engine.execution_options(writes=True).begin() as connection:
        if path is None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        _check(connection, config)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _check(connection: Any, config: Config) -> None:
    """Refuse a database that the migrations can't have left."""
    found = set(inspect(connection).get_table_names())
    if "alembic_version" not in found:
        ours = sorted(found & set(metadata.tables))
        if ours:
            raise ValueError(
                f"the database has a table {ours[0]} and no version: it belongs to another "
                "program, or is broken; restore a backup, or name another database"
            )
        return
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    for (revision,) in connection.execute(text("SELECT version_num FROM alembic_version")):
        if revision not in known:
            raise ValueError(
                f"the database has version {revision!r}, which this version of rankwise does not "
                "know: install a newer one"
            )


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
