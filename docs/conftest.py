"""Doctests of the pages: only the pages, drawn without a window, writing to a scratch folder."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

collect_ignore_glob = [
    "conf.py",
    "check_hosts.py",
    "draw_service.py",
    "check_pages.py",
    "_build/*",
    "api/*",
    "gallery/*",
]


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")
