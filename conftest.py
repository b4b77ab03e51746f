"""Settings for all tests, those in docstrings and documents too."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Let pyplot forget the figures of a test, which it would keep."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
