"""What visitors submit, in SQLite or PostgreSQL: tables, connections, migrations, changes.

Each change is one transaction that is committed before it is answered. SQLite has one writer, so
its writers queue here. One that waits too long raises before it has written anything: a change that
is refused never happens later.
"""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Semaphore, Timer
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, bindparam
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError
from starlette.exceptions import HTTPException

from rankwise.web._settings import Settings

SECONDS = 5
_CONNECTIONS = 16
_MIGRATIONS = Path(__file__).parent / "migrations"
# The name of a lock of PostgreSQL: one process migrates at a time.
_LOCK = 7_265_170_001
_MONTH = timedelta(days=30)
_log = logging.getLogger("rankwise.web")

metadata = sa.MetaData()

visitors = sa.Table(
    "visitors",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    sa.Column("method", sa.String(16), nullable=False),
    sa.Column("learned", sa.Boolean, nullable=False),
    # rises by one with every change of what the visitor submitted
    sa.Column("version", sa.Integer, nullable=False),
)


def _visitor() -> sa.Column[str]:
    owner = sa.ForeignKey("visitors.id", ondelete="CASCADE")
    return sa.Column("visitor", sa.String(32), owner, primary_key=True)


ratings = sa.Table(
    "ratings",
    metadata,
    _visitor(),
    sa.Column("item", sa.Text, primary_key=True),
    sa.Column("rating", sa.Double, nullable=False),
    # what was predicted before the item was first rated
    sa.Column("predicted", sa.Double, nullable=True),
    # the visitor's version when it was first rated
    sa.Column("round", sa.Integer, nullable=False),
)

comparisons = sa.Table(
    "comparisons",
    metadata,
    _visitor(),
    sa.Column("better", sa.Text, primary_key=True),
    sa.Column("worse", sa.Text, primary_key=True),
    sa.Column("round", sa.Integer, nullable=False),
)

# Statements are built once: building one takes longer than SQLite needs to run it.
_ME, _MY = (
    visitors.c.id == bindparam("who"),
    {table: table.c.visitor == bindparam("who") for table in (ratings, comparisons)},
)
_VISITOR = sa.select(visitors).where(_ME)
_RATINGS = (
    sa.select(ratings.c.item, ratings.c.rating, ratings.c.predicted)
    .where(_MY[ratings])
    .order_by(ratings.c.round)
)
_COMPARISONS = (
    sa.select(comparisons.c.better, comparisons.c.worse)
    .where(_MY[comparisons])
    .order_by(comparisons.c.round)
)
_NEXT = (
    sa.update(visitors)
    .where(_ME)
    .values(version=visitors.c.version + 1)
    .returning(visitors.c.version)
)
_LEARN = _NEXT.values(method=bindparam("chosen"), learned=True)
_COUNT = {
    table: sa.select(sa.func.count(sa.literal(1))).select_from(table).where(mine)
    for table, mine in _MY.items()
}


def _rate(insert_into: Any) -> Any:
    """Return the statement that keeps a rating, in the dialect whose insert is given."""
    new = insert_into(ratings)
    return new.on_conflict_do_update(
        index_elements=[ratings.c.visitor, ratings.c.item], set_={"rating": new.excluded.rating}
    ).returning(ratings.c.predicted, ratings.c.round)


class ForgottenError(HTTPException):
    """The visitor is not in the database: it was forgotten."""

    def __init__(self) -> None:
        super().__init__(401, "you were forgotten: begin again")


@dataclass(frozen=True)
class Visitor:
    """The row of a visitor; version 0 is somebody who has submitted nothing."""

    id: str
    created: datetime | None = None
    method: str = "taste"
    learned: bool = False
    version: int = 0


@dataclass(frozen=True)
class Submitted:
    """All that a visitor has submitted, in the order in which it was submitted first.

    Attributes
    ----------
    visitor : Visitor
        The row of the visitor.
    ratings : dict
        Rating and what was predicted before, by item.
    comparisons : list of (better, worse)
        Pairs of items.
    """

    visitor: Visitor
    ratings: dict[str, tuple[float, float | None]]
    comparisons: list[tuple[str, str]]


class Store:
    """The database.

    Parameters
    ----------
    settings : Settings
        Where it is, and how many rows a visitor may have.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.url = database_url(settings.database, settings.home)
        self.path = file_of(self.url)
        self.engine = make_engine(self.url)
        snapshot = {} if self.path else {"isolation_level": "REPEATABLE READ"}
        self._reads = self.engine.execution_options(**snapshot)
        self._writes = self.engine.execution_options(writes=True)
        self._turns = Semaphore(1 if self.path else _CONNECTIONS)
        self._rate = _rate(sqlite.insert if self.path else postgresql.insert)
        self._unerased = False

    def migrate(self) -> None:
        """Bring the tables to the newest version."""
        migrate(self.engine, self.path)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        if self._unerased and not self.erase():
            _log.warning("deleted rows are still in the write-ahead log: another program reads it")

    def ping(self) -> None:
        """Read something; raise if the database is away."""
        with self._reads.connect() as connection:
            connection.execute(sa.select(visitors.c.version).limit(1)).first()

    # Reading: all statements of a transaction see the same state

    def visitor(self, visitor: str) -> Visitor:
        """Return the row of a visitor."""
        with self._reads.connect() as connection:
            found = connection.execute(_VISITOR, {"who": visitor}).first()
        if found is None:
            raise ForgottenError
        return Visitor(*found)

    def submitted(self, visitor: str) -> Submitted:
        """Return all that a visitor has submitted."""
        with self._reads.connect() as connection:
            row = connection.execute(_VISITOR, {"who": visitor}).first()
            rated = connection.execute(_RATINGS, {"who": visitor}).all()
            compared = connection.execute(_COMPARISONS, {"who": visitor}).all()
        if row is None:
            raise ForgottenError
        found = {item: (rating, predicted) for item, rating, predicted in rated}
        return Submitted(Visitor(*row), found, [(better, worse) for better, worse in compared])

    # Writing

    @contextmanager
    def change(
        self, visitor: str, *, new: bool = False, statement: Any = _NEXT, **values: Any
    ) -> Iterator[tuple[Connection, int]]:
        """Begin a transaction and yield it with the visitor's new version; commit at the end.

        The first statement takes the visitor's row, so that writers of one visitor queue.
        """
        if not self._turns.acquire(timeout=SECONDS):
            raise DisconnectionError("other writers take too long")
        try:
            file = self.path and identity(self.path)
            with self._writes.begin() as connection:
                if new:
                    row = {"id": visitor, "created": datetime.now(UTC), "method": "taste"}
                    connection.execute(sa.insert(visitors), {**row, "learned": False, "version": 0})
                version = connection.execute(statement, {"who": visitor, **values}).scalar()
                if version is None:
                    raise ForgottenError
                yield connection, version
            if self.path and identity(self.path) != file:
                raise DisconnectionError("the file of the database went away while it was written")
        finally:
            self._turns.release()

    def tidy(self) -> None:
        """Remove visitors of earlier versions who came a month ago and have submitted nothing."""
        old = (visitors.c.version == 0) & (visitors.c.created < datetime.now(UTC) - _MONTH)
        with self._writes.begin() as connection:
            connection.execute(sa.delete(visitors).where(old))
        self.erase()

    def rate(
        self,
        visitor: str,
        item: str,
        rating: float,
        predicted: float | None,
        *,
        new: bool = False,
    ) -> tuple[int, float | None]:
        """Keep a rating. Return the new version, and what was predicted before the first rating.

        A new rating of a rated item takes its place; the prediction stays that of before.
        """
        with self.change(visitor, new=new) as (connection, version):
            row = {"visitor": visitor, "item": item, "rating": rating}
            row |= {"predicted": predicted, "round": version}
            kept = connection.execute(self._rate, row).one()
            most, count = self.settings.max_ratings, _COUNT[ratings]
            is_new = kept.round == version
            if is_new and connection.execute(count, {"who": visitor}).scalar_one() > most:
                raise HTTPException(409, f"one visitor may keep at most {most:,} ratings")
        return version, kept.predicted

    def unrate(self, visitor: str, item: str) -> int:
        """Take a rating back. Return the new version."""
        with self.change(visitor) as (connection, version):
            mine = _MY[ratings] & (ratings.c.item == bindparam("what"))
            row = {"who": visitor, "what": item}
            if not connection.execute(sa.delete(ratings).where(mine), row).rowcount:
                raise HTTPException(404, "you have not rated this")
        return version

    def compare(self, visitor: str, better: str, worse: str, *, new: bool = False) -> int:
        """Keep a comparison; the last one of a pair counts. Return the new version."""
        pair = sa.tuple_(comparisons.c.better, comparisons.c.worse)
        same = _MY[comparisons] & pair.in_([(better, worse), (worse, better)])
        with self.change(visitor, new=new) as (connection, version):
            connection.execute(sa.delete(comparisons).where(same), {"who": visitor})
            row = {"visitor": visitor, "better": better, "worse": worse, "round": version}
            connection.execute(sa.insert(comparisons), row)
            most, count = self.settings.max_comparisons, _COUNT[comparisons]
            if connection.execute(count, {"who": visitor}).scalar_one() > most:
                raise HTTPException(409, f"one visitor may keep at most {most:,} comparisons")
        return version

    def learn(self, visitor: str, method: str) -> int:
        """Keep the method that a visitor has learned by. Return the new version."""
        with self.change(visitor, statement=_LEARN, chosen=method) as (_, version):
            return version

    def forget(self, visitor: str) -> bool:
        """Remove all that is stored of a visitor; return whether it is gone from the files, too.

        SQLite overwrites deleted bytes in its file, but its log has them until it is emptied, which
        another program that reads the database can prevent. It is tried again until it succeeds.
        PostgreSQL overwrites them when it vacuums.
        """
        with self.change(visitor) as (connection, _):
            for table, mine in _MY.items():
                connection.execute(sa.delete(table).where(mine), {"who": visitor})
            connection.execute(sa.delete(visitors).where(_ME), {"who": visitor})
        erased = self.erase()
        if self._unerased:
            self._erase_later()
        return erased

    def erase(self) -> bool:
        """Empty the write-ahead log of SQLite, and return whether that was done."""
        if self.path is None:
            return False
        try:
            with closing(_connect(self.path)) as connection:
                connection.execute("PRAGMA busy_timeout=1000")
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error:
            busy = True
        self._unerased = bool(busy)
        return not busy

    def _erase_later(self) -> None:
        timer = Timer(1.0, self._erase_again)
        timer.daemon = True
        timer.start()

    def _erase_again(self) -> None:
        if self._unerased and not self.erase():
            self._erase_later()


# Connections


def database_url(database: str | None, home: Path) -> URL:
    """Return the URL of a database: as given, of a file, or of the usual file.

    Raises
    ------
    ValueError
        If it is neither SQLite in a file nor PostgreSQL.
    """
    if database is None or "://" not in database:
        return URL.create("sqlite", database=database or str(home / "taste.sqlite"))
    try:
        url = make_url(database)
    except ArgumentError as error:
        raise ValueError(
            "database is not a URL: expected one such as postgresql://user@host/name"
        ) from error
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database not in {None, "", ":memory:"}:
        return url
    if kind == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise ValueError(
        f"database has the scheme {url.drivername!r}: expected sqlite:///FILE or postgresql://..."
    )


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database, None for PostgreSQL."""
    return Path(str(url.database)).absolute() if url.get_backend_name() == "sqlite" else None


def make_engine(url: URL) -> Engine:
    """Return an engine. What it sends is never shown in an error.

    SQLite has a write-ahead log and syncs at each commit. A file that is gone or was replaced is
    noticed at the next request, and never made again: what is written to a file without a name
    would be lost.
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
        return sa.create_engine(url, pool_pre_ping=True, connect_args=given, **shared)
    engine = sa.create_engine(
        "sqlite://", creator=lambda: _connect(path), poolclass=sa.QueuePool, **shared
    )

    @sa.event.listens_for(engine, "connect")
    def remember(_: Any, record: Any) -> None:
        record.info["file"] = identity(path)

    @sa.event.listens_for(engine, "checkout")
    def compare(_: Any, record: Any, __: Any) -> None:
        if record.info["file"] is None or identity(path) != record.info["file"]:
            raise DisconnectionError("the file of the database is gone")

    @sa.event.listens_for(engine, "begin")
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
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
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
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        _check(connection, config)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _check(connection: Any, config: Config) -> None:
    """Raise if the migrations can't have left a database so."""
    tables = set(sa.inspect(connection).get_table_names())
    ours = sorted(tables & set(metadata.tables))
    if ours and "alembic_version" not in tables:
        raise ValueError(
            f"the database has a table {ours[0]} and no version: it belongs to another "
            "program, or is broken; restore a backup, or name another database"
        )
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if "alembic_version" in tables:
        for (revision,) in connection.execute(sa.text("SELECT version_num FROM alembic_version")):
            if revision not in known:
                raise ValueError(
                    f"the database has version {revision!r}, which this version of rankwise does "
                    "not know: install a newer one"
                )
