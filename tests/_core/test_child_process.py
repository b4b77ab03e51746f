"""Calls in a process of their own."""

import operator
import os
import subprocess
import time
from functools import partial
from time import monotonic

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise._core import child_process as child
from rankwise._core.child_process import ChildError, call


def test_the_result_is_that_of_the_function():
    assert_array_equal(call(partial(np.add, np.arange(3), 1)), [1, 2, 3])
    assert call(os.getpid) != os.getpid()
    assert call(partial(operator.add, 1, 2), deadline=monotonic() + 600) == 3
    assert call(partial(operator.add, 1, 2), deadline=1e9) == 3


def test_what_is_printed_is_not_the_result():
    assert call(partial(print, "a line")) is None


def test_a_failure_is_told_with_its_last_line():
    with pytest.raises(ChildError, match="ZeroDivisionError"):
        call(partial(operator.floordiv, 1, 0))


def test_nothing_is_left_at_the_deadline():
    with pytest.raises(TimeoutError):
        call(partial(time.sleep, 600), deadline=monotonic() + 0.1)
    with pytest.raises(TimeoutError):
        call(os.getpid, deadline=monotonic() - 1)


@pytest.mark.parametrize("frozen", [True, False])
def test_without_an_interpreter(monkeypatch, frozen):
    if frozen:
        monkeypatch.setattr(child.sys, "frozen", True, raising=False)
    else:
        monkeypatch.setattr(child, "get_executable", lambda: None)
    monkeypatch.setattr(subprocess, "run", None)
    with pytest.raises(OSError, match="no Python interpreter"):
        call(os.getpid)


def test_one_process_makes_several_calls():
    with child.Child() as worker:
        first = worker.call(os.getpid)
        assert worker.call(os.getpid) == first
        with pytest.raises(TimeoutError):
            worker.call(partial(time.sleep, 600), deadline=monotonic() + 0.1)
        second = worker.call(os.getpid)
        assert second != first
        with pytest.raises(ChildError, match="ZeroDivisionError"):
            worker.call(partial(operator.floordiv, 1, 0))
        assert worker.call(partial(len, bytes(10**7))) == 10**7
    with pytest.raises(OSError, match="No such process"):
        os.kill(second, 0)
