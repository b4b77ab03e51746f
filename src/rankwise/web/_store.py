"""Storage of what visitors submit, in SQLite or PostgreSQL: tables, migrations, changes.

Each change is one transaction that is committed before it is answered. SQLite has one writer, so
its writers queue for a pool of one connection. One that waits too long raises before it has written
anything: a change that is refused never happens later.
"""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, bindparam
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError, ProgrammingError
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
_ME = visitors.c.id == bindparam("who")
_MY = {table: table.c.visitor == bindparam("who") for table in (ratings, comparisons)}
_COUNT = {table: sa.select(sa.func.count()).select_from(table).where(_MY[table]) for table in _MY}
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
_MY_ITEM = _MY[ratings] & (ratings.c.item == bindparam("what"))
_AGAIN = (
    sa.update(ratings)
    .where(_MY_ITEM)
    .values(rating=bindparam("new"))
    .returning(ratings.c.predicted)
)


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
        self.writes: Engine
        self.reads: Engine
        if self.path is None:
            self.writes = _postgresql(self.url)
            self.reads = self.writes.execution_options(isolation_level="REPEATABLE READ")
        else:
            self.reads = _sqlite(self.path, "BEGIN", _CONNECTIONS)
            self.writes = _sqlite(self.path, "BEGIN IMMEDIATE", 1)
        self._eraser: Timer | None = None

    def migrate(self) -> None:
        """Bring the tables to the newest version; make the file if there is none.

        It is one transaction: a process that is killed leaves the database as it was. Others wait.

        Raises
        ------
        ValueError
            If the database is of a newer version, or has our tables and no version.
        """
        if self.path is not None and not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        with self.writes.begin() as connection:
            if self.path is None:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise ValueError(
                    f"{error}: the database is of another version of rankwise, install a newer one"
                ) from error
            except (OperationalError, ProgrammingError) as error:
                raise ValueError(
                    "the tables can't be made: the database belongs to another program, or is "
                    f"broken; restore a backup, or name another database ({error.orig})"
                ) from error

    def close(self) -> None:
        """Close all connections."""
        self.reads.dispose()
        self.writes.dispose()
        if self._eraser is not None:
            self._eraser.cancel()
            if self.path and not _empty_log(self.path):
                _log.warning("deleted rows stay in the write-ahead log: another program reads it")

    def ping(self) -> None:
        """Read something; raise if the database is away."""
        with self.reads.connect() as connection:
            connection.execute(sa.select(visitors.c.version).limit(1)).first()

    def submitted(self, visitor: str, known: Submitted | None = None) -> Submitted:
        """Return all that a visitor has submitted; what is known if nothing was changed since.

        All statements of the transaction see the same state.
        """
        with self.reads.connect() as connection:
            found = connection.execute(_VISITOR, {"who": visitor}).first()
            if found is None:
                raise ForgottenError
            row = Visitor(*found)
            if known is not None and row == known.visitor:
                return known
            rated = connection.execute(_RATINGS, {"who": visitor}).all()
            compared = connection.execute(_COMPARISONS, {"who": visitor}).all()
        mine = {item: (rating, predicted) for item, rating, predicted in rated}
        return Submitted(row, mine, [(better, worse) for better, worse in compared])

    @contextmanager
    def change(
        self, visitor: str, *, new: bool = False, **values: Any
    ) -> Iterator[tuple[Connection, int]]:
        """Begin a transaction and yield it with the visitor's new version; commit at the end.

        The first statement takes the visitor's row, so that writers of one visitor queue.
        """
        with self.writes.begin() as connection:
            if new:
                row = {"id": visitor, "created": datetime.now(UTC), "method": "taste"}
                connection.execute(sa.insert(visitors), {**row, "learned": False, "version": 0})
            statement = _NEXT.values(values) if values else _NEXT
            version = connection.execute(statement, {"who": visitor}).scalar()
            if version is None:
                raise ForgottenError
            yield connection, version

    def tidy(self) -> None:
        """Remove visitors of earlier versions who came a month ago and have submitted nothing."""
        old = (visitors.c.version == 0) & (visitors.c.created < datetime.now(UTC) - _MONTH)
        with self.writes.begin() as connection:
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
            again = {"who": visitor, "what": item, "new": rating}
            kept = connection.execute(_AGAIN, again).first()
            if kept is not None:
                return version, kept.predicted
            row = {"visitor": visitor, "item": item, "rating": rating}
            row |= {"predicted": predicted, "round": version}
            connection.execute(sa.insert(ratings), row)
            self._check_count(connection, visitor, ratings, self.settings.max_ratings)
        return version, predicted

    def unrate(self, visitor: str, item: str) -> int:
        """Take a rating back. Return the new version."""
        with self.change(visitor) as (connection, version):
            row = {"who": visitor, "what": item}
            if not connection.execute(sa.delete(ratings).where(_MY_ITEM), row).rowcount:
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
            self._check_count(connection, visitor, comparisons, self.settings.max_comparisons)
        return version

    def _check_count(
        self, connection: Connection, visitor: str, table: sa.Table, most: int
    ) -> None:
        if connection.execute(_COUNT[table], {"who": visitor}).scalar_one() > most:
            raise HTTPException(409, f"one visitor may keep at most {most:,} {table.name}")

    def learn(self, visitor: str, method: str) -> int:
        """Keep the method that a visitor has learned by. Return the new version."""
        with self.change(visitor, method=method, learned=True) as (_, version):
            return version

    def forget(self, visitor: str) -> bool:
        """Remove all that is stored of a visitor; return whether it is gone from the files, too.

        SQLite overwrites deleted bytes in its file, but its log has them until it is emptied, which
        another program that reads the database can prevent. PostgreSQL overwrites them when it
        vacuums.
        """
        with self.change(visitor) as (connection, _):
            connection.execute(sa.delete(visitors).where(_ME), {"who": visitor})
        return self.erase()

    def erase(self) -> bool:
        """Empty the write-ahead log of SQLite, now or as soon as nobody reads; return whether now.

        It is tried again each second, and at the end.
        """
        if self.path is None:
            return False
        if self._eraser is not None:
            self._eraser.cancel()
        self._eraser = None
        if not _empty_log(self.path):
            self._eraser = Timer(1.0, self.erase)
            self._eraser.daemon = True
            self._eraser.start()
        return self._eraser is None


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


def _engine(url: URL | str, size: int, **options: Any) -> Engine:
    """Return an engine. What it sends is never shown in an error."""
    return sa.create_engine(
        url, hide_parameters=True, pool_size=size, max_overflow=0, pool_timeout=SECONDS, **options
    )


def _postgresql(url: URL) -> Engine:
    limits = f"-c statement_timeout={2000 * SECONDS} -c lock_timeout={1000 * SECONDS}"
    arguments = {"connect_timeout": SECONDS, "options": limits}
    return _engine(url, _CONNECTIONS, pool_pre_ping=True, connect_args=arguments)


def _sqlite(path: Path, begin: str, size: int) -> Engine:
    """Return an engine whose transactions begin with a statement.

    A file that is gone or was replaced is noticed at the next request, and never made again: what
    is written to a file without a name would be lost.
    """
    engine = _engine("sqlite://", size, creator=lambda: _connect(path), poolclass=sa.QueuePool)

    @sa.event.listens_for(engine, "connect")
    def remember(_: Any, record: Any) -> None:
        record.info["file"] = path.stat()

    @sa.event.listens_for(engine, "checkout")
    def check(_: Any, record: Any, __: Any) -> None:
        if not path.exists() or not os.path.samestat(path.stat(), record.info["file"]):
            raise DisconnectionError("the file of the database is gone")

    @sa.event.listens_for(engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine


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


def _empty_log(path: Path) -> bool:
    try:
        with closing(_connect(path)) as connection:
            connection.execute("PRAGMA busy_timeout=1000")
            return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error:
        return False


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
