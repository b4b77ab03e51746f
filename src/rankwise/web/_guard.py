"""Checks of every request: rate limits, origin, visitor; headers of the answer."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import IPv6Address
from time import monotonic, perf_counter
from typing import Any
from urllib.parse import urlsplit

from rankwise.web._cookies import NAME, visitor_of
from rankwise.web._metrics import Metrics
from rankwise.web._settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_SECONDS = 20
_SAFE = {"GET", "HEAD", "OPTIONS"}
_METHODS = _SAFE | {"PUT", "POST", "DELETE", "PATCH"}
_BODILESS = _SAFE | {"DELETE"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), interest-cohort=()",
}


class RefusedError(Exception):
    """A request that is not let in: its status and why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Guard:
    """ASGI middleware. ``scope["visitor"]`` is the name in the visitor's cookie, or None.

    Parameters
    ----------
    app : ASGI app
        What is guarded.
    settings : Settings
        The limits.
    key : callable
        Returns the key that signs cookies, once the app has started.
    metrics : Metrics
        Where requests are counted.
    """

    def __init__(
        self, app: Any, settings: Settings, key: Callable[[], bytes], metrics: Metrics
    ) -> None:
        self._app, self._settings, self._key, self._metrics = app, settings, key, metrics
        self._visitors = Limiter(settings.rate_visitor)
        self._addresses = Limiter(settings.rate_address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = perf_counter(), 500
        secure, path = scope.get("scheme") == "https", scope["path"]

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_headers(message, path, secure)}
            await send(message)

        try:
            try:
                body = await self._let_in(scope, receive)
            except RefusedError as error:
                await _refuse(error, scope, answer)
            else:
                await self._app(scope, body, answer)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.request(route, method, status, perf_counter() - start)

    async def _let_in(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request, and return what its body can be read from."""
        headers = dict(scope["headers"])
        host = network_of(scope["client"][0]) if scope.get("client") else ""
        if not self._addresses.allows(host):
            raise RefusedError(429, "too many requests from your address: wait a second")
        scope["visitor"] = self._visitor(scope, headers)
        visitor = scope["visitor"]
        if visitor is not None and not self._visitors.allows(visitor):
            raise RefusedError(429, "too many requests: wait a second")
        method = scope["method"]
        if method not in _SAFE:
            _check_origin(headers)
        if method not in _BODILESS:
            kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
            if kind != b"application/json":
                raise RefusedError(415, "send the body as application/json")
        return await self._body(headers, receive)

    def _visitor(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        """Return the visitor whom the cookie names; a forged one is refused by the API."""
        value = _cookie(headers.get(b"cookie", b"").decode("latin-1")) if _is_api(scope) else None
        if value is None:
            return None
        visitor = visitor_of(value, self._key())
        if visitor is None:
            raise RefusedError(401, "this cookie is not ours: it is removed, try again")
        return visitor

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """Read the whole body, which is short, and return what gives it once more."""
        most = self._settings.max_body
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise RefusedError(413, f"a request has at most {most:,} bytes")
        if length == b"0" and b"transfer-encoding" not in headers:
            return receive
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise RefusedError(400, "the request ended too early")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise RefusedError(413, f"a request has at most {most:,} bytes")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise RefusedError(408, "the request came too slowly") from None
        whole: list[Message] = [{"type": "http.request", "body": b"".join(parts)}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        return again


def _is_api(scope: Scope) -> bool:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return bool(path.startswith("/api/"))


def _cookie(header: str) -> str | None:
    """Return the value of our cookie, whatever the others look like."""
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == NAME:
            return value
    return None


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """Refuse what a page of another site sends."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None and site != b"same-origin":
        raise RefusedError(403, "this request comes from another site")
    if origin is not None:
        try:
            found = urlsplit(origin.decode("latin-1")).netloc
        except ValueError:
            found = ""
        if not found or found != headers.get(b"host", b"").decode("latin-1"):
            raise RefusedError(403, "this request comes from another site")


def _with_headers(message: Message, path: str, secure: bool) -> list[tuple[bytes, bytes]]:
    headers = list(message.get("headers", []))
    present = {name.lower() for name, _ in headers}
    added = dict(_HEADERS)
    added[b"cache-control"] = b"no-store" if "/api/" in path else b"no-cache"
    if secure:
        added[b"strict-transport-security"] = b"max-age=31536000"
    headers += [(name, value) for name, value in added.items() if name not in present]
    return headers


async def _refuse(error: RefusedError, scope: Scope, send: Send) -> None:
    headers = [(b"content-type", b"application/json")]
    if error.status == 429:
        headers.append((b"retry-after", b"1"))
    if error.status == 401:
        headers.append((b"set-cookie", removed_cookie(scope.get("root_path", "")).encode()))
    if error.status in {408, 413}:
        headers.append((b"connection", b"close"))
    body = json.dumps({"detail": error.detail}).encode()
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def removed_cookie(root_path: str) -> str:
    """Return the header that removes the cookie."""
    return f"{NAME}=; Max-Age=0; Path={root_path or '/'}; HttpOnly; SameSite=Lax"


_BURST = 3.0
_NAMES = 20_000


class Limiter:
    """Tokens that come back at a rate; those of three seconds can be spent at once.

    It is used from one thread only. Of many names the ones last seen are remembered.

    Parameters
    ----------
    rate : float
        Tokens a second; 0 for any number.
    clock : callable, default=monotonic
        The time in seconds.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._full = max(1.0, _BURST * rate)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, name: str) -> bool:
        """Take a token, and say whether there was one."""
        if not self._rate:
            return True
        now = self._clock()
        left, then = self._left.pop(name, (self._full, now))
        left = min(self._full, left + self._rate * (now - then))
        allowed = left >= 1.0
        self._left[name] = (left - allowed, now)
        if len(self._left) > _NAMES:
            self._left.popitem(last=False)
        return allowed


def network_of(address: str) -> str:
    """Return what an address is counted by: itself, or the first half of one of IPv6."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except ValueError:
        return address
    mapped = found.ipv4_mapped
    return f"{int(found) >> 64:x}" if mapped is None else str(mapped)
