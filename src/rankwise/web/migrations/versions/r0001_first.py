"""Visitors, ratings and comparisons."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "visitors",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("method", sa.String(16), nullable=False),
        sa.Column("learned", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "ratings",
        _visitor(),
        sa.Column("item", sa.Text, primary_key=True),
        sa.Column("rating", sa.Double, nullable=False),
        sa.Column("predicted", sa.Double, nullable=True),
        sa.Column("round", sa.Integer, nullable=False),
    )
    op.create_table(
        "comparisons",
        _visitor(),
        sa.Column("better", sa.Text, primary_key=True),
        sa.Column("worse", sa.Text, primary_key=True),
        sa.Column("round", sa.Integer, nullable=False),
    )


def _visitor() -> sa.Column[str]:
    owner = sa.ForeignKey("visitors.id", ondelete="CASCADE")
    return sa.Column("visitor", sa.String(32), owner, primary_key=True)
