"""Connections to SQLite or PostgreSQL, and the migrations of their tables."""

import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, QueuePool, create_engine, event, inspect, text
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
