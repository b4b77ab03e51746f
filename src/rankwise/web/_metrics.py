"""Numbers for Prometheus. With several workers they are added up over files that all write to."""

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """What is counted. No label holds anything about a visitor."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        shared: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter(
            "rankwise_requests_total",
            "Requests by route, method and status",
            ["route", "method", "status"],
            **shared,
        )
        self._seconds = Histogram(
            "rankwise_request_seconds",
            "Seconds until a request was answered",
            ["route"],
            buckets=_SECONDS,
            **shared,
        )
        self._people = Counter(
            "rankwise_people_total", "People asked for, found in memory or not", ["found"], **shared
        )
        self._seen = [0, 0]

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def people(self, hits: int, misses: int) -> None:
        """Count how often people were found in memory, given the totals so far."""
        for place, (found, total) in enumerate((("memory", hits), ("database", misses))):
            self._people.labels(found).inc(max(0, total - self._seen[place]))
            self._seen[place] = total

    def text(self) -> bytes:
        """Return all numbers in the format of Prometheus."""
        registry = self._registry
        if os.environ.get(FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))
