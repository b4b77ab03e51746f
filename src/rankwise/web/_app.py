"""The ASGI app: start and stop, errors, static pages and the page of the API."""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from html import escape
from pathlib import Path
from string import Template
from time import monotonic
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from threadpoolctl import threadpool_limits

from rankwise import __version__
from rankwise.web._api import router
from rankwise.web._guard import POLICY, Guard
from rankwise.web._service import Service
from rankwise.web._settings import Settings

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
STATIC = Path(__file__).parent / "static"

_SECONDS = 10.0
_AWAY = (DBAPIError, DisconnectionError, PoolTimeoutError)
_log = logging.getLogger("rankwise.web")


def build_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """Return the app; a service that is passed in is not closed by it."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        opened = Service.open(settings) if service is None else service
        app.state.service = opened
        rating = app.openapi()["components"]["schemas"]["NewRating"]["properties"]["rating"]
        rating["examples"] = [opened.items.scale.snap(level) for level in opened.items.scale.levels]
        try:
            # requests run on threads; more of them inside each product would only get in the way
            with threadpool_limits(1, "blas"):
                yield
        finally:
            if service is None:
                opened.store.close()

    app = FastAPI(
        title="rankwise taste service",
        version=__version__,
        summary="Rate, learn, re-rank, flip.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.settings = settings
    app.add_middleware(Guard, settings=settings)
    for kind in (*_AWAY, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer)
    app.include_router(router)
    _add_pages(app)
    return app


async def _answer(request: Request, error: Exception) -> Response:
    """Return the answer to an error: a sentence. Nothing of a visitor is logged."""
    headers: dict[str, str] = {}
    if isinstance(error, RequestValidationError):
        found = error.errors()[0]
        places = [str(p) for p in found["loc"] if p not in {"body", "query", "path"}]
        status, detail = 422, f"{(places or ['body'])[-1][:50]}: {found['msg'][:200]}"
    elif isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, dict(error.headers or {})
        if status == 405:
            headers = {"allow": ", ".join(_methods(request))}  # Starlette names those of one route
    elif isinstance(error, _AWAY):
        status, detail = 503, "the database can't be reached: try again soon"
        headers["retry-after"] = "2"
        cause = getattr(error, "orig", None) or error
        _log_away(type(cause).__name__, int(monotonic() // _SECONDS))
    else:
        status, detail = 500, "the service failed: this was logged"
        _log.error("a request failed", exc_info=error)
    text = str(detail).encode("utf-8", "replace").decode("utf-8")
    return JSONResponse({"detail": text}, status, headers)


@lru_cache(1)  # once in ten seconds, however many ask
def _log_away(cause: str, period: int) -> None:  # noqa: ARG001
    _log.error("the database is away: %s", cause)


def _methods(request: Request) -> list[str]:
    """Return the methods that the path of a request has."""
    routes = [*request.app.routes, *router.routes]
    matching = [route for route in routes if route.matches(request.scope)[0] != Match.NONE]
    return sorted({name for route in matching for name in getattr(route, "methods", None) or ()})


def _add_pages(app: FastAPI) -> None:
    """Add the page, its files, the documentation, and the pages for monitoring."""
    settings: Settings = app.state.settings

    @app.get("/healthz", tags=["monitoring"], summary="Whether the process answers")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", tags=["monitoring"], summary="Whether the database answers")
    def readyz(request: Request) -> dict[str, str]:
        request.app.state.service.store.ping()
        return {"status": "ready"}

    @app.get("/metrics", tags=["monitoring"], response_class=PlainTextResponse)
    def numbers() -> PlainTextResponse:
        """Numbers for Prometheus; with several workers they are added up over their files."""
        registry = REGISTRY
        if os.environ.get(METRICS_FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return PlainTextResponse(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/", include_in_schema=False)
    def page(request: Request) -> HTMLResponse:
        noun, nouns = settings.nouns
        words = {"noun": noun, "nouns": nouns, "Nouns": nouns[:1].upper() + nouns[1:]}
        words |= {"title": settings.heading}
        text = Template((STATIC / "index.html").read_text("utf-8"))
        hosts = " ".join(["img-src 'self' data:", *request.app.state.service.items.image_hosts])
        policy = POLICY.replace("img-src 'self' data:", hosts)
        html = text.substitute({name: escape(word) for name, word in words.items()})
        return HTMLResponse(html, headers={"content-security-policy": policy})

    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def docs_page(schema: dict[str, Any]) -> str:
    """Return a page that lists the requests of an OpenAPI schema."""
    rows = []
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            names = ", ".join(parameter["name"] for parameter in operation.get("parameters", []))
            about = operation.get("description") or operation["summary"]
            cells = map(escape, (f"{method.upper()} {path}", about, names))
            rows.append(f"<tr><td>{'<td>'.join(cells)}")
    title = escape(f"{schema['info']['title']} {schema['info']['version']}")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<meta name='color-scheme' content='light dark'><title>{title}: API</title></head>"
        f"<body><main><h1>{title}</h1><p>Bodies and answers are JSON, and "
        "<a href='openapi.json'>openapi.json</a> has their fields.</p><table><thead><tr>"
        "<th scope='col'>request<th scope='col'>what it does<th scope='col'>parameters"
        f"</thead><tbody>{''.join(rows)}</tbody></table></main></body></html>"
    )
