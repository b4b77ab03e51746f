"""Checks of every request: limits, origin, visitor; headers of every answer."""

import asyncio
import hashlib
import hmac
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from ipaddress import IPv6Address
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic, perf_counter

from prometheus_client import Counter, Histogram
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankwise.web._settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_BODY_SECONDS = 20
_BURST = 3.0
_NAMES = 20_000
_SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}
_METHODS = _SAFE | {"PUT", "POST", "DELETE", "PATCH"}
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
}
# Cookies of earlier versions have no id of the key in their name.
_OLD_NAME = "rankwise"
_KEY_VARIABLE = "RANKWISE_SECRET"


REQUESTS = Counter(
    "rankwise_requests_total", "Requests by route, method and status", ["route", "method", "status"]
)
SECONDS = Histogram(
    "rankwise_request_seconds", "Seconds until a request was answered", ["route"], buckets=_BUCKETS
)


class Guard:
    """ASGI middleware. ``scope["visitor"]`` is the name in the visitor's cookie, or None.

    Parameters
    ----------
    app : ASGI app
        The app behind it.
    settings : Settings
        The limits.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._most = app, settings.max_body
        self._visitors = Limiter(settings.rate_visitor)
        self._addresses = Limiter(settings.rate_address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = perf_counter(), 500
        size, more, end = 0, True, asyncio.get_running_loop().time() + _BODY_SECONDS

        async def next_part() -> Message:
            """Receive a part of the body; raise once it is too large or too slow."""
            nonlocal size, more
            try:
                async with asyncio.timeout_at(end if more else None):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(
                    408, "the request came too slowly", {"connection": "close"}
                ) from None
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
            if size > self._most:
                raise HTTPException(
                    413, f"a request has at most {self._most:,} bytes", {"connection": "close"}
                )
            return message

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                cache = "no-store" if "/api/" in scope["path"] else "no-cache"
                for name, value in {**_HEADERS, "cache-control": cache}.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https":
                    headers["strict-transport-security"] = "max-age=31536000"
                if status == 401:
                    headers.append(
                        "set-cookie", scope["app"].state.service.visitors.cookie_header(scope)
                    )
            await send(message)

        try:
            self._check(scope, Request(scope))
            await self._app(scope, next_part, answer)
        except HTTPException as error:  # of the check: those of the app are answered by it
            problem = JSONResponse({"detail": error.detail}, error.status_code, error.headers)
            await problem(scope, receive, answer)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            REQUESTS.labels(route, method, str(status)).inc()
            SECONDS.labels(route).observe(perf_counter() - start)

    def _check(self, scope: Scope, request: Request) -> None:
        """Raise if a request may not come in, before its body is read."""
        headers, method, visitor = request.headers, request.method, None
        network = network_of(request.client.host if request.client else "")
        allowed = self._addresses.allows(network)
        sizes = map(len, chain.from_iterable(headers.raw))
        if sum(sizes) + len(str(request.url)) > self._most:
            raise HTTPException(431, f"address and headers have at most {self._most:,} bytes")
        if allowed and "/api/" in scope["path"]:
            visitor = scope["app"].state.service.visitors.find(request.cookies)
            allowed = visitor is None or self._visitors.allows(visitor)
        if not allowed:
            raise HTTPException(429, "too many requests: wait a second", {"retry-after": "1"})
        scope["visitor"] = visitor
        if method not in _SAFE:
            site, host = headers.get("sec-fetch-site", "same-origin"), headers.get("host", "")
            origin = headers.get("origin", f"//{host}").partition("//")[2]
            if site != "same-origin" or not host or origin != host:
                raise HTTPException(403, "this request comes from another site")
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        kind = headers.get("content-type", "" if has_body else "application/json")
        if method in {"PUT", "POST"} and kind.partition(";")[0].strip().lower() != (
            "application/json"
        ):
            raise HTTPException(415, "send the body as application/json")


class Limiter:
    """Token buckets: tokens come back at a rate; those of three seconds can be spent at once.

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
        """Take a token, and return whether there was one."""
        now = self._clock()
        left, then = self._left.pop(name, (self._full, now))
        left = min(self._full, left + self._rate * (now - then))
        allowed = left >= 1.0 or not self._rate
        self._left[name] = (left - allowed, now)
        if len(self._left) > _NAMES:
            self._left.popitem(last=False)
        return allowed


@lru_cache(_NAMES)
def network_of(address: str) -> str:
    """Return what an address is counted by: itself, or the first half of one of IPv6."""
    try:
        found = IPv6Address(address)
    except ValueError:
        return address
    return str(found.ipv4_mapped or f"{int(found) >> 64:x}")


class Visitors:
    """Cookies that one key signs. Services with other keys on the same host don't disturb them.

    Parameters
    ----------
    key : bytes
        The key of the signatures.

    Attributes
    ----------
    cookie : str
        The name of the cookie, which has an id of the key.
    """

    def __init__(self, key: bytes) -> None:
        self._signature = partial(hmac.new, key, digestmod=hashlib.sha256)
        self.cookie = f"{_OLD_NAME}-{self._signature(b'name of the cookie').hexdigest()[:8]}"

    def new(self) -> tuple[str, str]:
        """Return the name of a new visitor, which nobody can guess, and the value of its cookie."""
        visitor = secrets.token_hex(16)
        signature = self._signature(f"rankwise visitor {visitor}".encode())
        return visitor, f"{visitor}.{signature.hexdigest()}"

    def cookie_header(self, scope: Scope, value: str = "", seconds: int = 0) -> str:
        """Return the header that sets the cookie, or removes it."""
        secure = "; Secure" if scope["scheme"] == "https" else ""
        return (
            f"{self.cookie}={value}; HttpOnly; Max-Age={seconds}; "
            f"Path={scope.get('root_path') or '/'}; SameSite=lax{secure}"
        )

    def find(self, cookies: Mapping[str, str]) -> str | None:
        """Return the visitor of a request, None without a cookie of this service.

        Raises
        ------
        HTTPException
            If the cookie of this service has a wrong signature.
        """
        value = cookies.get(self.cookie, cookies.get(_OLD_NAME))
        if value is None:
            return None
        visitor, _, signature = value.partition(".")
        expected = self._signature(f"rankwise visitor {visitor}".encode()).hexdigest()
        if hmac.compare_digest(signature.encode(), expected.encode()):
            return visitor
        if self.cookie in cookies:
            raise HTTPException(401, "this cookie has a wrong signature: it is removed, try again")
        return None


def load_key(path: Path) -> bytes:
    """Return the key from the environment, or from a file that is made if there is none.

    Raises
    ------
    ValueError
        If the key is short, or others may read the file.
    """
    given = os.environ.get(_KEY_VARIABLE)
    if given is not None:
        if len(given) < 32:
            raise ValueError(
                f"{_KEY_VARIABLE} has {len(given)} characters: expected 32 random ones or more"
            )
        return given.encode()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # it has mode 600; a link fails if another process was quicker, and its key counts
        with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(file.name, path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ValueError(f"{path} can be read by others: chmod 600 it, or remove it for a new key")
    try:
        key = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) < 16:
        raise ValueError(
            f"{path} must hold a hexadecimal key of at least 32 digits: remove it for a new one"
        )
    return key
