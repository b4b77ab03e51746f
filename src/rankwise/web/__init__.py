"""The taste service: rate films, press learn, and see all of them ranked for you.

``rankwise serve`` runs it. `create_app` makes the ASGI app for another server. It needs the extra
``web``; importing this module alone does not.
"""

from typing import TYPE_CHECKING

from rankwise.web._settings import Settings, handed_over

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["Settings", "create_app"]


def create_app(settings: Settings | None = None) -> "FastAPI":
    """Return the ASGI app of the service.

    The data are read, the taste is learned or loaded, and the database is brought up to date when
    the app starts, not here.

    Parameters
    ----------
    settings : Settings, default=None
        What to serve, and where to keep it. None: those of ``RANKWISE_WEB``, which ``rankwise
        serve`` sets for its workers, else the defaults.

    Returns
    -------
    fastapi.FastAPI
    """
    from rankwise.web._app import build_app  # noqa: PLC0415

    return build_app(handed_over() if settings is None else settings)
