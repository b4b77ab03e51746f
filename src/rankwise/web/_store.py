"""What visitors said, in the database. Each method is one transaction, committed at its end."""

import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from rankwise.web._database import (
    UnwrittenError,
    Writer,
    database_url,
    file_of,
    make_engine,
    migrate,
)
from rankwise.web._settings import Settings
from rankwise.web._tables import comparisons, ratings, visitors

_MONTH = timedelta(days=30)
# Statements are built once: building one takes longer than SQLite needs to run it.
_VISITOR = select(visitors.c.id, visitors.c.method, visitors.c.learned, visitors.c.version).where(
    visitors.c.id == bindparam("who")
)
_CREATED = select(visitors.c.created).where(visitors.c.id == bindparam("who"))
_RATINGS = (
    select(ratings.c.item, ratings.c.rating, ratings.c.predicted)
    .where(ratings.c.visitor == bindparam("who"))
    .order_by(ratings.c.round)
)
_COMPARISONS = (
    select(comparisons.c.better, comparisons.c.worse)
    .where(comparisons.c.visitor == bindparam("who"))
    .order_by(comparisons.c.round)
)
_NEXT = (
    update(visitors)
    .where(visitors.c.id == bindparam("who"))
    .values(version=visitors.c.version + 1)
    .returning(visitors.c.version)
)
_ADD = insert(visitors)
_LEARN = _NEXT.values(method=bindparam("chosen"), learned=True)
_COUNT = {
    table: select(func.count(literal(1)))
    .select_from(table)
    .where(table.c.visitor == bindparam("who"))
    for table in (ratings, comparisons)
}


def _rate(insert_into: Any) -> Any:
    """Return the statement that keeps a rating, in the dialect whose insert is given."""
    new = insert_into(ratings)
    return new.on_conflict_do_update(
        index_elements=[ratings.c.visitor, ratings.c.item], set_={"rating": new.excluded.rating}
    ).returning(ratings.c.predicted, ratings.c.round)


class ForgottenError(UnwrittenError):
    """The visitor is not in the database: it was forgotten."""


class NotRatedError(UnwrittenError):
    """There is no rating to take back."""


class TooManyError(UnwrittenError):
    """The visitor has as many rows as one may have."""


@dataclass(frozen=True)
class Visitor:
    """The row of a visitor."""

    id: str
    method: str
    learned: bool
    version: int


@dataclass(frozen=True)
class Said:
    """All that a visitor has said, in the order in which it was said first.

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
        self._writer = Writer(self.engine, self.path)
        self._rate = _rate(sqlite.insert if self.path else postgresql.insert)

    def migrate(self) -> None:
        """Bring the tables to the newest version."""
        migrate(self.engine, self.path)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def ping(self) -> None:
        """Read something, and fail if the database is away."""
        with self._reads.connect() as connection:
            connection.execute(select(visitors.c.version).limit(1)).first()

    # Reading: all statements of a transaction see the same state

    def visitor(self, visitor: str) -> Visitor:
        """Return the row of a visitor."""
        with self._reads.connect() as connection:
            return _visitor(connection, visitor)

    def said(self, visitor: str) -> Said:
        """Return all that a visitor has said."""
        with self._reads.connect() as connection:
            who = _visitor(connection, visitor)
            rated = connection.execute(_RATINGS, {"who": visitor}).all()
            compared = connection.execute(_COMPARISONS, {"who": visitor}).all()
        found = {item: (rating, predicted) for item, rating, predicted in rated}
        return Said(who, found, [(better, worse) for better, worse in compared])

    def created(self, visitor: str) -> datetime:
        """Return when a visitor first came."""
        with self._reads.connect() as connection:
            found = connection.execute(_CREATED, {"who": visitor}).scalar_one_or_none()
        if found is None:
            raise ForgottenError
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    # Writing: the first statement takes the visitor's row, so that writers of one visitor queue

    def add_visitor(self, visitor: str, method: str) -> None:
        """Add a visitor who has said nothing."""
        row = {"id": visitor, "method": method, "learned": False, "version": 0}
        row["created"] = datetime.now(UTC)
        self._writer.run(lambda connection: connection.execute(_ADD, row))

    def tidy(self) -> None:
        """Remove visitors who came a month ago and have said nothing."""
        long_ago = datetime.now(UTC) - _MONTH
        old = (visitors.c.version == 0) & (visitors.c.created < long_ago)
        self._writer.run(lambda connection: connection.execute(delete(visitors).where(old)))

    def rate(
        self, visitor: str, item: str, rating: float, predicted: float | None
    ) -> tuple[int, float | None]:
        """Keep a rating. Return the new version, and what was predicted before the first rating.

        A new rating of a rated item takes its place; the prediction stays that of before.
        """

        def write(connection: Connection) -> tuple[int, float | None]:
            version = _next_version(connection, visitor)
            row = {"visitor": visitor, "item": item, "rating": rating}
            row |= {"predicted": predicted, "round": version}
            found = connection.execute(self._rate, row).one()
            if found.round == version:
                _check_rows(connection, ratings, visitor, self.settings.max_ratings)
            return version, found.predicted

        return self._writer.run(write)

    def unrate(self, visitor: str, item: str) -> int:
        """Take a rating back. Return the new version."""

        def write(connection: Connection) -> int:
            version = _next_version(connection, visitor)
            mine = (ratings.c.visitor == visitor) & (ratings.c.item == item)
            if not connection.execute(delete(ratings).where(mine)).rowcount:
                raise NotRatedError
            return version

        return self._writer.run(write)

    def compare(self, visitor: str, better: str, worse: str) -> int:
        """Keep a comparison; the last word about a pair counts. Return the new version."""
        table = comparisons.c

        def write(connection: Connection) -> int:
            version = _next_version(connection, visitor)
            same = (table.better == better) & (table.worse == worse)
            other = (table.better == worse) & (table.worse == better)
            mine = table.visitor == visitor
            connection.execute(delete(comparisons).where(mine, or_(same, other)))
            row = {"visitor": visitor, "better": better, "worse": worse, "round": version}
            connection.execute(insert(comparisons).values(row))
            _check_rows(connection, comparisons, visitor, self.settings.max_comparisons)
            return version

        return self._writer.run(write)

    def learn(self, visitor: str, method: str) -> int:
        """Keep the method that a visitor has learned by. Return the new version."""
        return self._writer.run(
            lambda connection: _next_version(connection, visitor, _LEARN, chosen=method)
        )

    def forget(self, visitor: str) -> None:
        """Remove all that is stored of a visitor, also from the files of SQLite.

        The visitor is forgotten once the transaction is committed. If the log can't be emptied now,
        the next one who is forgotten, or the end of the service, empties it.
        """

        def write(connection: Connection) -> None:
            _next_version(connection, visitor)
            for table in (ratings, comparisons):
                connection.execute(delete(table).where(table.c.visitor == visitor))
            connection.execute(delete(visitors).where(visitors.c.id == visitor))

        self._writer.run(write)
        if self.path:  # deleted bytes are overwritten; the log still has them until it is emptied
            with suppress(SQLAlchemyError, sqlite3.Error), self.engine.connect() as connection:
                raw: Any = connection.connection.driver_connection
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _visitor(connection: Connection, visitor: str) -> Visitor:
    found = connection.execute(_VISITOR, {"who": visitor}).first()
    if found is None:
        raise ForgottenError
    return Visitor(*found)


def _next_version(
    connection: Connection, visitor: str, statement: Any = _NEXT, **values: Any
) -> int:
    """Count a visitor's version up, and keep the row from others until the transaction ends."""
    found = connection.execute(statement, {"who": visitor, **values}).first()
    if found is None:
        raise ForgottenError
    return int(found.version)


def _check_rows(connection: Connection, table: Any, visitor: str, most: int) -> None:
    if connection.execute(_COUNT[table], {"who": visitor}).scalar_one() > most:
        raise TooManyError(f"at most {most:,}")
