"""The local search: the same whatever its slices, and an order at any time."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise._core import linear_ordering as local_search
from rankwise._core._loops.linear_ordering import order_cost
from rankwise._core.linear_ordering import improve


def draw_margins(n, seed=0):
    margins = np.triu(np.random.default_rng(seed).integers(-4, 5, (n, n)), 1).astype(float)
    return margins - margins.T


@pytest.mark.parametrize("n", [2, 3, 30, 100])
@pytest.mark.parametrize("slice_", [1, 1000, 60_000])
def test_slices_do_not_matter(monkeypatch, n, slice_):
    margins = draw_margins(n)
    whole, sliced = np.arange(n), np.arange(n)
    gain = improve(margins, whole, rounds=25, min_gain=1e-6)
    monkeypatch.setattr(local_search, "SLICE", slice_)
    assert improve(margins, sliced, rounds=25, min_gain=1e-6) == gain
    assert_array_equal(sliced, whole)


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 10, 20, 50, 100])
def test_a_deadline_leaves_an_order_and_its_gain(monkeypatch, ticks):
    times = iter([0.0] * ticks)
    monkeypatch.setattr(local_search, "monotonic", lambda: next(times, 2.0))
    monkeypatch.setattr(local_search, "SLICE", 200)
    margins, order = draw_margins(40), np.arange(40)
    losses = np.maximum(margins, 0)
    before = order_cost(losses, order)
    gain = improve(margins, order, rounds=50, min_gain=1e-6, deadline=1.0)
    assert sorted(order) == list(range(40))
    assert order_cost(losses, order) == before - gain
    assert gain > 0
