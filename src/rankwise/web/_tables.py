"""The tables of the database. Their history is in ``migrations``."""

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

visitors = Table(
    "visitors",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("method", String(16), nullable=False),
    Column("learned", Boolean, nullable=False),
    # rises by one with every change of what the visitor said
    Column("version", Integer, nullable=False),
)


def _visitor() -> Column[str]:
    owner = ForeignKey("visitors.id", ondelete="CASCADE")
    return Column("visitor", String(32), owner, primary_key=True)


ratings = Table(
    "ratings",
    metadata,
    _visitor(),
    Column("item", Text, primary_key=True),
    Column("rating", Double, nullable=False),
    # what was predicted before the item was first rated
    Column("predicted", Double, nullable=True),
    # the visitor's version when it was first rated
    Column("round", Integer, nullable=False),
)

comparisons = Table(
    "comparisons",
    metadata,
    _visitor(),
    Column("better", Text, primary_key=True),
    Column("worse", Text, primary_key=True),
    Column("round", Integer, nullable=False),
)
