"""Asking for data changes no result, and can be left out."""

import numpy as np
import pytest
from numba import njit

from rankwise.engine.machine import prefetch
from rankwise.engine.machine.prefetch import ask_for


def total(rows):
    for i in range(len(rows)):
        ask_for(rows, i)
    return rows.sum()


@pytest.mark.parametrize("rows", [np.arange(40.0).reshape(4, 10), np.arange(7.0)], ids=["2", "1"])
@pytest.mark.parametrize("built", [True, False])
def test_twins(rows, built, monkeypatch):
    if not built:
        monkeypatch.setattr(prefetch, "can_be_built", lambda *_: False)
        rows = rows.astype(np.float32)  # a version that was not built before
    assert njit(total)(rows) == total(rows) == rows.sum()
