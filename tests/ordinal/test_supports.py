"""Kernel values of rows with kept rows: right, and the same bits wherever two rows stand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from rankwise._core.kernels import Kernel
from rankwise.ordinal._supports import TILE, DenseSupports, SparseSupports

KINDS = {"dense": (DenseSupports, np.asarray), "csr": (SparseSupports, sparse.csr_array)}


def sample(n_rows, n_features):
    random = np.random.default_rng(n_features)
    return random.normal(size=(n_rows, n_features)) * (random.random((n_rows, n_features)) < 0.7)


def learned(kind, X, name, gamma=0.3):
    """Return supports that hold the rows of X, and their values with each other."""
    cls, container = KINDS[kind]
    supports = cls(Kernel(name, gamma, 3, 0.5), {}, X.shape[1], None)
    for start in range(0, len(X), TILE):
        tile = container(X[start : start + TILE])
        rows = supports.compare(tile, learning=True)
        n, t = supports.n, tile.shape[0]
        rows.kept[0], rows.source[n : n + t] = n + t, np.arange(t)
        supports.keep(rows)
    return supports


@pytest.mark.parametrize("n_features", [1, 2, 7, 16, 100])
@pytest.mark.parametrize("name", ["poly", "rbf"])
@pytest.mark.parametrize("kind", KINDS)
class TestValues:
    def test_equal_those_of_scikit_learn(self, kind, name, n_features):
        X = sample(150, n_features)
        numbers = {"gamma": 0.3, "degree": 3, "coef0": 0.5}
        expected = pairwise_kernels(X, metric=name, filter_params=True, **numbers)
        assert_allclose(learned(kind, X, name).gram(), expected, rtol=1e-9, atol=1e-12)

    def test_do_not_depend_on_the_place(self, kind, name, n_features):
        X = sample(150, n_features)
        values = learned(kind, X, name).gram()
        assert_array_equal(values, values.T)
        order = np.random.default_rng(0).permutation(150)[:37]
        assert_array_equal(learned(kind, X[order], name).gram(), values[np.ix_(order, order)])
        rows = learned(kind, X[:0], name).compare(KINDS[kind][1](X[:50]), learning=True)
        assert_array_equal(rows.within[:50, :50], values[:50, :50])


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_are_exactly_alike(kind):
    X = sample(100, 60)
    assert_array_equal(learned(kind, X, "rbf", gamma=1e6).gram().diagonal(), 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_nearer_than_itself(kind):
    X = 1e3 + 1e-9 * sample(100, 60)
    assert learned(kind, X, "rbf", gamma=1e6).gram().max() == 1.0


def distance_kernel(X, gamma):
    """The definition: squared differences of all pairs of rows."""
    return np.exp(-gamma * np.square(X[:, None] - X[None]).sum(axis=2))


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_rows_far_from_the_origin(kind, offset):
    X = sample(100, 5)
    X[::3] += offset
    X[::5, 1:3] += offset
    assert_allclose(learned(kind, X, "rbf").gram(), distance_kernel(X, 0.3), rtol=1e-9)
    values = learned(kind, X, "rbf").gram()
    order = np.random.default_rng(0).permutation(100)[:37]
    assert_array_equal(learned(kind, X[order], "rbf").gram(), values[np.ix_(order, order)])
    rows = learned(kind, X[:0], "rbf").compare(KINDS[kind][1](X[:50]), learning=True)
    assert_array_equal(rows.within[:50, :50], values[:50, :50])


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150, 1e160])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_on_any_scale(kind, scale):
    X = sample(100, 5)
    with np.errstate(over="ignore"):
        expected = distance_kernel(scale * X, 0.3)
    assert_allclose(learned(kind, scale * X, "rbf").gram(), expected, rtol=1e-9, atol=1e-300)
    if scale < 1e155:
        values = learned(kind, scale * X, "rbf", gamma=0.3 / scale**2).gram()
        assert_allclose(values, distance_kernel(X, 0.3), rtol=1e-9)
