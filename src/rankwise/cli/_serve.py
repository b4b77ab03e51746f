"""The command that serves the page."""

import click

from rankwise.cli._shared import examples

_EXTRA = {
    "alembic",
    "fastapi",
    "h11",
    "prometheus_client",
    "psycopg",
    "sqlalchemy",
    "starlette",
    "uvicorn",
}


@click.command(
    epilog=examples("rankwise serve --open", "rankwise serve --data books.csv --noun book,books"),
)
@click.option(
    "--data",
    default="movies",
    show_default=True,
    metavar="FILE|movies",
    help="A file of ratings, or the embedded films.",
)
@click.option(
    "--items",
    metavar="FILE",
    help="A file with a row for each item: title, author, year, genre, description, image, url.",
)
@click.option("--title", metavar="TEXT", help="The heading of the page.")
@click.option("--noun", metavar="ONE,SEVERAL", help="Words such as book,books.")
@click.option(
    "--database",
    metavar="URL",
    envvar="RANKWISE_DATABASE",
    help="An SQLite file, or postgresql://...  [default: a file in your data folder]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=8000, show_default=True, help="The port."
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes."
)
@click.option(
    "--root-path", default="", metavar="PATH", help="The path under which a proxy serves it."
)
@click.option(
    "--proxies",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESSES",
    help="Proxies whose headers about addresses and https are trusted.",
)
@click.option(
    "--rate-visitor",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Requests per second of one visitor, for each worker; 0 for no limit.",
)
@click.option(
    "--rate-address",
    type=click.FloatRange(0),
    default=200.0,
    show_default=True,
    help="Requests per second of one address, for each worker; 0 for no limit.",
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
def serve(
    data: str,
    items: str | None,
    title: str | None,
    noun: str | None,
    database: str | None,
    host: str,
    port: int,
    workers: int,
    root_path: str,
    proxies: str,
    rate_visitor: float,
    rate_address: float,
    show: bool,
) -> None:
    """Serve a page where people rate, learn, and see everything ranked for them.

    Ratings are kept in a database. Ctrl-C, or the signal TERM, ends it gracefully.
    """
    try:
        from rankwise.web import Settings  # noqa: PLC0415
        from rankwise.web.server import serve as run  # noqa: PLC0415
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise click.ClickException(
            f"{error.name} is not installed: pip install 'rankwise[cli,data,web]'"
        ) from error
    settings = Settings(
        data=data,
        items=items,
        title=title,
        noun=noun,
        database=database,
        rate_visitor=rate_visitor,
        rate_address=rate_address,
    )
    run(
        settings,
        host=host,
        port=port,
        workers=workers,
        root_path=root_path.rstrip("/"),
        proxies=proxies,
        show=show,
        say=click.echo,
    )
