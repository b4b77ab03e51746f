"""The inner products in registers and their plain twin give the same bits."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from rankwise._core._loops import machine_inner as inner
from rankwise._core._loops.machine_inner import ACROSS, DOWN, FUSED, corner


def products(use, n_features):
    """Return what a compiled loop makes of two panels and two times DOWN rows."""
    random = np.random.default_rng(n_features)
    X = random.normal(size=(2 * DOWN, n_features))
    panels = random.normal(size=(2, n_features, ACROSS))
    out = np.full((2 * DOWN, 2 * ACROSS), np.nan)
    for p in range(2):
        for i in (0, DOWN):
            use(X, i, panels, p, out)
    return X, panels, out


def compiled_corner():
    @njit
    def use(X, i, panels, p, out):
        corner(X, i, panels, p, out)

    return use


@pytest.mark.parametrize("n_features", [1, 2, 7, 100])
def test_twins(n_features):
    X, panels, out = products(compiled_corner(), n_features)
    assert_allclose(out, np.hstack(list(X @ panels)), rtol=1e-12, atol=1e-12)
    assert_array_equal(products(njit(fastmath=FUSED)(corner), n_features)[2], out)
    assert_allclose(products(corner, n_features)[2], out, rtol=1e-12, atol=1e-12)


def test_the_plain_one_serves_where_the_other_cannot_be_built(monkeypatch):
    X, panels, expected = products(compiled_corner(), 5)
    monkeypatch.setattr(inner, "ir", None)  # another llvmlite
    X.flags.writeable = False  # a version that was not built before
    out = np.empty_like(expected)
    use = compiled_corner()
    for p in range(2):
        for i in (0, DOWN):
            use(X, i, panels, p, out)
    assert_array_equal(out, expected)
