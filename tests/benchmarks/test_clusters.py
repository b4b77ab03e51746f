"""The watch on memory and seconds ends what takes too much, and lets others end."""

import sys

import pytest

from benchmarks import clusters
from benchmarks.clusters import watch

pytest.importorskip("psutil")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is shared")
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}])"
GREEDY = "a = bytearray(10**6 * 200); import time; time.sleep(60)"


def run(code, limit=10**9, seconds=60.0):
    return watch([sys.executable, "-c", code], limit, seconds)


def test_what_it_says_and_why_it_failed():
    done = run("print('hello')")
    assert (done.said, done.failure) == ("hello\n", "")
    assert done.seconds > 0
    assert run("raise ValueError('no')").failure == "ValueError: no"


@pytest.mark.parametrize("code", [GREEDY, CHILD.format(GREEDY)], ids=["itself", "its child"])
def test_memory(code):
    done = run(code, limit=10**8)
    assert done.failure == "not within 0.1 GB"
    assert done.peak > 10**8


def test_seconds_of_processor(monkeypatch):
    monkeypatch.setattr(clusters, "_use_of", lambda _: (0, 61.0))
    assert run("import time; time.sleep(60)").failure == "not within 1 minutes"
