"""Newton's method needs products with its rows, and no matrix of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise._core import newton
from rankwise._core.newton import draw_sample, minimise
from rankwise._core.pairs import EpsilonInsensitiveLoss, HingeLoss, Pairs


class RowsInParts:
    """Rows that are never together, as they would be in a file or on several machines."""

    __array_ufunc__ = None

    def __init__(self, X):
        self.parts, self.shape = np.array_split(X, 7), X.shape

    def __matmul__(self, w):
        return np.concatenate([part @ w for part in self.parts])

    def __rmatmul__(self, weights):
        weights = np.split(weights, np.cumsum([len(part) for part in self.parts])[:-1])
        return sum(some @ part for part, some in zip(self.parts, weights, strict=True))

    def multiply(self, other):
        assert other is self
        return RowsInParts(np.concatenate(self.parts) ** 2)


def rated(m=600, d=4):
    random = np.random.default_rng(0)
    X = random.normal(size=(m, d))
    return X, np.round(X @ random.normal(size=d) + random.normal(size=m), 1)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("sampled", [False, True])
def test_rows_may_lie_anywhere(power, sampled):
    X, y = rated()
    costs = HingeLoss(Pairs(y), power=power).costs()
    sample = None
    if sampled:
        few = X[::3] - X[::3].mean(axis=0)
        sample = few, HingeLoss(Pairs(y[::3]), power=power).swept()
    options = {"tol": 1e-8, "max_iter": 500}
    expected = minimise(X, costs, 100.0, sample=draw_sample(X), **options)
    found = minimise(RowsInParts(X), costs, 100.0, sample=sample, **options)
    assert found.gap <= 1e-8 * found.objective
    assert_allclose(found.objective, expected.objective, rtol=2e-8)
    assert_allclose(found.w, expected.w, atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_a_sample_it_finds_the_same(form):
    X, y = rated()
    costs = HingeLoss(Pairs(y), power=2).costs()
    expected = minimise(X, costs, 100.0, tol=1e-8, max_iter=500, sample=draw_sample(X))
    found = minimise(form(X), costs, 100.0, tol=1e-8, max_iter=500)
    assert_allclose(found.w, expected.w, atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_sample_is_drawn_from_many_rows_alone(form, monkeypatch):
    X, y = rated()
    costs = EpsilonInsensitiveLoss(Pairs(y[:50]), epsilon=0.1).swept()
    asked = []

    def draw(size):
        asked.append(size)
        return np.arange(50), costs

    rows = form(X)
    sample, no_costs = draw_sample(rows, draw)
    assert_allclose(sample, X - X.mean(axis=0))
    assert no_costs is None
    assert not asked
    monkeypatch.setattr(newton, "_SAMPLE", 100)
    sample, costs_of_sample = draw_sample(rows, draw)
    assert asked == [100]
    assert costs_of_sample is costs
    assert_allclose(sample, X[:50] - X[:50].mean(axis=0))
    assert draw_sample(rows, lambda _: None)[1] is None
    monkeypatch.setattr(newton, "MATRIX", 3)
    assert draw_sample(rows, draw) is None
