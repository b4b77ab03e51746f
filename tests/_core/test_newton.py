"""Newton's method asks its rows for three things, and needs no matrix of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise._core import newton
from rankwise._core.newton import RowsInMemory, Sampled, minimise
from rankwise._core.pairs import EpsilonInsensitiveLoss, HingeLoss, Pairs


class RowsInParts:
    """Rows that are never together, as they would be in a file or on several machines."""

    def __init__(self, X, sample=None):
        self.parts = np.array_split(X, 7)
        self.n_features = X.shape[1]
        self.drawn = sample

    def scores(self, w):
        return np.concatenate([part @ w for part in self.parts])

    def gradient(self, weights):
        weights = np.split(weights, np.cumsum([len(part) for part in self.parts])[:-1])
        return sum(part.T @ some for part, some in zip(self.parts, weights, strict=True))

    def squares(self, weights):
        weights = np.split(weights, np.cumsum([len(part) for part in self.parts])[:-1])
        return sum((part**2).T @ some for part, some in zip(self.parts, weights, strict=True))

    def sample(self):
        return self.drawn


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
        sample = Sampled(few, HingeLoss(Pairs(y[::3]), power=power).swept())
    expected = minimise(RowsInMemory(X), costs, 100.0, tol=1e-8, max_iter=500)
    found = minimise(RowsInParts(X, sample), costs, 100.0, tol=1e-8, max_iter=500)
    assert found.gap <= 1e-8 * found.objective
    assert_allclose(found.objective, expected.objective, rtol=2e-8)
    assert_allclose(found.w, expected.w, atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_in_memory(form):
    X, _ = rated()
    X[np.abs(X) < 0.5] = 0.0
    rows, random = RowsInMemory(form(X)), np.random.default_rng(1)
    w, weights = random.normal(size=4), random.normal(size=600)
    assert rows.n_features == 4
    assert_allclose(rows.scores(w), X @ w)
    assert_allclose(rows.gradient(weights), X.T @ weights)
    assert_allclose(rows.squares(weights), (X**2).T @ weights)
    sample = rows.sample()
    assert sample.costs is None
    assert_allclose(sample.X, X - X.mean(axis=0))


def test_a_sample_is_drawn_from_many_rows_alone(monkeypatch):
    X, y = rated()
    costs = EpsilonInsensitiveLoss(Pairs(y[:50]), epsilon=0.1).swept()
    asked = []

    def draw(size):
        asked.append(size)
        return np.arange(50), costs

    assert RowsInMemory(X, draw).sample().costs is None
    assert not asked
    monkeypatch.setattr(newton, "_SAMPLE", 100)
    sample = RowsInMemory(X, draw).sample()
    assert asked == [100]
    assert sample.costs is costs
    assert_allclose(sample.X, X[:50] - X[:50].mean(axis=0))
    assert RowsInMemory(X, lambda _: None).sample().costs is None
    monkeypatch.setattr(newton, "MATRIX", 3)
    assert RowsInMemory(X, draw).sample() is None
