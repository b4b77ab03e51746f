"""The ASGI app: start and stop, errors, static pages and the page of the API."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from time import monotonic
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from threadpoolctl import threadpool_limits

from rankwise import __version__
from rankwise.web._api import add_api
from rankwise.web._guard import Guard, removed_cookie
from rankwise.web._methods import CannotLearnError
from rankwise.web._metrics import Metrics
from rankwise.web._schemas import Status
from rankwise.web._service import Service
from rankwise.web._settings import Settings
from rankwise.web._store import ForgottenError, NotRatedError, TooManyError

STATIC = Path(__file__).parent / "static"

_SECONDS = 10.0
_log = logging.getLogger("rankwise.web")


def build_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """Return the app; a service that is open already is closed by whoever opened it."""
    metrics = Metrics()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        opened = Service.open(settings) if service is None else service
        app.state.service = opened
        try:
            # requests run on threads; more of them inside each product would only get in the way
            with threadpool_limits(1, "blas"):
                yield
        finally:
            if service is None:
                opened.close()

    app = FastAPI(
        title="rankwise taste service",
        version=__version__,
        summary="Rate, learn, re-rank, flip.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.add_middleware(Guard, settings=settings, key=lambda: app.state.service.key, metrics=metrics)
    _add_errors(app)
    add_api(app)
    _add_pages(app, metrics)
    return app


def _problem(status: int, detail: str, **headers: str) -> JSONResponse:
    text = detail.encode("utf-8", "replace").decode("utf-8")
    return JSONResponse({"detail": text}, status_code=status, headers=headers or None)


def _add_errors(app: FastAPI) -> None:
    """Answer what goes wrong with a sentence. Nothing of a visitor is logged."""

    async def invalid(_: Request, error: Exception) -> Response:
        found = error.errors()[0] if isinstance(error, RequestValidationError) else {}
        where = [
            str(part) for part in found.get("loc", ()) if part not in {"body", "query", "path"}
        ]
        name = where[-1][:50] if where else "body"
        return _problem(422, f"{name}: {str(found.get('msg', 'not valid'))[:200]}")

    async def refused(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = getattr(error, "headers", None) or {}
        return _problem(status, str(getattr(error, "detail", "not found")), **headers)

    said = [0.0]

    async def away(_: Request, error: Exception) -> Response:
        if monotonic() > said[0]:  # once in ten seconds, however many ask
            said[0] = monotonic() + _SECONDS
            cause = getattr(error, "orig", None)
            _log.error("the database is away: %s", type(cause or error).__name__)
        return _problem(
            503, "the database can't be reached: try again soon", **{"retry-after": "2"}
        )

    async def forgotten(request: Request, _: Exception) -> Response:
        cookie = removed_cookie(request.scope.get("root_path", ""))
        return _problem(401, "you were forgotten: begin anew", **{"set-cookie": cookie})

    async def cannot_learn(_: Request, error: Exception) -> Response:
        return _problem(409, str(error))

    async def not_rated(_: Request, __: Exception) -> Response:
        return _problem(404, "you have not rated this")

    async def too_many(_: Request, error: Exception) -> Response:
        return _problem(409, f"one visitor may keep {error}")

    async def broken(_: Request, error: Exception) -> Response:
        _log.error("a request failed", exc_info=error)
        return _problem(500, "the service failed: this was logged")

    handlers: dict[Any, Any] = {
        RequestValidationError: invalid,
        HTTPException: refused,
        DBAPIError: away,
        DisconnectionError: away,
        PoolTimeoutError: away,
        ForgottenError: forgotten,
        CannotLearnError: cannot_learn,
        NotRatedError: not_rated,
        TooManyError: too_many,
        Exception: broken,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _add_pages(app: FastAPI, metrics: Metrics) -> None:
    """Add the page, its files, the documentation and what watches the service."""

    @app.get("/healthz", tags=["watching"], summary="Whether the process answers")
    async def healthz() -> Status:
        return Status(status="ok")

    @app.get(
        "/readyz",
        tags=["watching"],
        summary="Whether the database answers",
        responses={503: {"model": Status}},
    )
    def readyz(request: Request) -> Status:
        request.app.state.service.store.ping()
        return Status(status="ready")

    @app.get("/metrics", tags=["watching"], response_class=PlainTextResponse)
    def numbers(request: Request) -> PlainTextResponse:
        """Numbers for Prometheus."""
        people = request.app.state.service.people
        metrics.people(people.hits, people.misses)
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        index = STATIC / "index.html"
        if not index.is_file():
            raise HTTPException(404, "the page is not installed; the API is listed at docs")
        return FileResponse(index)

    if STATIC.is_dir():
        app.mount("/static", StaticFiles(directory=STATIC), name="static")


def docs_page(schema: dict[str, Any]) -> str:
    """Return the page of an OpenAPI schema."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<meta name='color-scheme' content='light dark'>",
        f"<title>{_text(schema['info']['title'])}: API</title></head><body><main>",
        f"<h1>{_text(schema['info']['title'])} {_text(schema['info']['version'])}</h1>",
        "<p>The schema: <a href='openapi.json'>openapi.json</a>. Bodies and answers are JSON.</p>",
    ]
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            parts.append(_operation(path, method, told))
    parts.append("<h2>Shapes</h2>")
    for name, shape in sorted(schema.get("components", {}).get("schemas", {}).items()):
        parts.append(f"<h3 id='{_text(name)}'>{_text(name)}</h3>")
        parts.append(f"<p>{_text(shape.get('description', ''))}</p>{_fields(shape)}")
    parts.append("</main></body></html>")
    return "".join(parts)


def _operation(path: str, method: str, told: dict[str, Any]) -> str:
    parts = [f"<h2><code>{_text(method.upper())} {_text(path)}</code></h2>"]
    parts.append(f"<p>{_text(told.get('description') or told.get('summary', ''))}</p>")
    given = told.get("parameters", [])
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {})
    rows = [
        (p["name"], p["in"], _kind(p.get("schema", {})), p.get("description", "")) for p in given
    ]
    if body:
        rows.append(("body", "JSON", _kind(body.get("schema", {})), ""))
    if rows:
        parts.append(_table(("name", "in", "kind", ""), rows))
    answers = []
    for status, answer in told.get("responses", {}).items():
        content: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        answers.append((status, _kind(content.get("schema", {})), answer.get("description", "")))
    parts.append(_table(("status", "answer", ""), answers))
    return "".join(parts)


def _fields(shape: dict[str, Any]) -> str:
    rows = [(name, _kind(kind)) for name, kind in shape.get("properties", {}).items()]
    return _table(("field", "kind"), rows) if rows else ""


def _kind(schema: dict[str, Any]) -> str:
    """Return what a value is, as text with links, escaped."""
    if "$ref" in schema:
        name = _text(schema["$ref"].rsplit("/", 1)[-1])
        return f"<a href='#{name}'>{name}</a>"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(_kind(one) for one in schema[several])
    if "enum" in schema:
        return " | ".join(_text(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return _text(schema.get("type", "any"))


def _table(head: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    """Return a table; cells that are links are escaped already."""
    top = "".join(f"<th scope='col'>{_text(name)}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(text: str) -> str:
    return text if "<a href='#" in text else _text(text)


def _text(value: Any) -> str:
    return escape(str(value), quote=True)
