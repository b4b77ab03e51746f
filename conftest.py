"""Settings for all tests, those in docstrings and documents too."""

import signal
import sys
from collections.abc import Iterator

import pytest

# A shell starts what runs in the background with this signal ignored, and processes pass it on:
# programs that a test interrupts would never end.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count the pages that run whole experiments among the slow tests."""
    for item in items:
        if item.path.parent.name == "experiments" and item.path.suffix == ".md":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Let pyplot forget the figures of a test, which it would keep."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
