"""Run Alembic's migrations, in the transaction of the connection that is passed in."""

from alembic import context

from rankwise.web._store import metadata


def run() -> None:
    """Run the migrations."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic runs this file
    run()
