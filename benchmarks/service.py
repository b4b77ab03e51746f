"""The taste service under load: visitors who rate a film and ask for a ranking of 9,066 films."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.report import append, console, describe

AT_MOST = 0.1
FILMS_ASKED = 600

_SERVER = "from rankwise.cli import main; main()"


class Visitor:
    """One visitor on one connection, who waits for each answer."""

    def __init__(self, port: int) -> None:
        self._port, self._cookie = port, ""

    async def open(self) -> None:
        """Connect and get a cookie."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        await self.ask("GET", "/api/me")

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and answer."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(sent)}\r\n"
        head += f"Content-Type: application/json\r\nCookie: {self._cookie}\r\n\r\n"
        self._writer.write(head.encode() + sent)
        raw = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = dict(line.split(": ", 1) for line in raw.split("\r\n")[1:] if line)
        answer = await self._reader.readexactly(int(fields["content-length"]))
        if "set-cookie" in fields:
            self._cookie = fields["set-cookie"].partition(";")[0]
        return int(raw.split(" ", 2)[1]), answer

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


async def act(
    visitor: Visitor,
    films: list[str],
    seed: int,
    options: argparse.Namespace,
    times: dict[str, Any],
) -> None:
    """Rate and ask for a ranking, again and again, until the time is over."""
    g = np.random.default_rng(seed)
    loop = asyncio.get_running_loop()
    turn = loop.time() + g.uniform(0, options.every)
    end = loop.time() + options.seconds
    for film in g.permutation(films):
        await asyncio.sleep(max(0.0, turn - loop.time()))
        if loop.time() > end:
            break
        rating = {"rating": 0.5 * int(g.integers(1, 11))}
        for kind, request in (
            ("rating", ("PUT", f"/api/ratings/{film}", rating)),
            ("ranking", ("GET", f"/api/ranking?set=unseen&k={options.k}")),
        ):
            start = perf_counter()
            status, _ = await visitor.ask(*request)
            times[kind].append(perf_counter() - start)
            times["errors"] += status != 200
        turn += options.every


async def load(port: int, pid: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return seconds of all requests, the number of errors, and the server's memory over time."""
    times: dict[str, Any] = {"rating": [], "ranking": [], "errors": 0, "megabytes": []}
    visitors = [Visitor(port) for _ in range(options.visitors)]
    for visitor in visitors:
        await visitor.open()
    films: list[str] = []
    while len(films) < FILMS_ASKED:
        page = json.loads(
            (await visitors[0].ask("GET", f"/api/items?page={1 + len(films) // 24}"))[1]
        )
        films += [item["id"] for item in page["items"]]

    async def watch() -> None:
        while True:
            times["megabytes"].append(private_memory(pid))
            await asyncio.sleep(max(1.0, options.seconds / 10))

    watching = asyncio.create_task(watch())
    await asyncio.gather(
        *(act(visitor, films, n, options, times) for n, visitor in enumerate(visitors))
    )
    watching.cancel()
    times["megabytes"].append(private_memory(pid))
    for visitor in visitors:
        visitor.close()
    return times


def private_memory(pid: int) -> float:
    """Return the megabytes of a process that no file stands behind, on Linux."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return float("nan")
    return float(text.partition("RssAnon:")[2].split()[0]) / 1e3


def main(arguments: Sequence[str]) -> int:
    """Run the load; return 0 if no request failed and both 99th percentiles are below 100 ms."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long")
    parser.add_argument("--visitors", type=int, default=200)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two acts")
    parser.add_argument("--k", type=int, default=50, help="entries of a ranking")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--database", help="a URL; by default a new SQLite file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        database = options.database or str(Path(folder) / "taste.sqlite")
        command = [sys.executable, "-u", "-c", _SERVER, "serve", "--database", database]
        command += ["--port", str(options.port), "--rate-address", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                while server.stdout is not None and " at http" not in (
                    line := server.stdout.readline()
                ):
                    if not line:
                        return 1
                asyncio.run(wait_for(options.port))
                found = asyncio.run(load(options.port, server.pid, options))
            finally:
                server.terminate()
    met = not found["errors"]
    record: dict[str, Any] = {"errors": found["errors"], "visitors": options.visitors}
    for kind in ("rating", "ranking"):
        p50, p99 = np.quantile(found[kind], [0.5, 0.99])
        met &= p99 <= AT_MOST
        record |= {f"{kind}s": len(found[kind]), f"{kind}_p50": p50, f"{kind}_p99": p99}
        console.print(
            f"{kind:8} {len(found[kind]):6} requests: p50 {1e3 * p50:6.1f} ms, "
            f"p99 {1e3 * p99:6.1f} ms"
        )
    console.print(f"{found['errors']} errors")
    console.print("megabytes of the server:", *(f"{m:.0f}" for m in found["megabytes"]))
    append("service", {**describe(), "seconds": options.seconds, **record})
    console.print(f"target {'met' if met else 'not met'}: no error, both p99 at most 100 ms")
    return 0 if met else 1


async def wait_for(port: int) -> None:
    """Wait until the server listens."""
    for _ in range(300):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise TimeoutError("the server does not listen")
